-- Rate limit for the checks of landing pages that are being entered.

create unlogged table landing_check_buckets (
  publisher_id integer primary key references publishers on delete cascade,
  -- Tokens left after the last check.
  tokens double precision not null,
  -- Time of the last check.
  at timestamptz not null
);
comment on table landing_check_buckets is
  'Token bucket of each publisher for checks of landing pages in forms. Unlogged: losing it in a crash is harmless.';
