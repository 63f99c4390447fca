import type { Executor } from '../../../platform/db/pool.ts';
import { isFailing } from '../../endpoint-store.ts';
import { endpointData, isoTime, raiseEvents, withdrawEvents } from '../../raise-events.ts';
import type { Settlement } from './settle.ts';

/*
 * Thresholds of the circuit breaker, and of endpoints that are failing (docs/guides/dispatcher.md).
 */

/** Duration from which a call without a response counts as a timeout, in milliseconds, regardless of its error. */
const timeoutAfterMs = 4500;

/**
 * Time window of the circuit breaker, in milliseconds. The breaker opens if the window contains at least
 * `breakerMinCalls` calls and their error rate reaches `breakerFailureShare`.
 */
const breakerWindowMs = 60_000;
const breakerMaxCalls = 100;
const breakerMinCalls = 10;
const breakerFailureShare = 0.5;
/** Number of consecutive timeouts that also open the circuit breaker. */
const breakerTimeouts = 5;

/**
 * Time from the opening of the breaker to the first probe, in seconds. It doubles with each failed probe, up to the
 * maximum.
 */
const firstProbeAfterS = 30;
const maxProbeAfterS = 900;

/** Result of a finished call, for the health of its endpoint. */
type CallResult = 'success' | 'failure' | 'timeout';

type Call = { ageMs: number; failed: boolean };

/** Results of a batch of calls to one endpoint at one URL. */
export type Observation = {
  endpointId: number;
  url: string;
  maxInFlight: number;
  /** Number of successes since the last timeout, or of all successes if there was no timeout. */
  successes: number;
  succeeded: boolean;
  timedOut: boolean;
  /** Number of failures since the last success, or of all failures if there was no success. */
  failures: number;
  /** Number of consecutive timeouts at the end of the batch. */
  timeouts: number;
  /** Whether all calls timed out. If so, they continue the series of timeouts before this batch. */
  onlyTimeouts: boolean;
  /** Calls during the last minute that have not been stored yet, oldest first. */
  calls: Call[];
  /** Last failed attempt, or null if the last call succeeded. */
  lastFailed: Claimed | null;
};

type Claimed = Settlement['claimed'];

/**
 * Returns how a call affects the health of its endpoint.
 * @returns null if the call does not count: a local failure, a failed transformation, or a disabled endpoint
 */
function callResultOf({ outcome, errorClass, status, timing }: Settlement): CallResult | null {
  if (outcome === 'delivered') return 'success';
  if (outcome === 'endpoint_disabled' || errorClass === null) return null;
  if (errorClass === 'local' || errorClass === 'transformation') return null;
  return errorClass === 'timeout' || (status === null && (timing?.totalMs ?? 0) >= timeoutAfterMs)
    ? 'timeout'
    : 'failure';
}

/**
 * Maximum number of targets (endpoint and URL) kept in memory. If there are more, the least recently used target is
 * dropped.
 */
const maxRemembered = 10_000;

/** Summarises settlements by endpoint and URL, and holds back successes that need not be stored immediately. */
export type HealthWatch = { observe: (settlements: readonly Settlement[]) => Observation[] };

/**
 * Creates a health watch. For a healthy endpoint, successes are stored only once a minute, and together with the first
 * failure. They must be stored because the circuit breaker uses the database to count the calls of all workers.
 */
export function createHealthWatch(now: () => number): HealthWatch {
  const unwritten = new Map<string, { atMs: number; failed: boolean }[]>();

  function remember(target: string, failed: boolean): void {
    const nowMs = now();
    const recent = (unwritten.get(target) ?? []).filter(({ atMs }) => nowMs - atMs < breakerWindowMs);
    recent.push({ atMs: nowMs, failed });
    unwritten.delete(target);
    unwritten.set(target, recent.slice(-breakerMaxCalls));
    const [oldest] = unwritten.keys();
    if (unwritten.size > maxRemembered && oldest !== undefined) unwritten.delete(oldest);
  }

  function take(target: string): Call[] {
    const calls = (unwritten.get(target) ?? []).map(({ atMs, failed }) => ({ ageMs: now() - atMs, failed }));
    unwritten.delete(target);
    return calls;
  }

  return {
    observe: (settlements) => {
      const observations = new Map<string, Observation>();
      const worthWriting = new Set<string>();
      for (const settlement of settlements) {
        const result = callResultOf(settlement);
        if (result === null) continue;
        const target = targetOf(settlement.claimed);
        const before = observations.get(target) ?? blank(settlement.claimed);
        observations.set(target, next(before, result, settlement.claimed));
        remember(target, result !== 'success');
        if (result !== 'success' || !settlement.claimed.healthy) worthWriting.add(target);
      }
      return [...observations]
        .filter(([target]) => worthWriting.has(target))
        .map(([target, observation]) => ({ ...observation, calls: take(target) }));
    },
  };
}

