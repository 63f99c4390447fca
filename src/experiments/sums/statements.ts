/**
 * SQL condition for rows of transactions from `$1` (inclusive) to `$2` (exclusive). It can use the index of new rows.
 */
const isNew = `xid8send(t.written_by) >= (select xid8send($1::xid8))
  and xid8send(t.written_by) < (select xid8send($2::xid8))`;

/**
 * SQL condition for sessions that take part in an experiment. It searches the text of the decision, so that the JSON of
 * other sessions does not have to be parsed.
 */
const isIn = (session: string): string => `not ${session}.dev and strpos(${session}.decision, '"experiments":') > 0`;
const inputs = (session: string): string => `${session}.decision::json -> 3`;

/**
 * SQL join that returns a session's experiment arms and its unit key, as `arm`. `session` is the SQL alias of a row
 * with the session's inputs and ID.
 */
const members = (session: string): string => `cross join lateral (
  select (m ->> 0)::int as experiment_id, (m ->> 1)::int as version, coalesce(m ->> 3, '') as arm,
    coalesce((${session}.inputs #>> '{experiments,unit}')::uuid, ${session}.session_id) as unit_key
  from json_array_elements(${session}.inputs #> '{experiments,arms}') m
) arm`;

const key = 'experiment_id, version, arm, unit_key';
const keyOf = (row: string): string => key.replace(/\w+/g, `${row}.$&`);

/** SQL that sets the currency for a version's revenue totals, before the version's first session is added. */
export const setCurrenciesSql = `
insert into experiment_currencies (experiment_id, version, currency)
select m.id, m.number, currency from (
  select e.id, e.publisher_id, v.number from experiments e cross join generate_series(1, e.version) as v (number)
  where coalesce(e.started_at, e.start_at) is not null
    and not exists (select from experiment_currencies c where (c.experiment_id, c.version) = (e.id, v.number))
) m cross join lateral main_currency(m.publisher_id) as currency where currency is not null
on conflict do nothing`;

/**
 * SQL expression for the currency of an amount, which may be missing because earlier releases stored events without
 * one. `t` is an event or a booking.
 */
const currencyOfRow = `case when t.revenue_micros <> 0 then
  coalesce(t.currency, (select k.payout_currency from campaigns k where k.id = t.campaign_id), 'XXX') end`;

type Amount = { publisherId: string; micros: string; from: string; to: string; at: string };

/** SQL expression that converts an amount to another currency, or null if there is no exchange rate. */
const exchangeSql = ({ publisherId, micros, from, to, at }: Amount): string =>
  `case when ${from} = ${to} then ${micros}
    when ${micros} <> 0 then exchange_micros(${publisherId}, ${micros}, ${from}, ${to}, ${at}) end`;

/**
 * SQL expression for an outcome's name followed by its currency, because values in different currencies must not be
 * added up. `t` is the outcome.
 */
const outcomeName = "concat_ws(' ', t.name, t.currency)";

/**
 * SQL expression for the revenue from an event or booking `t` in the currency of `m`, or null if there is no exchange
 * rate.
 */
export const paidSql = exchangeSql({
  publisherId: 't.publisher_id',
  micros: 't.revenue_micros',
  from: currencyOfRow,
  to: 'm.currency',
  at: 't.at',
});

/**
 * SQL that adds users who joined an experiment, and their sessions in it. For new users, it also reads their activity
 * and outcomes in the two weeks before they joined, which no version of the experiment can have affected.
 */
