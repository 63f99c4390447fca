-- What experiments add: sums of their users, and the publishers' own outcomes.

create table experiment_units (
  experiment_id integer not null references experiments on delete cascade,
  version integer not null,
  arm text not null,
  unit_key uuid not null,
  first_at timestamptz not null,
  sessions integer not null,
  would_see integer not null,
  perks integer not null default 0,
  clicks integer not null default 0,
  conversions integer not null default 0,
  revenue_micros bigint not null default 0,
  before_clicks integer not null default 0,
  before_revenue_micros bigint not null default 0,
  primary key (experiment_id, version, arm, unit_key)
);
create index experiment_units_unit_key on experiment_units (unit_key);
comment on table experiment_units is 'What the users of an experiment did since they were in it, by version.';
comment on column experiment_units.arm is 'Empty: outside, where those outside are the control.';
comment on column experiment_units.unit_key is
  'Keyed hash of pub_user_id, else of ad_fp; of a session without a user its id.';
comment on column experiment_units.would_see is
  'Sessions that showed an offer, or would have; where a campaign is held out, an offer of that campaign.';
comment on column experiment_units.before_clicks is 'Of the fortnight before the user was in it, as is before_revenue.';

create table experiment_progress (
  only_row boolean primary key default true check (only_row),
  until_xid xid8 not null
);
comment on table experiment_progress is
  'Rows of all transactions before this one are in the sums: written in the transaction that adds them.';
insert into experiment_progress (until_xid) values (pg_snapshot_xmin(pg_current_snapshot()));

create table own_outcomes (
  publisher_id integer not null references publishers,
  id text not null,
  user_key uuid not null,
  name text not null,
  value_micros bigint not null,
  currency text,
  at timestamptz not null,
  written_by xid8 not null default pg_current_xact_id(),
  primary key (publisher_id, id)
);
create index own_outcomes_user_key on own_outcomes (user_key);
create index own_outcomes_at on own_outcomes (at);
create index own_outcomes_written_by on own_outcomes (xid8send(written_by));
comment on table own_outcomes is 'A publisher''s own outcomes of its users, such as orders.';
comment on column own_outcomes.id is 'The publisher''s; a repeat is ignored.';
comment on column own_outcomes.user_key is 'Keyed hash of pub_user_id; the user may be unknown.';
comment on column own_outcomes.written_by is 'As in sessions.';

create table experiment_outcomes (
  experiment_id integer not null references experiments on delete cascade,
  version integer not null,
  arm text not null,
  unit_key uuid not null,
  name text not null,
  occurrences integer not null,
  value_micros bigint not null,
  primary key (experiment_id, version, name, arm, unit_key)
);
create index experiment_outcomes_unit_key on experiment_outcomes (unit_key);
comment on table experiment_outcomes is 'Outcomes of the users of an experiment since they were in it.';

alter table experiments add column erased_users integer not null default 0;
comment on column experiments.erased_users is 'Users whose sums were erased.';
