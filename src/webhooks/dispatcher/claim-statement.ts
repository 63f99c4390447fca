import { leaseGraceMs } from './lease.ts';

/*
 * $1 worker · $2 lane · $3 endpoint the last round ended with · $4 limit for endpoints in good standing · $5 for others
 * $6 limit of an endpoint of which nothing good is known · $7 endpoints with calls in flight here, $8 how many
 * $9 endpoints with a call that has been out for long · $10 endpoints with a rate limit, $11 how many calls each may start
 * $12 whether leases that have ended may be taken over
 *
 * `waiting` hops through the index from endpoint to endpoint, round and round from where the last claim ended, so the cost
 * follows the endpoints that have deliveries, not their backlog, and rows of an endpoint that may not be called are never read.
 *
 * `candidate` is what may be called now and how much of it. An endpoint's calls in flight are shared out among the workers by
 * number, so that all together keep to its limit without asking one another; one that has just come also counts the leases
 * there are, which are those of the oldest deliveries. What must be one at a time (strict order,
 * probes of an open breaker) or paced belongs to one worker.
 *
 * A replay goes out only where nothing live is due or in flight.
 *
 * `picked` takes the oldest due ones. Where order is strict it looks the first one up before locking it: skipping a locked
 * first one would break the order. The attempt is written with the claim: before the first byte goes out.
 */
