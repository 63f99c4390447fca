-- Experiments: which users are shown what, and what it adds. Money is in millionths (micros).

create table experiments (
  id integer generated always as identity primary key,
  publisher_id integer not null references publishers,
  key text not null,
  name text not null,
  -- Normalised names; null: all placements.
  placements text[],
  -- The hold-out group gets everything except this campaign; null: the hold-out group gets nothing.
  campaign_id integer references campaigns,
  -- A user is in at most one experiment of a layer.
  layer text,
  -- Share of users in the hold-out group, from 0 to 1.
  holdout double precision not null,
  -- Key, share and changes of each arm.
  arms jsonb[] not null,
  start_at timestamptz,
  end_at timestamptz,
  -- Hashed with the identifier of a user, it gives the slot of that user.
  salt text not null,
  -- Slots of 10,000 with their arm: [{ from, to, arm }].
  allocation jsonb not null default '[]',
  version integer not null default 1,
  -- Settings of each version, with its start.
  versions jsonb not null default '[]',
  started_at timestamptz,
  stopped_at timestamptz,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  -- Number of users whose sums were erased.
  erased_users integer not null default 0,
  -- Actions on the experiment: [{ at, by, action, version, arm }].
  history jsonb not null default '[]',
  -- Arm that was made permanent, with the values that it replaced, so that it can be undone; null: none.
  adopted jsonb,
  -- Share of its users who take part, by hours after the start: after_hours and share; null: all users from the start.
  ramp jsonb[],
  -- Smallest difference that the experiment should detect: 0.05 is 5 %.
  smallest_lift double precision not null default 0.05,
  constraint experiments_key unique (publisher_id, key)
);
comment on table experiments is 'Experiments of publishers.';
create index experiments_campaign on experiments (campaign_id) where campaign_id is not null;
create trigger bump_catalog_version after insert or update or delete on experiments
  for each row execute function bump_catalog_version();
create trigger bump_catalog_version_truncated after truncate on experiments
  for each statement execute function bump_catalog_version();

create table experiment_units (
  experiment_id integer not null references experiments on delete cascade,
  version integer not null,
  -- Empty: outside the experiment, if users outside are the control group.
  arm text not null,
  -- Keyed hash of pub_user_id, else of ad_fp; for a session without a user, its id.
  unit_key uuid not null,
  first_at timestamptz not null,
  sessions integer not null,
  -- Sessions that showed an offer, or would have. If a campaign is held out: an offer of that campaign.
  would_see integer not null,
  perks integer not null default 0,
  clicks integer not null default 0,
  conversions integer not null default 0,
  revenue_micros bigint not null default 0,
  -- Clicks and revenue of the two weeks before the user joined, which reduce the variance.
  before_clicks integer not null default 0,
  before_revenue_micros bigint not null default 0,
  -- Device and country of the first session; empty: unknown.
  device text not null default '',
  country text not null default '',
  primary key (experiment_id, version, arm, unit_key)
);
comment on table experiment_units is 'What the users of an experiment did since they joined it, by version.';
create index experiment_units_unit_key on experiment_units (unit_key);
create index experiment_units_revenue on experiment_units (experiment_id, version, revenue_micros)
  where revenue_micros > 0;

create table experiment_progress (
  only_row boolean primary key default true check (only_row),
  until_xid xid8 not null
);
comment on table experiment_progress is
  'Rows of all transactions before `until_xid` are in the sums, written in the transaction that adds them. One row.';
insert into experiment_progress (until_xid) values (pg_snapshot_xmin(pg_current_snapshot()));

create table own_outcomes (
  publisher_id integer not null references publishers,
  -- Id that the publisher assigned. A repeated id is ignored.
  id text not null,
  -- Keyed hash of pub_user_id. The user may be unknown.
  user_key uuid not null,
  name text not null,
  value_micros bigint not null,
  currency text,
  at timestamptz not null,
  -- As in sessions.
  written_by xid8 not null default pg_current_xact_id(),
  primary key (publisher_id, id)
);
comment on table own_outcomes is 'Outcomes of users that publishers report, such as orders.';
create index own_outcomes_user_key on own_outcomes (user_key);
create index own_outcomes_at on own_outcomes (at);
create index own_outcomes_written_by on own_outcomes (xid8send(written_by));

