-- Live calls: requests and answers as they come, while a page shows them. Nothing is lost with them, so no WAL.
create unlogged table live_watches (
  publisher_id integer primary key references publishers on delete cascade,
  until timestamptz not null
);
comment on table live_watches is 'Publishers whose calls are recorded, because a page shows them.';

create unlogged table live_calls (
  id uuid primary key,
  publisher_id integer not null references publishers on delete cascade,
  at timestamptz not null,
  call text not null
);
create index live_calls_publisher on live_calls (publisher_id, at);
comment on table live_calls is 'Calls of watched publishers, for minutes.';
comment on column live_calls.call is 'JSON, masked: neither secrets nor identifiers of users.';
