-- Versions of the logistic ranking model, and how far its learner came. Earlier releases read model_versions and
-- learning_progress, which stay as they are: after a rollback they go on from there.
create table ranking_versions (
  version bigint primary key check (version > 1000000000),
  is_full boolean not null,
  body bytea not null,
  made_at timestamptz not null
);
alter table ranking_versions alter column body set storage external;
comment on table ranking_versions is
  'Versions of the ranking model. Decisions name theirs, so that any of the last week can be made again.';
comment on column ranking_versions.version is
  'Numbers above a billion: those up to it are in model_versions, which earlier releases wrote.';
comment on column ranking_versions.is_full is
  'Whether it is the whole model; otherwise what changed since the version before.';
comment on column ranking_versions.body is 'gzip of JSON (src/learning/codec.ts)';

create table ranking_progress (
  only_row boolean primary key default true check (only_row),
  progress jsonb not null
);
comment on table ranking_progress is
  'Which rows the learner has taken in, and which process learns: written in the transaction of the version.';
