-- Sums over the users of experiments, kept as the users change, so that a report reads few rows.

alter table experiment_units
  add column device text not null default '',
  add column country text not null default '';
comment on column experiment_units.device is 'Of the first session, as is country; empty: unknown.';
create index experiment_units_revenue on experiment_units (experiment_id, version, revenue_micros)
  where revenue_micros > 0;

alter table experiment_outcomes add column sees boolean not null default false;
comment on column experiment_outcomes.sees is 'The user saw an offer, or would have: would_see of the user is above 0.';
create index experiment_outcomes_value on experiment_outcomes (experiment_id, version, name, value_micros);

create table experiment_moments (
  experiment_id integer not null references experiments on delete cascade,
  version integer not null,
  arm text not null,
  sees boolean not null,
  segment text not null,
  segment_value text not null,
  name text not null,
  is_own boolean not null,
  is_delta boolean not null default true,
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
create index experiment_moments_version on experiment_moments (experiment_id, version, segment);
create index experiment_moments_delta on experiment_moments (experiment_id, version) where is_delta;
comment on table experiment_moments is
  'Sums over users of what is measured (y), their sessions (x) and what is known from before (b). A sum is that of all
rows of its key: each change of users adds rows in its own transaction and
changes none, so that writers do not wait for each other.';
comment on column experiment_moments.sees is 'Of those who saw an offer, or would have; false: of the others.';
comment on column experiment_moments.segment is 'Empty: all users; device, country.';
comment on column experiment_moments.name is
  'What is measured; shown: sessions that showed an offer; paying: users with revenue.';
comment on column experiment_moments.is_own is 'An outcome of the publisher''s own.';
comment on column experiment_moments.is_delta is 'Not added to the others yet.';
comment on column experiment_moments.n is 'Users; of own outcomes, those who have one.';

-- Adds what a statement changed: rows as they are now, less as they were.
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

create function add_experiment_outcomes() returns trigger language plpgsql as $$
declare
  came constant text := 'select 1::bigint as sign, * from came';
  went constant text := 'select -1::bigint as sign, * from went';
begin
  execute $sql$
    insert into experiment_moments (experiment_id, version, arm, sees, segment, segment_value, name, is_own,
      n, x, y, b, xx, yy, bb, xy, xb, yb)
    select * from (
      select r.experiment_id, r.version, r.arm, r.sees, '', '', r.name, true, sum(sign) as n, sum(sign) as x,
        sum(sign * value_micros::numeric) as y, 0, sum(sign) as xx,
        sum(sign * value_micros::numeric * value_micros) as yy, 0, sum(sign * value_micros::numeric) as xy, 0, 0
      from ($sql$ || case tg_op when 'INSERT' then came when 'DELETE' then went else came || ' union all ' || went end
      || $sql$) r join experiments e on e.id = r.experiment_id group by 1, 2, 3, 4, 7
    ) sums where (n, y, yy) <> (0, 0, 0)$sql$;
  return null;
end $$;

-- What is counted already is counted once more, by the triggers.
create temporary table units_before on commit drop as select * from experiment_units;
create temporary table outcomes_before on commit drop as select * from experiment_outcomes;
delete from experiment_units;
delete from experiment_outcomes;

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

insert into experiment_units select * from units_before;
update outcomes_before o set sees = true from experiment_units u where u.would_see > 0
  and (o.experiment_id, o.version, o.arm, o.unit_key) = (u.experiment_id, u.version, u.arm, u.unit_key);
insert into experiment_outcomes select * from outcomes_before;

create table experiment_points (
  experiment_id integer not null references experiments on delete cascade,
  version integer not null,
  day date not null,
  sums jsonb not null,
  primary key (experiment_id, version, day)
);
comment on table experiment_points is
  'The sums of experiments as they stood at the end of each UTC day, and today so far.';