create table experiment_outcomes (
  experiment_id integer not null references experiments on delete cascade,
  version integer not null,
  arm text not null,
  unit_key uuid not null,
  name text not null,
  -- 0: the user had the outcome only before joining.
  occurrences integer not null,
  value_micros bigint not null,
  -- Whether would_see of the user is above 0.
  sees boolean not null default false,
  -- Value of the two weeks before the user joined, which reduces the variance.
  before_micros bigint not null default 0,
  primary key (experiment_id, version, name, arm, unit_key)
);
comment on table experiment_outcomes is
  'Own outcomes of the users of an experiment since they joined it, by version and name.';
create index experiment_outcomes_unit_key on experiment_outcomes (unit_key);
create index experiment_outcomes_value on experiment_outcomes (experiment_id, version, name, value_micros);

create table experiment_moments (
  experiment_id integer not null references experiments on delete cascade,
  version integer not null,
  arm text not null,
  -- Users who saw an offer, or would have; false: the other users.
  sees boolean not null,
  -- device or country; empty: all users.
  segment text not null,
  segment_value text not null,
  -- Measured value. shown: sessions that showed an offer; paying: users with revenue.
  name text not null,
  -- Whether the value is an own outcome.
  is_own boolean not null,
  -- Whether the row is not merged yet.
  is_delta boolean not null default true,
  -- Number of users; for own outcomes, of users with the outcome.
  n bigint not null,
  x numeric not null,
  y numeric not null,
  b numeric not null,
  xx numeric not null,
  yy numeric not null,
  bb numeric not null,
  xy numeric not null,
  xb numeric not null,
  yb numeric not null
);
comment on table experiment_moments is
  'Sums over users of the measured value (y), the number of sessions (x) and the value before joining (b), and of
their products. Reports need no rows of users. A sum is the total of all rows with its key: every change of users
inserts rows in its own transaction and updates none, so that writers do not wait for each other. A job merges the
rows.';
create index experiment_moments_version on experiment_moments (experiment_id, version, segment);
create index experiment_moments_delta on experiment_moments (experiment_id, version) where is_delta;

-- Trigger: adds what a statement changed of experiment_units, as the new rows minus the old ones. Also marks the
-- outcomes of users who see their first offer.
create function add_experiment_units() returns trigger language plpgsql as $$
declare
  came constant text := 'select 1::bigint as sign, * from came';
  went constant text := 'select -1::bigint as sign, * from went';
