import type { Executor } from '../../../platform/db/pool.ts';
import { isCalled } from '../../destinations/kinds.ts';
import type { SealedHeaders } from '../../signature.ts';
import type { Transformation } from '../../transformations/evaluators.ts';
import { interruptedColumns, leaseGraceMs, logInterrupted } from '../leases.ts';
import type { Method } from '../send/request.ts';
import type { Candidate, Claimed, Lane, Standing } from './claimed.ts';
import type { Allowance, RateAllowance } from './limits.ts';

/** SQL condition that is true if endpoint `e` with health `h` may be called. */
export const mayBeCalled = `e.enabled and e.paused_at is null and ${isCalled}
      and (h.breaker_state = 'closed' or h.open_until <= now())
      and (not e.strict_order or h.not_before is null or h.not_before <= now())`;

/**
 * SQL condition that limits reads of delivery `d` to the partitions of the most recent days. Opening all 38 partitions
 * took 0.15 ms per claim. Nearly all attempts are for deliveries from these days. The contents of older deliveries are
 * read separately.
 */
const isRecent = `d.day between (now() at time zone 'UTC')::date - 1 and (now() at time zone 'UTC')::date + 1`;

/** SQL expression for the standing of an endpoint with health `h`, as far as the database knows it. */
export const standingOf = `case
      when h.breaker_state = 'closed' and h.in_flight_limit is null and h.last_success_at is not null then 'trusted'
      when h.last_success_at is null and h.last_failure_at is null then 'untried' else 'tried' end`;

/** Columns of a claimed delivery `k`, its endpoint `e` and the endpoint health `h`. */
export const claimedColumns = `k.delivery_id, k.day::text as day, k.generation, k.attempts,
      extract(epoch from clock_timestamp() - k.due_at)::float8 * 1000 as lag_ms,
      e.publisher_id, e.url, e.method, e.headers, e.deadline_ms, e.retry_steps_s, e.strict_order, e.max_in_flight,
      e.transformation, h.transformation_failed_at is not null as transformation_failing,
      least(e.rate_limit_per_s, e.resume_rate_per_s) as per_s,
      h.breaker_state = 'closed' and h.in_flight_limit is null and h.failures = 0
        and h.last_success_at > now() - interval '1 min' is true as healthy,
      e.secret_sealed, case when e.signature_v1a then e.v1a_key_sealed end as v1a_key_sealed,
      case when e.previous_secret_until > now() then e.previous_secret_sealed end as previous_secret_sealed,
      case when e.signature_v1a and e.previous_secret_until > now() then e.previous_v1a_key_sealed end
        as previous_v1a_key_sealed`;

/**
 * SQL that counts the workers. `rank` is the place of worker $1 among them.
 *
 * A claim does not wait for the disk. If PostgreSQL crashes before a claim is on disk, the delivery may be claimed and
 * sent again, as it may be whenever PostgreSQL stops before the outcome is committed. The commit of the outcome, which
 * waits for the disk, also covers the claim.
 */
const peerSql = `peer as materialized (
    select set_config('synchronous_commit', 'off', true),
      count(*) filter (where id < $1 and not stopping)::int as rank, count(*) > 1 as has_others,
      greatest(count(*) filter (where not stopping), 1)::int as workers
    from dispatcher_workers
  )`;

/** Returns SQL for the rank of worker $1 for an endpoint. Each endpoint starts its ranks at a different worker. */
const rankSql = (endpoint: string): string => `(
      select mod(peer.rank - mod(${endpoint}.id, peer.workers) + peer.workers, peer.workers) as rank
    ) own`;

/** Returns SQL for the number of calls to an endpoint that other workers have in flight, up to twice its limit. */
const othersLeases = (lane: string, endpointId: string, limit: string): string => `(
        select count(*)::int from (
          select q.lease_until, q.worker_id from delivery_queue q
          where q.lane = ${lane} and q.endpoint_id = ${endpointId} order by q.due_at limit 2 * ${limit}
        ) oldest where oldest.lease_until > now() and oldest.worker_id is distinct from $1
      )`;