export const addSessionsSql = `
with given as (
  select t.id as session_id, t.created_at, t.campaign_ids, t.device, t.country, ${inputs('t')} as inputs
  from sessions t where ${isNew} and ${isIn('t')}
), counted as (
  select arm.*, min(g.created_at) as first_at, (array_agg(g.device order by g.created_at))[1] as device,
    (array_agg(g.country order by g.created_at))[1] as country, count(*)::int as sessions, (count(*) filter (where case
    when e.campaign_id is null
      then cardinality(g.campaign_ids) > 0 or json_array_length(coalesce(g.inputs #> '{ghost,campaigns}', '[]')) > 0
    else e.campaign_id = any(g.campaign_ids) or exists (
      select from json_array_elements_text(coalesce(g.inputs #> '{ghost,campaigns}', '[]')) c
      where c::int = e.campaign_id)
    end))::int as would_see
  from given g ${members('g')} join experiments e on e.id = arm.experiment_id
  group by 1, 2, 3, 4
), known as (
  update experiment_units u
  set sessions = u.sessions + c.sessions, would_see = u.would_see + c.would_see,
    first_at = least(u.first_at, c.first_at)
  from counted c
  where u.experiment_id = c.experiment_id and u.version = c.version and u.arm = c.arm and u.unit_key = c.unit_key
  returning ${keyOf('u')}
), entered as (
  select c.*, (
    select least(c.first_at, min(p.first_at)) from experiment_units p
    where p.experiment_id = c.experiment_id and p.unit_key = c.unit_key
  ) as entered_at
  from counted c where not exists (select from known k where (${keyOf('k')}) = (${keyOf('c')}))
), outcomes_before as (
  insert into experiment_outcomes (${key}, sees, name, occurrences, value_micros, before_micros)
  select ${keyOf('n')}, n.would_see > 0, ${outcomeName}, 0, 0, sum(t.value_micros)
  from entered n join experiments e on e.id = n.experiment_id
  join own_outcomes t on t.user_key = n.unit_key and t.publisher_id = e.publisher_id
    and t.at >= n.entered_at - interval '14 days' and t.at < n.entered_at
  group by 1, 2, 3, 4, 5, 6
  on conflict do nothing
)
insert into experiment_units (${key}, first_at, device, country, sessions, would_see, before_clicks,
  before_revenue_micros)
select ${keyOf('n')}, n.first_at, coalesce(n.device, ''), coalesce(n.country, ''), n.sessions, n.would_see,
  coalesce(b.clicks, 0), coalesce(b.revenue_micros, 0)
from entered n
left join experiment_currencies m on (m.experiment_id, m.version) = (n.experiment_id, n.version)
left join lateral (
  select sum(clicks)::int as clicks, sum(revenue_micros) as revenue_micros from sessions s
  cross join lateral (
    select count(*) filter (where t.kind = 'click') as clicks, coalesce(sum(${paidSql}), 0) as revenue_micros
    from events t where t.day = s.day and t.session_id = s.id and t.suspicious is null
      and (t.kind = 'click' or t.revenue_micros is not null)
    union all
    select 0, coalesce(sum(${paidSql}), 0) from bookings t where t.day = s.day and t.session_id = s.id
  ) happened
  where s.user_key = n.unit_key and not s.dev and s.created_at < n.entered_at
    and s.day between (n.entered_at - interval '14 days')::date and n.entered_at::date
) b on true`;

/**
 * SQL that moves the totals of returning users to their new keys during a pepper rotation. It must run before sessions
 * are added.
 */
export const moveUnitsSql = `
with moved as (
  select distinct (${inputs('t')} #>> '{experiments,unit}')::uuid as unit_key, earlier.value::uuid as earlier_key
  from sessions t
  cross join lateral json_array_elements_text(${inputs('t')} #> '{experiments,earlier}') earlier
  where ${isNew} and ${isIn('t')} and strpos(t.decision, '"earlier":') > 0
), outcomes_moved as (
  update experiment_outcomes o set unit_key = m.unit_key from moved m where o.unit_key = m.earlier_key
    and not exists (select from experiment_outcomes p where p.unit_key = m.unit_key)
)
update experiment_units u set unit_key = m.unit_key from moved m where u.unit_key = m.earlier_key
  and not exists (select from experiment_units p where p.unit_key = m.unit_key)`;

/** Look up each row separately by index: `offset 0` prevents a join that would read whole partitions. */
const sessionOf = `cross join lateral (
  select s.id as session_id, ${inputs('s')} as inputs from sessions s
  where s.day = t.day and s.id = t.session_id and ${isIn('s')} offset 0
) g`;

/**
 * Returns SQL that adds counts and revenue to the per-user totals. Revenue is converted to the version's currency, and
 * booked amounts are also stored by arm and currency. `rows` must have the columns `publisher_id`, `at`, `paid_micros`
 * and `currency`.
 */
const addSql = (rows: string, counts: readonly string[]): string => `
with booked as materialized (
  select arm.*, ${counts.map((name) => `g.${name}`).join(', ')}, g.currency, g.paid_micros,
    ${exchangeSql({
      publisherId: 'g.publisher_id',
      micros: 'g.paid_micros',
      from: 'g.currency',
      to: 'm.currency',
      at: 'g.at',
    })} as revenue_micros
  from (${rows}) g ${members('g')}
  join experiment_units u on u.experiment_id = arm.experiment_id and u.version = arm.version and u.arm = arm.arm
    and u.unit_key = arm.unit_key
  left join experiment_currencies m on (m.experiment_id, m.version) = (arm.experiment_id, arm.version)
), money as (
  insert into experiment_money as k (experiment_id, version, arm, currency, revenue_micros, unconverted_micros)
  select experiment_id, version, arm, currency, sum(paid_micros),
    coalesce(sum(paid_micros) filter (where revenue_micros is null), 0)
  from booked where paid_micros <> 0 group by 1, 2, 3, 4
  on conflict (experiment_id, version, arm, currency) do update set
    revenue_micros = k.revenue_micros + excluded.revenue_micros,
    unconverted_micros = k.unconverted_micros + excluded.unconverted_micros
), counted as (
  select ${key}, ${counts.map((name) => `sum(${name}) as ${name}`).join(', ')},
    sum(coalesce(revenue_micros, 0)) as revenue_micros
  from booked group by 1, 2, 3, 4
)
update experiment_units u
set ${[...counts, 'revenue_micros'].map((name) => `${name} = u.${name} + c.${name}`).join(', ')}
from counted c
where u.experiment_id = c.experiment_id and u.version = c.version and u.arm = c.arm and u.unit_key = c.unit_key`;

