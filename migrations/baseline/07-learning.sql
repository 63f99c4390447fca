-- The ranking model: what is learned from sessions and events.

create table model_versions (
  version bigint primary key,
  -- Whether this is the whole model, or only what changed since the version before.
  is_full boolean not null,
  -- gzip of JSON (src/learning/codec.ts).
  body bytea not null,
  made_at timestamptz not null
);
comment on table model_versions is
  'Versions of the ranking model. Decisions name their version, so that any decision of the last week can be
repeated.';
-- The body is compressed already.
alter table model_versions alter column body set storage external;

create table learning_progress (
  only_row boolean primary key default true check (only_row),
  progress jsonb not null
);
comment on table learning_progress is
  'Rows that the model was learned from, written in the transaction of the version that contains them. One row.';
insert into learning_progress (progress) values ('{}');
