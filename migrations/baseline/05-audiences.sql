-- Audiences: users that campaigns include or exclude. Attributes of users.

create table audiences (
  id integer generated always as identity primary key,
  publisher_id integer not null references publishers (id),
  key text not null,
  name text not null,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  -- Condition on what users did, which makes the members; null: the publisher adds and removes members.
  rule jsonb,
  constraint audiences_key unique (publisher_id, key)
);
comment on table audiences is 'Lists of users of a publisher.';
create trigger bump_catalog_version after insert or update or delete on audiences
  for each row execute function bump_catalog_version();
create trigger bump_catalog_version_truncated after truncate on audiences
  for each statement execute function bump_catalog_version();

create table audience_members (
  -- Keyed hash of pub_user_id, or of the SHA-256 of an e-mail address.
  user_key uuid not null,
  audience_id integer not null,
  -- When the membership ends; null: never.
  expires_at timestamptz,
  -- Includes the end, so that the memberships of a user are read from the index only.
  primary key (user_key, audience_id) include (expires_at)
);
comment on table audience_members is
  'Members of audiences. Members of a removed audience are deleted later, in the background.';
create index audience_members_of on audience_members (audience_id);
create index audience_members_expiring on audience_members (expires_at) where expires_at is not null;

create table audience_sizes (
  audience_id integer primary key references audiences (id) on delete cascade,
  members bigint not null
);
comment on table audience_sizes is
  'Number of members of each audience, updated in the transactions that change members.';

create table audience_growth (
  audience_id integer not null references audiences (id) on delete cascade,
  day date not null,
  members bigint not null,
  primary key (audience_id, day)
);
comment on table audience_growth is 'Number of members of each audience by UTC day.';

create table audience_imports (
  id uuid primary key,
  audience_id integer not null references audiences (id) on delete cascade,
  started_at timestamptz not null,
  -- Heartbeat: a running import without one for a minute has died.
  updated_at timestamptz not null,
  state text not null check (state in ('reading', 'adding', 'done', 'failed')),
  rows bigint not null default 0,
  -- Rows that could not be read.
  bad bigint not null default 0,
  added bigint not null default 0,
  -- Line and message of the first hundred bad rows.
  errors jsonb not null default '[]'
);
comment on table audience_imports is
  'Imports of members from files, with their progress. An import adds all of its members or none.';
create index audience_imports_of on audience_imports (audience_id, started_at);

create table audience_progress (
  audience_id integer primary key references audiences (id) on delete cascade,
  -- Rule with which the facts were collected. After a change of the rule, they are collected again.
  rule jsonb not null,
  read_until xid8 not null
);
comment on table audience_progress is 'Transactions up to which audiences with a rule have read events.';

create table audience_facts (
  audience_id integer not null references audiences (id) on delete cascade,
  -- As in sessions.
  user_key uuid not null,
  at timestamptz not null
);
comment on table audience_facts is 'What users did, as the rule of an audience counts it: one row for each time.';
create index audience_facts_of on audience_facts (audience_id, user_key, at);
create index audience_facts_user on audience_facts (user_key);

create table user_attributes (
  -- Keyed hash of pub_user_id.
  user_key uuid primary key,
  publisher_id integer not null references publishers (id),
  -- Name → {"value": text, number or boolean, "until": epoch milliseconds, absent if it has no end}.
  attributes jsonb not null,
  -- When the last attribute ends; null: an attribute has no end.
  expires_at timestamptz,
  updated_at timestamptz not null
);
comment on table user_attributes is 'Attributes that publishers set for their users.';
create index user_attributes_expiring on user_attributes (expires_at) where expires_at is not null;
