-- Experiments that grow by schedule, and what they are to find.

alter table experiments
  add column ramp jsonb[],
  add column smallest_lift double precision not null default 0.05;
comment on column experiments.ramp is
  'Part of its users who are in it from hours after the start on: after_hours and share; null: all at once.';
comment on column experiments.smallest_lift is 'The difference that it is to find: 0.05 is 5 %.';
