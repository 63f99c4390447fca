-- Decisions about experiments: what was made permanent, by whom, and how to undo it.

alter table experiments
  add column history jsonb not null default '[]',
  add column adopted jsonb;
comment on column experiments.history is 'What was done with it, when and by whom: [{ at, by, action, version, arm }].';
comment on column experiments.adopted is
  'The arm that was made permanent, with what was written where, so that it can be undone; null: none.';