const targetOf = ({ endpointId, url }: Claimed): string => `${endpointId} ${url}`;

const blank = ({ endpointId, url, maxInFlight }: Claimed): Observation => ({
  endpointId,
  url,
  maxInFlight,
  successes: 0,
  succeeded: false,
  timedOut: false,
  failures: 0,
  timeouts: 0,
  onlyTimeouts: true,
  calls: [],
  lastFailed: null,
});

function next(before: Observation, result: CallResult, claimed: Claimed): Observation {
  if (result === 'success') {
    return {
      ...before,
      successes: before.successes + 1,
      succeeded: true,
      failures: 0,
      timeouts: 0,
      onlyTimeouts: false,
      lastFailed: null,
    };
  }
  const failed = { ...before, failures: before.failures + 1, lastFailed: claimed };
  if (result === 'failure') return { ...failed, timeouts: 0, onlyTimeouts: false };
  return { ...failed, timeouts: before.timeouts + 1, timedOut: true, successes: 0 };
}

/**
 * Selects the endpoints from `changed` that have started to fail. The second query selects those that have recovered.
 */
const failed = `select publisher_id, subject, count, data || jsonb_build_object(
      'failures', failures, 'failing_since', to_char(first_failure_at at time zone 'UTC', '${isoTime}')
    ) as data from changed fact where failing`;
const succeeded = 'select publisher_id, subject, count, data from changed fact where not failing';
const notIn = (withdrawn: string): string => `not exists (
      select from ${withdrawn} t where t.publisher_id = fact.publisher_id and t.subject = fact.subject
    )`;

/*
 * Locks rows in a consistent order, so that workers do not deadlock. Ignores observations of a previous URL.
 *
 * While the breaker is open, a success closes it. A failure after the wait is that of the probe and doubles the wait. A
 * failure within the wait belongs to an earlier call and changes nothing. A breaker that closes allows one call in
 * flight, and one more with each success; it counts the calls of the last minute anew.
 *
 * An endpoint that begins to fail or recovers raises an event. If the opposite event was not sent yet, that event is
 * withdrawn instead, so that the last event sent always states the current health.
 */
const statement = `
  with locked as materialized (
    select h.* from endpoint_health h where h.endpoint_id = any($1) order by h.endpoint_id for update
  ), given as (
    select o.* from unnest(
      $1::int[], $2::int[], $3::int[], $4::bool[], $5::bool[], $6::int[], $7::int[], $8::bool[], $9::jsonb[],
      $10::text[], $11::uuid[], $12::int[]
    ) as o (
      endpoint_id, max_in_flight, successes, succeeded, timed_out, failures, timeouts, only_timeouts, calls, url,
      failed_delivery_id, failed_generation
    )
    join webhook_endpoints e on e.id = o.endpoint_id and e.url = o.url
  ), calls as (
    select g.endpoint_id, now() - (call->>'ageMs')::float8 * interval '1 ms' as at, (call->>'failed')::bool as failed,
      true as is_new
    from given g cross join jsonb_array_elements(g.calls) as call
    union all
    select l.endpoint_id, call.*, false from locked l
    cross join unnest(l.recent_calls_at, l.recent_calls_failed) as call (at, failed)
    where call.at > now() - interval '${breakerWindowMs} ms'
  ), recent as (
    select endpoint_id, array_agg(at order by at) as calls_at, array_agg(failed order by at) as calls_failed,
      bool_or(failed and is_new) and count(*) >= ${breakerMinCalls}
        and count(*) filter (where failed) >= count(*) * ${breakerFailureShare} as trips
    from (
      select *, row_number() over (partition by endpoint_id order by at desc) as place from calls
    ) call where place <= ${breakerMaxCalls}
    group by endpoint_id
  ), seen as (
    select g.*, r.calls_at, r.calls_failed, r.trips,
      case when only_timeouts then l.timeouts_in_row else 0 end + timeouts as in_row,
      l.breaker_state = 'open' and not succeeded and l.open_until <= now() as probe_failed
    from given g join recent r using (endpoint_id) join locked l using (endpoint_id)
  ), judged as (
    select s.*, probe_failed or (l.breaker_state = 'closed' and (trips or in_row >= ${breakerTimeouts})) as opens,
      case when timed_out or trips then 1 when succeeded
        and l.breaker_state = 'open' then 1 else l.in_flight_limit end as base
    from seen s join locked l using (endpoint_id)
  ), updated as (
  update endpoint_health h set
    breaker_state = case when opens then 'open' when succeeded then 'closed' else h.breaker_state end,
    times_opened = case when opens then least(h.times_opened + 1, 100) when succeeded then 0 else h.times_opened end,
    open_until = case
      when opens
        then now() + least(${firstProbeAfterS} * 2 ^ least(h.times_opened, 10), ${maxProbeAfterS}) * interval '1 s'
      when not succeeded then h.open_until end,
    recent_calls_at = case when opens or h.breaker_state = 'open' then '{}' else calls_at end,
    recent_calls_failed = case when opens or h.breaker_state = 'open' then '{}' else calls_failed end,
    in_flight_limit = case when base + successes < max_in_flight then base + successes end,
    timeouts_in_row = case when opens then 0 else least(in_row, 1000) end,
    last_success_at = case when succeeded then now() else h.last_success_at end,
    last_failure_at = case when j.failures > 0 then now() else h.last_failure_at end,
    last_failed_delivery_id = j.failed_delivery_id, last_failed_generation = j.failed_generation,
    first_failure_at = case when j.failures = 0 then null when succeeded then now()
      else coalesce(h.first_failure_at, now()) end,
    failures = case when succeeded then 0 else h.failures end + j.failures,
    warned_at = case when not succeeded then h.warned_at end
  from judged j where h.endpoint_id = j.endpoint_id
  returning h.endpoint_id, h.open_until, h.failures, h.first_failure_at, j.opens, ${isFailing('h')} as failing
  ), changed as (
    select e.publisher_id, e.id::text as subject, 1 as count, ${endpointData} as data, u.failing, u.failures,
      u.first_failure_at
    from updated u join locked l using (endpoint_id) join webhook_endpoints e on e.id = u.endpoint_id
    where u.failing <> ${isFailing('l')}
  ), failing_taken_back as (
    ${withdrawEvents('endpoint.failing', succeeded)}
  ), recovered_taken_back as (
    ${withdrawEvents('endpoint.recovered', failed)}
  ), failing as (
    ${raiseEvents('endpoint.failing', `${failed} and ${notIn('recovered_taken_back')}`)}
  ), recovered as (
    ${raiseEvents('endpoint.recovered', `${succeeded} and ${notIn('failing_taken_back')}`)}
  )
  select endpoint_id, open_until, opens from updated`;

