-- Audiences: users that campaigns include or exclude.
create table audiences (
  id integer generated always as identity primary key,
  publisher_id integer not null references publishers (id),
  key text not null,
  name text not null,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  constraint audiences_key unique (publisher_id, key)
);
comment on table audiences is 'Lists of users of a publisher, which its campaigns include or exclude.';
create trigger bump_catalog_version after insert or update or delete or truncate on audiences
  for each statement execute function bump_catalog_version();

create table audience_sizes (
  audience_id integer primary key references audiences (id) on delete cascade,
  members bigint not null
);
comment on table audience_sizes is 'How many members audiences have: changed in the transactions that change members.';

create table audience_growth (
  audience_id integer not null references audiences (id) on delete cascade,
  day date not null,
  members bigint not null,
  primary key (audience_id, day)
);
comment on table audience_growth is 'How many members audiences had, by UTC day.';

create table audience_members (
  user_key uuid not null,
  audience_id integer not null,
  expires_at timestamptz,
  primary key (user_key, audience_id)
);
comment on table audience_members is 'Members of audiences. Those of an audience that is gone are deleted later.';
comment on column audience_members.user_key is 'Keyed hash of pub_user_id, or of the SHA-256 of an e-mail address.';
comment on column audience_members.expires_at is 'When the membership ends; null: it has no end.';
create index audience_members_of on audience_members (audience_id);
create index audience_members_expiring on audience_members (expires_at) where expires_at is not null;