export const claimStatement = `
  with recursive peer as materialized (
    select count(*) filter (where id < $1)::int as rank, greatest(count(*), 1)::int as workers from dispatcher_workers where not stopping
  ), waiting (endpoint_id, due_at, wrapped) as (
    select $3::int, null::timestamptz, false
    union all
    select next.* from waiting w cross join lateral (
      (select q.endpoint_id, q.due_at, w.wrapped from delivery_queue q
        where q.lane = $2 and q.endpoint_id > w.endpoint_id order by q.lane, q.endpoint_id, q.due_at limit 1)
      union all
      (select q.endpoint_id, q.due_at, true from delivery_queue q
        where q.lane = $2 and not w.wrapped order by q.lane, q.endpoint_id, q.due_at limit 1)
      limit 1
    ) next
    where not next.wrapped or next.endpoint_id <= $3
  ), standing as not materialized (
    select e.id, e.strict_order, e.max_in_flight, h.last_success_at is null as stranger,
      case when e.strict_order or h.breaker_state = 'open' then 1 else coalesce(h.in_flight_limit, e.max_in_flight)::int end as may_hold,
      e.strict_order or h.breaker_state = 'open' or e.rate_limit_per_s is not null or e.resume_rate_per_s is not null as one_worker,
      e.rate_limit_per_s is not null or e.resume_rate_per_s is not null as paced,
      h.breaker_state = 'closed' and h.in_flight_limit is null and h.last_success_at is not null and slow.id is null as trusted,
      coalesce(busy.count, 0) as busy, pace.count as pace
    from waiting w
    join webhook_endpoints e on e.id = w.endpoint_id
    join endpoint_health h on h.endpoint_id = e.id
    left join unnest($7::int[], $8::int[]) as busy (id, count) on busy.id = e.id
    left join unnest($9::int[]) as slow (id) on slow.id = e.id
    left join unnest($10::int[], $11::int[]) as pace (id, count) on pace.id = e.id
    where w.due_at <= now() and e.enabled and e.paused_at is null
      and (h.breaker_state = 'closed' or h.open_until <= now()) and (h.not_before is null or h.not_before <= now())
      and ($2 = 'live' or not exists (select from delivery_queue q where q.lane = 'live' and q.endpoint_id = e.id and q.due_at <= now()))
  ), candidate as not materialized (
    select s.id, s.strict_order, s.trusted, least(
      case when s.one_worker then case when own.turn = 0 then s.may_hold else 0 end
        else greatest(0, (s.may_hold - own.turn + peer.workers - 1) / peer.workers) end - s.busy,
      case when peer.workers > 1 then s.may_hold - (
        select count(*) from (
          select q.lease_until from delivery_queue q where q.lane = $2 and q.endpoint_id = s.id order by q.due_at limit 2 * s.may_hold
        ) oldest where oldest.lease_until > now()
      ) end,
      case when s.stranger then $6 - s.busy end,
      case when $2 = 'replay' then 1 - s.busy end,
      case when s.paced then coalesce(s.pace, 1) end
    ) as room
    from standing s cross join peer cross join lateral (
      select mod(peer.rank - mod(s.id, peer.workers) + peer.workers, peer.workers) as turn
    ) own
  ), picked as materialized (
    (select due.delivery_id, c.trusted from candidate c cross join lateral (
      select q.delivery_id from delivery_queue q
      where q.lane = $2 and q.endpoint_id = c.id and q.due_at <= now() and (q.lease_until is null or ($12 and q.lease_until < now()))
      order by q.due_at limit greatest(c.room, 0)
      for update skip locked
    ) due where c.trusted and not c.strict_order and c.room > 0 limit $4)
    union all
    (select due.delivery_id, c.trusted from candidate c cross join lateral (
      select q.delivery_id from delivery_queue q
      where q.lane = $2 and q.endpoint_id = c.id and q.due_at <= now() and (q.lease_until is null or ($12 and q.lease_until < now()))
      order by q.due_at limit greatest(c.room, 0)
      for update skip locked
    ) due where not c.trusted and not c.strict_order and c.room > 0 limit $5)
    union all
    (select due.delivery_id, c.trusted from candidate c cross join lateral (
      select q.delivery_id from delivery_queue q
      where q.delivery_id = (select f.delivery_id from delivery_queue f
          where f.lane = $2 and f.endpoint_id = c.id order by f.lane, f.endpoint_id, f.due_at, f.position limit 1)
        and (q.lease_until is null or ($12 and q.lease_until < now()))
      for update skip locked
    ) due where c.strict_order and c.room > 0 limit $5)
  ), claimed as (
    update delivery_queue q
    set generation = q.generation + 1, worker_id = $1, lease_until = now() + (e.deadline_ms + ${leaseGraceMs}) * interval '1 ms'
    from picked p, webhook_endpoints e
    where q.delivery_id = p.delivery_id and e.id = q.endpoint_id
    returning q.delivery_id, q.day, q.generation, q.tries, q.due_at, p.trusted, e.id as endpoint_id
  ), started as (
    insert into delivery_attempts (day, delivery_id, generation, publisher_id, endpoint_id)
    select c.day, c.delivery_id, c.generation, e.publisher_id, e.id from claimed c join webhook_endpoints e on e.id = c.endpoint_id
  )
  select c.delivery_id, c.day::text as day, c.generation, c.tries, c.trusted, c.endpoint_id,
    extract(epoch from clock_timestamp() - c.due_at)::float8 * 1000 as lag_ms,
    e.publisher_id, e.url, e.method, e.headers, e.deadline_ms, e.retry_steps_s, e.strict_order, e.max_in_flight,
    least(e.rate_limit_per_s, e.resume_rate_per_s) as per_s,
    h.breaker_state = 'closed' and h.in_flight_limit is null and h.failures = 0 and h.last_success_at > now() - interval '1 min' is true as sound,
    e.secret_sealed, case when e.signature_v1a then e.v1a_key_sealed end as v1a_key_sealed,
    case when e.previous_secret_until > now() then e.previous_secret_sealed end as previous_secret_sealed,
    case when e.signature_v1a and e.previous_secret_until > now() then e.previous_v1a_key_sealed end as previous_v1a_key_sealed,
    d.event, d.dev, d.payload
  from claimed c join webhook_endpoints e on e.id = c.endpoint_id join endpoint_health h on h.endpoint_id = e.id
  cross join lateral (select event, dev, payload from deliveries d where d.day = c.day and d.id = c.delivery_id limit 1) d`;
