-- What users had of an own outcome before was lost from its sums where none of them had it again yet: they are made
-- anew of the users, whose rows have it all.

-- Writers of these rows add to the sums, and wait until they are whole.
lock table experiment_outcomes in share row exclusive mode;
delete from experiment_moments where is_own;
insert into experiment_moments (experiment_id, version, arm, sees, segment, segment_value, name, is_own, is_delta,
  n, x, y, b, xx, yy, bb, xy, xb, yb)
select experiment_id, version, arm, sees, '', '', name, true, false, sum(has), sum(has), sum(y), sum(b), sum(has),
  sum(y * y), sum(b * b), sum(y), sum(b), sum(y * b)
from (
  select *, (occurrences > 0)::integer as has, value_micros::numeric as y, before_micros::numeric as b
  from experiment_outcomes
) rows group by experiment_id, version, arm, sees, name;