/** Returns SQL for the result of a claim: one row for each delivery in `claimed` and each `candidate` without one. */
const resultSql = (standing: string): string => `
  select c.id as endpoint_id, ${standing} as standing, c.room, peer.has_others as has_peers, found.*
  from candidate c cross join peer left join lateral (
    select ${claimedColumns}, d.event, d.dev, d.payload, d.traceparent
    from claimed k join webhook_endpoints e on e.id = k.endpoint_id join endpoint_health h on h.endpoint_id = e.id
    left join lateral (
      select event, dev, payload, traceparent from deliveries d
      where ${isRecent} and d.day = k.day and d.id = k.delivery_id limit 1
    ) d on true
    where k.endpoint_id = c.id
  ) found on true`;

/*
 * $1 worker · $2 lane · $3 endpoints to claim from, in order
 * $4 limit for trusted endpoints · $5 limit for all others · $13 limit for the tried ones among the others
 * $6 limit of an unproven endpoint · $7 endpoints with calls in flight in this worker, $8 their numbers of calls
 * $9 endpoints with a slow call
 * $10 endpoints with a rate limit, $11 how many calls each may start · $12 whether expired leases may be taken over
 *
 * The statement reads only the requested endpoints, so its cost depends neither on backlogs nor on the number of
 * waiting endpoints. The worker knows which endpoints may have deliveries (`ready-queue.ts`); this statement decides.
 *
 * `candidate` computes which endpoints may be called now, and how often. Workers share an endpoint's concurrency limit
 * by their rank, so that they stay within it without communication. A worker that has just started also counts the
 * leases of others, including those of a stopping worker, which belong to the oldest deliveries. For itself, a worker
 * counts the calls in flight, because a lease lasts until its outcome is written. Endpoints with one call at a time
 * (strict order, probes of an open breaker, redeliveries) or with a rate limit belong to one worker.
 *
 * A redelivery is sent only if no live delivery of the endpoint is due or in flight.
 *
 * `picked` takes the oldest due deliveries. With strict order it finds the first delivery before it locks it, because
 * skipping a locked first delivery would break the order. The attempt of a lease that is taken over is logged.
 *
 * The statement returns every candidate, even without deliveries, so that the worker learns its state and its room. The
 * payload of an older delivery is missing.
 */
const claimStatement = `
  with ${peerSql}, endpoint_state as not materialized (
    select e.id, asked.place, e.strict_order, h.last_success_at is null as unproven,
      case when $2 = 'redelivery' or e.strict_order or h.breaker_state = 'open' then 1
        else coalesce(h.in_flight_limit, e.max_in_flight)::int end as concurrency_limit,
      e.strict_order or h.breaker_state = 'open' or e.rate_limit_per_s is not null
        or e.resume_rate_per_s is not null as one_worker,
      e.rate_limit_per_s is not null or e.resume_rate_per_s is not null as rate_limited,
      case when slow.id is not null or h.last_success_at is null and busy.count > 0 then 'tried'
        else ${standingOf} end as standing,
      coalesce(busy.count, 0) as busy, rate.count as rate
    from unnest($3::int[]) with ordinality as asked (id, place)
    join webhook_endpoints e on e.id = asked.id
    join endpoint_health h on h.endpoint_id = e.id
    left join unnest($7::int[], $8::int[]) as busy (id, count) on busy.id = e.id
    left join unnest($9::int[]) as slow (id) on slow.id = e.id
    left join unnest($10::int[], $11::int[]) as rate (id, count) on rate.id = e.id
    where ${mayBeCalled}
      and ($2 = 'live' or not exists (
        select from delivery_queue q where q.lane = 'live' and q.endpoint_id = e.id and q.due_at <= now()
      ))
  ), candidate as materialized (
    select s.id, s.strict_order, s.standing, least(
      case when s.one_worker then case when own.rank = 0 then s.concurrency_limit else 0 end
        else greatest(0, (s.concurrency_limit - own.rank + peer.workers - 1) / peer.workers) end - s.busy,
      case when peer.has_others
        then s.concurrency_limit - ${othersLeases('$2', 's.id', 's.concurrency_limit')} - s.busy end,
      case when s.unproven then $6 - s.busy end,
      case when s.rate_limited then coalesce(s.rate, 1) end
    ) as room
    from endpoint_state s cross join peer cross join lateral ${rankSql('s')}
    order by s.place
  ), picked as materialized (
    (${picked('trusted')} limit $4)
    union all
    (select * from (
      (${picked('untried')}) union all (${picked('tried')} limit $13)
    ) untrusted limit $5)
  ), claimed as (
    update delivery_queue q
    set generation = q.generation + 1, worker_id = $1, claimed_at = now(),
      lease_until = now() + (e.deadline_ms + ${leaseGraceMs}) * interval '1 ms'
    from picked p, webhook_endpoints e
    where q.delivery_id = p.delivery_id and e.id = q.endpoint_id
    returning q.delivery_id, q.day, q.generation, q.attempts, q.due_at, e.id as endpoint_id
  ), logged as (
    ${logInterrupted('select * from picked where lease_until is not null')}
  )
  ${resultSql('c.standing')}`;