/** SQL that adds clicks, confirmed perks and event revenue. */
export const addEventsSql = addSql(
  `select g.*, (t.kind = 'click')::int as clicks, (t.kind = 'selection')::int as perks,
    t.publisher_id, t.at, coalesce(t.revenue_micros, 0) as paid_micros, ${currencyOfRow} as currency
  from events t ${sessionOf}
  where ${isNew} and t.suspicious is null and (t.kind in ('click', 'selection') or t.revenue_micros is not null)`,
  ['clicks', 'perks'],
);

/** SQL that adds conversions and their revenue. Voided conversions count as -1. */
export const addBookingsSql = addSql(
  `select g.*, t.conversions::int as conversions, t.publisher_id, t.at, t.revenue_micros as paid_micros,
    ${currencyOfRow} as currency
  from bookings t ${sessionOf} where ${isNew}`,
  ['conversions'],
);

/**
 * SQL that adds the publishers' own outcomes for users who were in an experiment when the outcome occurred. An outcome
 * is added to the version that was running then, even if it is reported later.
 */
export const addOutcomesSql = `
insert into experiment_outcomes as o (${key}, sees, name, occurrences, value_micros)
select u.experiment_id, u.version, u.arm, u.unit_key, u.would_see > 0, ${outcomeName}, count(*),
  sum(t.value_micros)
from own_outcomes t join experiment_units u on u.unit_key = t.user_key and t.at >= u.first_at
join experiments e on e.id = u.experiment_id and e.publisher_id = t.publisher_id
where ${isNew} and (least(e.stopped_at, e.end_at) is null or t.at <= least(e.stopped_at, e.end_at))
  and u.version = (select max((v ->> 'version')::int) from jsonb_array_elements(e.versions) v
    where (v ->> 'at')::timestamptz <= t.at)
group by 1, 2, 3, 4, 5, 6
on conflict (experiment_id, version, name, arm, unit_key) do update
set occurrences = o.occurrences + excluded.occurrences, value_micros = o.value_micros + excluded.value_micros`;

/**
 * SQL that adds the publisher's own events in sessions that belong to an experiment. Each event counts as an outcome
 * with the value 1, named after the event.
 */
export const addOwnEventsSql = `
insert into experiment_outcomes as o (${key}, sees, name, occurrences, value_micros)
select u.experiment_id, u.version, u.arm, u.unit_key, u.would_see > 0, g.kind, count(*), 1000000 * count(*)
from (
  select g.*, t.kind from events t ${sessionOf}
  where ${isNew} and t.suspicious is null and t.kind like 'own:%'
) g ${members('g')}
join experiment_units u on u.experiment_id = arm.experiment_id and u.version = arm.version and u.arm = arm.arm
  and u.unit_key = arm.unit_key
group by 1, 2, 3, 4, 5, 6
on conflict (experiment_id, version, name, arm, unit_key) do update
set occurrences = o.occurrences + excluded.occurrences, value_micros = o.value_micros + excluded.value_micros`;

const momentKey = 'experiment_id, version, arm, sees, segment, segment_value, name, is_own';
const sums = ['n', 'x', 'y', 'b', 'xx', 'yy', 'bb', 'xy', 'xb', 'yb'];

/**
 * SQL that merges newly inserted rows into one row per aggregate. For the publisher's own outcomes, a user is counted
 * only from their first such outcome in the experiment. Values from before the experiment are already in a separate row
 * that has no user ID; that row is kept.
 */
export const addUpMomentsSql = `
with touched as (
  select distinct experiment_id, version from experiment_moments where is_delta
), gone as (
  delete from experiment_moments m using touched t
  where m.experiment_id = t.experiment_id and m.version = t.version returning m.*
)
insert into experiment_moments (${momentKey}, is_delta, ${sums.join(', ')})
select ${momentKey}, false, ${sums.map((name) => `sum(${name})`).join(', ')} from gone
group by ${momentKey} having ${sums.map((name) => `sum(${name}) <> 0`).join(' or ')}`;
