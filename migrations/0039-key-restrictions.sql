-- What narrows a key beyond its permissions, when it was last used, and how long a publisher's keys may live.
alter table api_keys
  add column read_only boolean not null default false,
  add column allowed_addresses text[] check (cardinality(allowed_addresses) between 1 and 100);
comment on column api_keys.allowed_addresses is 'Nets in CIDR form from which it may be used; null: from anywhere.';

-- Apart from the keys: a change of a key is a change of the configuration, a use is none.
create table api_key_uses (
  key_id integer primary key references api_keys on delete cascade,
  used_at timestamptz not null
);
comment on table api_key_uses is 'When keys were last used, to the minute.';

alter table publishers add column key_max_days integer check (key_max_days between 1 and 3650);
comment on column publishers.key_max_days is
  'Most days that a new key may live: each must have an end. null: keys may live for ever.';