/*
 * $1 worker · $2 endpoints to claim from, in order, and $3 their calls in flight in this worker · $4 limit
 *
 * Shorter claim for the live deliveries of trusted endpoints without strict order or a rate limit, as nearly all are.
 * If there is nothing to claim, it takes two thirds of the CPU time of the statement above. It does not return other
 * endpoints, and does not claim deliveries whose lease has expired.
 */
const plainStatement = `
  with ${peerSql}, candidate as materialized (
    select e.id, e.deadline_ms, least(
      greatest(0, (e.max_in_flight - own.rank + peer.workers - 1) / peer.workers),
      case when peer.has_others then e.max_in_flight - ${othersLeases("'live'", 'e.id', 'e.max_in_flight')} end
    ) - asked.busy as room
    from unnest($2::int[], $3::int[]) with ordinality as asked (id, busy, place)
    join webhook_endpoints e on e.id = asked.id
    join endpoint_health h on h.endpoint_id = e.id
    cross join peer cross join lateral ${rankSql('e')}
    where ${mayBeCalled} and ${standingOf} = 'trusted'
      and not e.strict_order and e.rate_limit_per_s is null and e.resume_rate_per_s is null
    order by asked.place
  ), picked as materialized (
    select due.delivery_id, c.deadline_ms from candidate c cross join lateral (
      select q.delivery_id from delivery_queue q
      where q.lane = 'live' and q.endpoint_id = c.id and q.due_at <= now() and q.lease_until is null
      order by q.due_at limit greatest(c.room, 0) for update skip locked
    ) due limit $4
  ), claimed as (
    update delivery_queue q
    set generation = q.generation + 1, worker_id = $1, claimed_at = now(),
      lease_until = now() + (p.deadline_ms + ${leaseGraceMs}) * interval '1 ms'
    from picked p where q.delivery_id = p.delivery_id
    returning q.delivery_id, q.day, q.generation, q.attempts, q.due_at, q.endpoint_id
  )
  ${resultSql("'trusted'")}`;

/** Runs both claim statements without endpoints, so that their plans are ready before the first delivery. */
export async function prepareClaims(executor: Executor): Promise<void> {
  const none = { busyIds: [], busyCounts: [], slowIds: [], limitedIds: [], limitedCounts: [] };
  const limits = { trusted: 0, untrusted: 0, tried: 0, perUnproven: 0 };
  const request: ClaimRequest = { workerId: 0, lane: 'live', endpointIds: [], takeOver: false, ...none, ...limits };
  await claim(executor, request);
  await claimPlain(executor, request, []);
}