begin
  execute $sql$
    with grouped as (
      select r.experiment_id, r.version, r.arm, r.would_see > 0 as sees, r.device, r.country,
        sum(sign) as n, sum(sign * x) as x, sum(sign * x * x) as xx,
        sum(sign * s) as s, sum(sign * (r > 0)::integer) as paying,
        sum(sign * d) as d, sum(sign * d * d) as dd, sum(sign * x * d) as xd,
        sum(sign * p) as p, sum(sign * p * p) as pp, sum(sign * x * p) as xp, sum(sign * p * d) as pd,
        sum(sign * c) as c, sum(sign * c * c) as cc, sum(sign * x * c) as xc, sum(sign * c * d) as cd,
        sum(sign * v) as v, sum(sign * v * v) as vv, sum(sign * x * v) as xv, sum(sign * v * d) as vd,
        sum(sign * r) as r, sum(sign * x * r) as xr,
        coalesce(sum(sign * r::numeric * r) filter (where r <> 0), 0) as rr,
        coalesce(sum(sign * r::numeric * q) filter (where r <> 0 and q <> 0), 0) as rq,
        sum(sign * q) as q, coalesce(sum(sign * q::numeric * q) filter (where q <> 0), 0) as qq, sum(sign * x * q) as xq
      from (
        select *, sessions::bigint as x, would_see::bigint as s, perks::bigint as p, clicks::bigint as c,
          conversions::bigint as v, revenue_micros as r, before_clicks::bigint as d, before_revenue_micros as q
        from ($sql$ || case tg_op when 'INSERT' then came when 'DELETE' then went else came || ' union all ' || went end
        || $sql$) rows
      ) r join experiments e on e.id = r.experiment_id
      group by 1, 2, 3, 4, 5, 6
    )
    insert into experiment_moments (experiment_id, version, arm, sees, segment, segment_value, name, is_own,
      n, x, y, b, xx, yy, bb, xy, xb, yb)
    select * from (
      select experiment_id, version, arm, sees,
        case when grouping(device) = 0 then 'device' when grouping(country) = 0 then 'country' else '' end,
        coalesce(device, country, ''), m.name, false, sum(n) as n, sum(x) as x, sum(m.y) as y, sum(m.b) as b,
        sum(xx) as xx, sum(m.yy) as yy, sum(m.bb) as bb, sum(m.xy) as xy, sum(m.xb) as xb, sum(m.yb) as yb
      from grouped cross join lateral (values
        ('revenue', r, q, rr, qq, xr, xq, rq), ('perks', p, d, pp, dd, xp, xd, pd),
        ('clicks', c, d, cc, dd, xc, xd, cd), ('conversions', v, d, vv, dd, xv, xd, vd),
        ('shown', s, 0, 0, 0, 0, 0, 0), ('paying', paying, 0, 0, 0, 0, 0, 0)
      ) m (name, y, b, yy, bb, xy, xb, yb)
      group by grouping sets ((experiment_id, version, arm, sees, m.name),
        (experiment_id, version, arm, sees, m.name, device), (experiment_id, version, arm, sees, m.name, country))
    ) sums where (n, x, y, b, xx, yy, bb, xy, xb, yb) <> (0, 0, 0, 0, 0, 0, 0, 0, 0, 0)$sql$;
  if tg_op = 'UPDATE' then
    update experiment_outcomes o set sees = true from came c join went w
      on (w.experiment_id, w.version, w.arm, w.unit_key) = (c.experiment_id, c.version, c.arm, c.unit_key)
    where w.would_see = 0 and c.would_see > 0 and not o.sees
      and (o.experiment_id, o.version, o.arm, o.unit_key) = (c.experiment_id, c.version, c.arm, c.unit_key);
  end if;
  return null;
end $$;

-- Trigger: adds what a statement changed of experiment_outcomes, as the new rows minus the old ones.
create function add_experiment_outcomes() returns trigger language plpgsql as $$
declare
  came constant text := 'select 1::bigint as sign, * from came';
  went constant text := 'select -1::bigint as sign, * from went';
begin
  execute $sql$
    insert into experiment_moments (experiment_id, version, arm, sees, segment, segment_value, name, is_own,
      n, x, y, b, xx, yy, bb, xy, xb, yb)
    select * from (
      select experiment_id, version, arm, sees, '', '', name, true, sum(has) as n, sum(has) as x, sum(y) as y,
        sum(b) as b, sum(has) as xx, sum(y * value_micros) as yy, sum(b * before_micros) as bb, sum(y) as xy,
        sum(b) as xb, sum(y * before_micros) as yb
      from (
        select r.*, sign * (occurrences > 0)::integer as has, sign * value_micros::numeric as y,
          sign * before_micros::numeric as b
        from ($sql$ || case tg_op when 'INSERT' then came when 'DELETE' then went else came || ' union all ' || went end
        || $sql$) r join experiments e on e.id = r.experiment_id
      ) rows group by 1, 2, 3, 4, 7
    ) sums where (n, y, b, yy, bb, yb) <> (0, 0, 0, 0, 0, 0)$sql$;
  return null;
end $$;

create trigger add_inserted after insert on experiment_units referencing new table as came
  for each statement execute function add_experiment_units();
create trigger add_updated after update on experiment_units referencing new table as came old table as went
  for each statement execute function add_experiment_units();
create trigger add_deleted after delete on experiment_units referencing old table as went
  for each statement execute function add_experiment_units();
create trigger add_inserted after insert on experiment_outcomes referencing new table as came
  for each statement execute function add_experiment_outcomes();
create trigger add_updated after update on experiment_outcomes referencing new table as came old table as went
  for each statement execute function add_experiment_outcomes();
create trigger add_deleted after delete on experiment_outcomes referencing old table as went
  for each statement execute function add_experiment_outcomes();

create table experiment_points (
  experiment_id integer not null references experiments on delete cascade,
  version integer not null,
  day date not null,
  sums jsonb not null,
  primary key (experiment_id, version, day)
);
comment on table experiment_points is 'Sums of experiments at the end of each UTC day, and of the current day so far.';
