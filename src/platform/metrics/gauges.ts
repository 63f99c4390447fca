import type pg from 'pg';
import { Gauge, type Registry } from 'prom-client';
import { type DeliveryReconciliation, reconcileDeliveries } from '../../webhooks/deliveries/reconciliation.ts';

/** How old what is shown may be (milliseconds): it takes a count, which a scrape must not cause more often. */
const stockAgeMs = 15_000;
const balanceAgeMs = 300_000;
/** The balance shown covers deliveries promised within this time. */
const balanceDays = 2;

type Stock = { state: string; count: number }[];

/**
 * Adds what is counted in the database when it is asked for: queue, held deliveries, breakers, warnings, balance. The
 * same in every process.
 */
export function registerGauges(registry: Registry, pool: pg.Pool, now: () => number): void {
  const registers = [registry];
  const gauge = (name: string, help: string, label: string, read: () => Promise<Stock>): void => {
    const cached = remember(read, stockAgeMs, now);
    new Gauge({
      name,
      help,
      labelNames: [label],
      registers,
      async collect() {
        this.reset();
        for (const { state, count } of (await cached()) ?? []) this.set({ [label]: state }, count);
      },
    });
  };
  /** Counts rows of `from` by state; states without any are 0, not absent. */
  const counted = (states: readonly string[], from: string) => async (): Promise<Stock> => {
    const { rows } = await pool.query<{ state: string; count: number }>(
      `select state, count(found)::int as count from unnest($1::text[]) as state left join (${from}) found using (state) group by 1`,
      [states],
    );
    return rows;
  };
  gauge(
    'perkwire_webhook_queue',
    'Deliveries waiting, by lane.',
    'lane',
    counted(['live', 'replay'], 'select lane as state from delivery_queue'),
  );
  gauge(
    'perkwire_webhook_deliveries_in_trouble',
    'Deliveries that failed or are held for disabled endpoints.',
    'status',
    counted(['failed', 'held'], 'select status as state from deliveries where in_trouble'),
  );
  gauge(
    'perkwire_webhook_breakers',
    'Endpoints by the state of their breaker.',
    'state',
    counted(['closed', 'open'], 'select breaker_state as state from endpoint_health'),
  );
  gauge(
    'perkwire_webhook_endpoints',
    'Endpoints that are paused, disabled, or have failed for a day.',
    'state',
    counted(
      ['paused', 'disabled', 'failing'],
      `select unnest(array[case when e.paused_at is not null then 'paused' end, case when not e.enabled then 'disabled' end,
        case when h.warned_at is not null then 'failing' end]) as state
      from webhook_endpoints e join endpoint_health h on h.endpoint_id = e.id where e.deleted_at is null`,
    ),
  );
  addBalance(registry, pool, now);
}

function addBalance(registry: Registry, pool: pg.Pool, now: () => number): void {
  const cached = remember(() => reconcileDeliveries(pool, { days: balanceDays, nowMs: now() }), balanceAgeMs, now);
  new Gauge({
    name: 'perkwire_webhook_unbalanced',
    help: 'Deliveries of the last two days that are neither delivered, failed, held nor queued, queued twice over, or miscounted. Must be 0.',
    registers: [registry],
    async collect() {
      const balance: DeliveryReconciliation | null = await cached();
      this.reset();
      if (balance !== null) this.set(balance.lost + balance.stray + balance.miscounted);
    },
  });
}

/** Asks again when the answer is too old, one at a time. null: there is no answer, as while the store is away. */
function remember<Value>(read: () => Promise<Value>, maxAgeMs: number, now: () => number): () => Promise<Value | null> {
  let value: Promise<Value | null> | null = null;
  let atMs = 0;
  return () => {
    if (value === null || now() - atMs > maxAgeMs) {
      atMs = now();
      value = read().catch(() => null);
    }
    return value;
  };
}