/** Reads the contents of deliveries. $1 and $2 are arrays of their days and IDs, in pairs. */
const contentStatement = `
  select d.id as delivery_id, d.event, d.dev, d.payload, d.traceparent
  from unnest($1::date[], $2::uuid[]) as k (day, id)
  cross join lateral (select * from deliveries d where d.day = k.day and d.id = k.id limit 1) d`;

/**
 * Returns SQL that selects the claimable deliveries for candidate endpoints with a standing, up to the number that each
 * endpoint has room for.
 */
function picked(standing: Standing): string {
  const free = 'q.due_at <= now() and (q.lease_until is null or ($12 and q.lease_until < now()))';
  const columns = `${interruptedColumns}, lease_until`;
  return `select due.* from candidate c cross join lateral (
      select * from (select ${columns} from delivery_queue q
        where not c.strict_order and q.lane = $2 and q.endpoint_id = c.id and ${free}
        order by q.due_at limit greatest(c.room, 0) for update skip locked) oldest
      union all
      select * from (select ${columns} from delivery_queue q
        where c.strict_order and q.delivery_id = (select f.delivery_id from delivery_queue f
          where f.lane = $2 and f.endpoint_id = c.id
            order by f.lane, f.endpoint_id, f.due_at, f.position limit 1) and ${free}
        for update skip locked) first
    ) due where c.standing = '${standing}' and c.room > 0`;
}

type DeliveryRow = {
  delivery_id: string;
  day: string;
  generation: number;
  attempts: number;
  lag_ms: number;
  publisher_id: number;
  url: string;
  method: Method;
  headers: SealedHeaders;
  deadline_ms: number;
  retry_steps_s: number[] | null;
  transformation: Transformation | null;
  transformation_failing: boolean;
  strict_order: boolean;
  max_in_flight: number;
  per_s: number | null;
  healthy: boolean;
  secret_sealed: Buffer;
  previous_secret_sealed: Buffer | null;
  v1a_key_sealed: Buffer | null;
  previous_v1a_key_sealed: Buffer | null;
};

/** Content of a delivery. */
type Content = { event: string; dev: boolean; payload: Buffer; traceparent: string | null };

/**
 * Result row of a claim. There is one row per delivery, and one row without a delivery for each endpoint that has none.
 */
type ClaimRow = { endpoint_id: number; standing: Standing; room: number; has_peers: boolean } & (
  | (DeliveryRow & (Content | { payload: null }))
  | { delivery_id: null }
);

export type ClaimRequest = Allowance &
  RateAllowance & {
    workerId: number;
    lane: Lane;
    /** IDs of the endpoints to claim from, in order. */
    endpointIds: readonly number[];
    /** Whether expired leases held by other workers may be taken over. */
    takeOver: boolean;
  };

/** Names of the statement parameters, in order. */
const parameters = [
  ...(['workerId', 'lane', 'endpointIds', 'trusted', 'untrusted', 'perUnproven', 'busyIds', 'busyCounts'] as const),
  ...(['slowIds', 'limitedIds', 'limitedCounts', 'takeOver', 'tried'] as const),
];

type ClaimResult = { claimed: Claimed[]; candidates: Candidate[]; hasPeers: boolean | undefined };

/**
 * Leases due deliveries of the given endpoints to a worker. `hasPeers` is whether other workers exist, or undefined if
 * no endpoint may be called.
 */
export const claim = (executor: Executor, request: ClaimRequest): Promise<ClaimResult> =>
  runClaim(executor, {
    name: 'claim_deliveries',
    text: claimStatement,
    values: parameters.map((name) => request[name]),
  });

/**
 * Like `claim`, but tries the short statement for the endpoints in `plainIds` first. These should be trusted endpoints
 * without strict order, rate limit or expired leases.
 */
