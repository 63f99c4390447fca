-- Audiences of those who did something.
alter table audiences add column rule jsonb;
comment on column audiences.rule is 'Who is in it by what they did; null: a list.';

create table audience_progress (
  audience_id integer primary key references audiences (id) on delete cascade,
  rule jsonb not null,
  read_until xid8 not null
);
comment on table audience_progress is 'Up to which transactions audiences with a rule have read events.';
comment on column audience_progress.rule is 'As its facts were found: with another, they are found anew.';

create table audience_facts (
  audience_id integer not null references audiences (id) on delete cascade,
  user_key uuid not null,
  at timestamptz not null
);
comment on table audience_facts is 'What users did, as the rule of an audience counts it; each once.';
comment on column audience_facts.user_key is 'As in sessions.';
create index audience_facts_of on audience_facts (audience_id, user_key, at);
create index audience_facts_user on audience_facts (user_key);
