-- What publishers say of their users.
alter table publishers add column keeps_attributes boolean not null default false;
comment on column publishers.keeps_attributes is
  'Whether it has ever set attributes of users: fetches of others do not look for any.';

create table user_attributes (
  user_key uuid primary key,
  publisher_id integer not null references publishers (id),
  attributes jsonb not null,
  expires_at timestamptz,
  updated_at timestamptz not null
);
comment on table user_attributes is 'Attributes of users, as their publisher has set them.';
comment on column user_attributes.user_key is 'Keyed hash of pub_user_id.';
comment on column user_attributes.attributes is
  'By name: {"value": text, number or boolean, "until": epoch milliseconds, absent where it has no end}.';
comment on column user_attributes.expires_at is 'When its last attribute ends; null: one has no end.';
create index user_attributes_expiring on user_attributes (expires_at) where expires_at is not null;
