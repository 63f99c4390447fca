-- What a session's decision saw and said: for reports by place and device, and for replaying it bit for bit.

alter table sessions
  add column region text,
  add column city text,
  add column device text, -- mobile, tablet, desktop, tv, bot, other
  add column os text,
  add column browser text,
  add column seed bigint, -- null: decided before this was kept
  add column snapshot_version bigint, -- of the catalogue
  add column scores float8[], -- of the offers shown, in their order
  add column propensities float8[], -- the chance each offer shown had of its place
  add column empty_reason text, -- why nothing was shown; null when something was
  add column decision_inputs text; -- JSON: what else the decision was given; null: nothing