export async function claimPlainFirst(
  executor: Executor,
  request: ClaimRequest,
  plainIds: readonly number[],
): Promise<ClaimResult> {
  if (plainIds.length === 0) return claim(executor, request);
  const { endpointIds, trusted } = request;
  const plain = await claimPlain(executor, request, plainIds);
  const done = new Set(plain.candidates.map(({ endpointId }) => endpointId));
  const rest = endpointIds.filter((id) => !done.has(id));
  if (rest.length === 0) return plain;
  const others = await claim(executor, { ...request, endpointIds: rest, trusted: trusted - plain.claimed.length });
  return {
    claimed: [...plain.claimed, ...others.claimed],
    candidates: [...plain.candidates, ...others.candidates],
    hasPeers: others.hasPeers ?? plain.hasPeers,
  };
}

/** Runs the short statement for the endpoints in `plainIds`. */
function claimPlain(
  executor: Executor,
  { workerId, trusted, busyIds, busyCounts }: ClaimRequest,
  plainIds: readonly number[],
): Promise<ClaimResult> {
  const busy = new Map(busyIds.map((id, index) => [id, busyCounts[index]]));
  return runClaim(executor, {
    name: 'claim_plain_deliveries',
    text: plainStatement,
    values: [workerId, plainIds, plainIds.map((id) => busy.get(id) ?? 0), trusted],
  });
}

async function runClaim(
  executor: Executor,
  statement: { name: string; text: string; values: unknown[] },
): Promise<ClaimResult> {
  const { rows } = await executor.query<ClaimRow>(statement);
  const candidates = new Map(
    rows.map((row) => [row.endpoint_id, { endpointId: row.endpoint_id, standing: row.standing, room: row.room }]),
  );
  const deliveryRows = rows.filter(isFound);
  await addContents(
    executor,
    deliveryRows.filter(({ payload }) => payload === null),
  );
  return {
    claimed: deliveryRows.filter(hasContent).map(claimedOf),
    candidates: [...candidates.values()],
    hasPeers: rows[0]?.has_peers,
  };
}

type FoundRow = Extract<ClaimRow, DeliveryRow>;
export type WholeRow = Extract<FoundRow, Content>;
const isFound = (row: ClaimRow): row is FoundRow => row.delivery_id !== null;
const hasContent = (row: FoundRow): row is WholeRow => row.payload !== null;

/** Adds the contents of older deliveries, which the claim statement does not read. */
async function addContents(executor: Executor, rows: readonly FoundRow[]): Promise<void> {
  if (rows.length === 0) return;
  const read = await executor.query<Content & { delivery_id: string }>({
    name: 'read_older_contents',
    text: contentStatement,
    values: [rows.map(({ day }) => day), rows.map(({ delivery_id }) => delivery_id)],
  });
  const contents = new Map(read.rows.map((content) => [content.delivery_id, content]));
  for (const row of rows) Object.assign(row, contents.get(row.delivery_id));
}

export const claimedOf = (row: WholeRow): Claimed => ({
  deliveryId: row.delivery_id,
  day: row.day,
  generation: row.generation,
  publisherId: row.publisher_id,
  endpointId: row.endpoint_id,
  event: row.event,
  dev: row.dev,
  payload: row.payload,
  traceparent: row.traceparent,
  attempts: row.attempts,
  lagMs: row.lag_ms,
  url: row.url,
  method: row.method,
  headers: row.headers,
  secrets: { current: row.secret_sealed, previous: row.previous_secret_sealed },
  v1aKeys: [row.v1a_key_sealed, row.previous_v1a_key_sealed].filter((key) => key !== null),
  deadlineMs: row.deadline_ms,
  steps: row.retry_steps_s,
  transformation: row.transformation,
  transformationFailing: row.transformation_failing,
  strictOrder: row.strict_order,
  maxInFlight: row.max_in_flight,
  perS: row.per_s,
  standing: row.standing,
  healthy: row.healthy,
});
