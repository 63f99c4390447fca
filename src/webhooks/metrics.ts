import type pg from 'pg';
import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import { registerGauge } from '../platform/metrics/gauges.ts';
import { openStatesSql, reconcileDeliveries } from './deliveries/reconciliation.ts';
import { mayBeCalled } from './dispatcher/claim/claim.ts';
import type { Meter } from './dispatcher/meter.ts';

export type DispatcherMetrics = {
  meter: Meter;
  /**
   * Sets the function that provides the value of the in-flight gauge.
   * @param read returns the number of webhook calls in flight in this process
   */
  watchInFlight: (read: () => number) => void;
};

const lagBucketsS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 15, 60, 300, 1800];

/** Registers the metrics of the dispatcher in this process. Without the role `worker`, they stay 0. */
export function createDispatcherMetrics(registry: Registry): DispatcherMetrics {
  const registers = [registry];
  const lag = new Histogram({
    name: 'perkwire_webhook_lag_seconds',
    help: 'Delay in seconds from the due time of a webhook call to its start.',
    buckets: lagBucketsS,
    registers,
  });
  const attempts = new Counter({
    name: 'perkwire_webhook_attempts_total',
    help: 'Number of finished webhook attempts, by outcome. `blocked`: the address is not allowed.',
    labelNames: ['outcome'],
    registers,
  });
  const lost = new Counter({
    name: 'perkwire_webhook_leases_lost_total',
    help: 'Number of webhook calls whose lease was lost before they finished.',
    registers,
  });
  const opened = new Counter({
    name: 'perkwire_webhook_breakers_opened_total',
    help: 'Number of times that a circuit breaker of an endpoint opened.',
    registers,
  });
  let inFlight = (): number => 0;
  new Gauge({
    name: 'perkwire_webhook_calls_in_flight',
    help: 'Number of webhook calls in flight in this process.',
    registers,
    collect() {
      this.set(inFlight());
    },
  });
  return {
    meter: {
      started: (lagMs) => lag.observe(Math.max(0, lagMs) / 1000),
      attempted: (outcome) => attempts.inc({ outcome }),
      leaseLost: () => lost.inc(),
      breakerOpened: () => opened.inc(),
    },
    watchInFlight: (read) => {
      inFlight = read;
    },
  };
}

const maxAgeMs = 15_000;
const reconciliationMaxAgeMs = 300_000;
/** Number of past days for which deliveries are reconciled. */
const reconciledDays = 2;

const endpointStates = `
  select unnest(array[
    case when e.paused_at is not null then 'paused' end,
    case when not e.enabled then 'disabled' end,
    case when h.warned_at is not null then 'failing' end]) as state
  from webhook_endpoints e join endpoint_health h on h.endpoint_id = e.id
  where e.deleted_at is null`;

/**
 * Counts pending deliveries in the queue. Redeliveries are usually few, so they are counted with the index on queue
 * lanes.
 */
const waitingSql = `
  select state, count::float8 from (${openStatesSql}) counts
  cross join lateral (select count(*) as redeliveries from delivery_queue where lane = 'redelivery') queue
  cross join lateral (
    values ('live', greatest(0, pending - redeliveries)), ('replay', redeliveries)
  ) as by (state, count)`;

const inTroubleSql = `
  select state, count::float8 from (${openStatesSql}) counts
  cross join lateral (values ('failed', failed), ('held', held)) as by (state, count)`;

/** Uses one index lookup per endpoint, so that its cost does not depend on the queue length. */
const overdueSql = `
  select coalesce(max(extract(epoch from now() - oldest.due_at)), 0)::float8 as overdue_s
  from webhook_endpoints e join endpoint_health h on h.endpoint_id = e.id
  cross join lateral (
    select due_at from delivery_queue q
    where q.lane = 'live' and q.endpoint_id = e.id and q.due_at <= now() and q.lease_until is null
    order by q.due_at limit 1
  ) oldest
  where e.deleted_at is null and ${mayBeCalled}`;

/**
 * Registers gauges for the queue, failed and held deliveries, circuit breakers, and endpoints. Their values are read
 * from the database and are therefore the same in every process.
 */
export function registerWebhookGauges(registry: Registry, pool: pg.Pool, now: () => number): void {
  const byState =
    (text: string, values: unknown[] = []) =>
    async () => {
      const { rows } = await pool.query<{ state: string; count: number }>(text, values);
      return rows.map(({ state, count }) => ({ label: state, value: count }));
    };
  /** Counts the rows of `from` by state. A state without rows has the value 0 instead of being omitted. */
  const counted = (states: readonly string[], from: string) =>
    byState(
      `select state, count(found)::int as count
      from unnest($1::text[]) as state left join (${from}) found using (state) group by 1`,
      [states],
    );
  const gauges = [
    {
      name: 'perkwire_webhook_queue',
      help: 'Number of queued deliveries, by lane.',
      labelName: 'lane',
      // Label values for lanes match the lane names in the redelivery routes.
      read: byState(waitingSql),
    },
    {
      name: 'perkwire_webhook_deliveries_in_trouble',
      help: 'Number of deliveries that failed, or that are held for disabled endpoints.',
      labelName: 'status',
      read: byState(inTroubleSql),
    },
    {
      name: 'perkwire_webhook_breakers',
      help: 'Number of endpoints, by state of the circuit breaker.',
      labelName: 'state',
      read: counted(['closed', 'open'], 'select breaker_state as state from endpoint_health'),
    },
    {
      name: 'perkwire_webhook_endpoints',
      help: 'Number of endpoints that are paused, disabled, or failing for a day.',
      labelName: 'state',
      read: counted(['paused', 'disabled', 'failing'], endpointStates),
    },
  ];
  for (const gauge of gauges) registerGauge(registry, { ...gauge, maxAgeMs, now });
  registerGauge(registry, {
    name: 'perkwire_webhook_overdue_seconds',
    help: 'Time in seconds for which the oldest deliverable webhook has been overdue. 0 if none is overdue.',
    read: async () => {
      const { rows } = await pool.query<{ overdue_s: number }>(overdueSql);
      return rows.map(({ overdue_s }) => ({ value: overdue_s }));
    },
    maxAgeMs,
    now,
  });
  registerGauge(registry, {
    name: 'perkwire_webhook_unbalanced',
    help: [
      'Number of deliveries of the last two days that are missing from all states (delivered, failed, held, queued),',
      'queued twice, or counted incorrectly. Must be 0.',
    ].join(' '),
    read: async () => {
      const { lost, stray, miscounted } = await reconcileDeliveries(pool, { days: reconciledDays, nowMs: now() });
      return [{ value: lost + stray + miscounted }];
    },
    maxAgeMs: reconciliationMaxAgeMs,
    now,
  });
}
