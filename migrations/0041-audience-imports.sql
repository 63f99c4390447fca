-- Imports of members from files.
create table audience_imports (
  id uuid primary key,
  audience_id integer not null references audiences (id) on delete cascade,
  started_at timestamptz not null,
  updated_at timestamptz not null,
  state text not null check (state in ('reading', 'adding', 'done', 'failed')),
  rows bigint not null default 0,
  bad bigint not null default 0,
  added bigint not null default 0,
  errors jsonb not null default '[]'
);
comment on table audience_imports is 'Imports of members, with their progress. None leaves a part of its members.';
comment on column audience_imports.updated_at is 'A running import that has not been here for a minute has died.';
comment on column audience_imports.errors is 'The first hundred rows that could not be read: line and message.';
create index audience_imports_of on audience_imports (audience_id, started_at);
