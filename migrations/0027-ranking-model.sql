-- The ranking model: what is learned from sessions and events, version by version.
create table model_versions (
  version bigint primary key,
  is_full boolean not null,
  body bytea not null,
  made_at timestamptz not null
);
alter table model_versions alter column body set storage external;
comment on table model_versions is
  'Versions of the ranking model. Decisions name theirs, so that any of the last week can be made again.';
comment on column model_versions.is_full is
  'Whether it is the whole model; otherwise what changed since the version before.';
comment on column model_versions.body is 'gzip of JSON (src/learning/codec.ts)';

create table learning_progress (
  only_row boolean primary key default true check (only_row),
  progress jsonb not null
);
comment on table learning_progress is
  'Which rows the model was learned from: written in the transaction of the version that holds them.';
insert into learning_progress (progress) values ('{}');

delete from decision_states where id like 'model %';
comment on column decision_states.id is '"catalog" and its version.';

alter table publishers add column learning_excluded_keys text[] not null default '{}';
comment on column publishers.learning_excluded_keys is 'Custom attributes that ranking does not learn from.';
alter table campaigns add column ranking text not null default 'learned' check (ranking in ('learned', 'fixed'));
comment on column campaigns.ranking is 'learned: by expected revenue; fixed: by weight alone.';
