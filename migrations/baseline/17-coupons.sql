-- Coupon codes of offers: one code for all users, or one for each user.

create table coupon_pools (
  offer_id integer primary key references offers,
  publisher_id integer not null references publishers,
  -- When a user gets a code: when the session is wrapped, or the offer is saved or clicked.
  give_at text not null default 'wrap' check (give_at in ('wrap', 'save', 'click')),
  -- The code of all users, which is not a secret; null: each user gets a different code.
  shared_code text,
  -- Encrypted code for users who come when the pool is empty; null: they get no code.
  fallback_sealed bytea,
  terms text not null default '',
  expires_at timestamptz,
  -- Validity of a code after a user got it.
  valid_days integer check (valid_days > 0),
  -- How long a selected offer holds a code before the wrap; null: not at all.
  hold_minutes integer check (hold_minutes > 0),
  -- Percentage of codes left at which the stock is low.
  low_share integer not null default 10 check (low_share between 0 and 100),
  -- Hours until the pool is empty, at the rate of the day, at which the stock is low.
  low_hours integer not null default 24 check (low_hours >= 0),
  -- When the last code was given, which pauses the offer; null: codes are left.
  drained_at timestamptz,
  updated_at timestamptz not null default now()
);
comment on table coupon_pools is 'Codes of an offer and when users get them. An offer without a row has no codes.';
create trigger bump_catalog_version after insert or update or delete on coupon_pools
  for each row execute function bump_catalog_version();
create trigger bump_catalog_version_truncated after truncate on coupon_pools
  for each statement execute function bump_catalog_version();
do $$
declare
  event record;
begin
  for event in select * from (values ('insert', 'new'), ('update', 'new'), ('delete', 'old')) e (name, rows) loop
    execute format('create trigger %I after %s on coupon_pools referencing %s table as touched
      for each statement execute function list_catalog_changes(%L)',
      format('list_%s_%s', event.name, event.rows), event.name, event.rows,
      'select o.campaign_id from touched join offers o on o.id = touched.offer_id');
  end loop;
end $$;

-- Numbers of pools. Each pool has a billion positions of its own, which are not used again after its removal.
create sequence coupon_pool_numbers;

create table coupon_stock (
  offer_id integer primary key references coupon_pools on delete cascade,
  next_position bigint not null,
  last_position bigint not null,
  given bigint not null default 0,
  held bigint not null default 0,
  redeemed bigint not null default 0,
  cancelled bigint not null default 0,
  -- Current day, and the number of codes that were given before it.
  day date not null default '1970-01-01',
  given_before bigint not null default 0
) with (fillfactor = 20);
comment on table coupon_stock is
  'State of a pool. Its codes are numbered, and those from next_position to last_position are left. The row is
locked while codes are given, so that each code goes to one user.';

create table coupon_blocks (
  offer_id integer not null references coupon_pools on delete cascade,
  first_position bigint not null,
  size integer not null,
  sealed bytea not null,
  primary key (offer_id, first_position)
);
comment on table coupon_blocks is
  'Codes from first_position on, one per line, encrypted together: decrypting one code costs as much as a thousand.';
alter table coupon_blocks alter column sealed set storage external; -- ciphertext does not compress

create unlogged table coupon_loads (
  offer_id integer primary key references coupon_pools on delete cascade,
  received bigint not null,
  total bigint not null,
  seen_at timestamptz not null
);
comment on table coupon_loads is 'Progress of uploads of codes, in lines.';

create table coupons (
  -- Keyed hash of publisher and pub_user_id.
  user_key uuid not null,
  offer_id integer not null,
  publisher_id integer not null,
  -- Session in which the user got the code.
  session_id uuid not null,
  sealed bytea not null,
  -- Keyed hash of the code, by which its advertiser refers to it.
  digest uuid not null,
  given_at timestamptz not null,
  expires_at timestamptz,
  -- End of the hold before the wrap, after which another user may get the code; null: the code is given.
  held_until timestamptz,
  redeemed_at timestamptz,
  cancelled_at timestamptz,
  primary key (user_key, offer_id)
);
comment on table coupons is 'Code of a user for an offer.';
create index coupons_digest on coupons (digest, offer_id);
create index coupons_held on coupons (offer_id, held_until) where held_until is not null;
