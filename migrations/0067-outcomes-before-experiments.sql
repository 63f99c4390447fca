-- Own outcomes of the fortnight before a user came into an experiment lower the variance of those since.

alter table experiment_outcomes add column before_micros bigint not null default 0;
comment on column experiment_outcomes.before_micros is
  'The value of the fortnight before the user was in the experiment; of users without one since, occurrences is 0.';

create or replace function add_experiment_outcomes() returns trigger language plpgsql as $$
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