/** Circuit breaker that has just been opened. */
export type Opened = { endpointId: number; openUntil: Date };

/**
 * Adds observations to the stored health of endpoints.
 * @returns the circuit breakers that opened
 */
export async function recordHealth(executor: Executor, observations: readonly Observation[]): Promise<Opened[]> {
  if (observations.length === 0) return [];
  const column = <Value>(read: (observation: Observation) => Value): Value[] => observations.map(read);
  const { rows } = await executor.query<{ endpoint_id: number; open_until: Date; opens: boolean }>({
    name: 'record_endpoint_health',
    text: statement,
    values: [
      column((observation) => observation.endpointId),
      column((observation) => observation.maxInFlight),
      column((observation) => observation.successes),
      column((observation) => observation.succeeded),
      column((observation) => observation.timedOut),
      column((observation) => observation.failures),
      column((observation) => observation.timeouts),
      column((observation) => observation.onlyTimeouts),
      column((observation) => JSON.stringify(observation.calls)),
      column((observation) => observation.url),
      column(({ lastFailed }) => lastFailed?.deliveryId ?? null),
      column(({ lastFailed }) => lastFailed?.generation ?? null),
    ],
  });
  return rows.filter((row) => row.opens).map((row) => ({ endpointId: row.endpoint_id, openUntil: row.open_until }));
}

/**
 * Stores which attempts disable their endpoints, so that the alert about an endpoint can quote the response. Call it
 * before the settlements are stored, which raises the alert. Like a settlement, it ignores lost leases and old URLs.
 * It locks rows in the same order as `recordHealth`.
 */
export async function noteDisablingAttempts(executor: Executor, settlements: readonly Settlement[]): Promise<void> {
  const disabling = settlements.filter(({ disables }) => disables !== null).map(({ claimed }) => claimed);
  if (disabling.length === 0) return;
  await executor.query(
    `with own as materialized (
      select h.endpoint_id, o.delivery_id, o.generation
      from unnest($1::int[], $2::uuid[], $3::int[], $4::text[]) as o (endpoint_id, delivery_id, generation, url)
      join webhook_endpoints e on e.id = o.endpoint_id and e.url = o.url
      join delivery_queue q on q.delivery_id = o.delivery_id and q.generation = o.generation
      join endpoint_health h on h.endpoint_id = o.endpoint_id
      order by h.endpoint_id for update of h
    )
    update endpoint_health h set last_failed_delivery_id = o.delivery_id, last_failed_generation = o.generation
    from own o where h.endpoint_id = o.endpoint_id`,
    [
      disabling.map(({ endpointId }) => endpointId),
      disabling.map(({ deliveryId }) => deliveryId),
      disabling.map(({ generation }) => generation),
      disabling.map(({ url }) => url),
    ],
  );
}
