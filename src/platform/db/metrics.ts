import type pg from 'pg';
import { Gauge, type Registry } from 'prom-client';

type Pools = Record<'requests' | 'batches', pg.Pool>;

/** Registers gauges of this process's database connections and of its database health. */
export function registerDatabaseMetrics(
  registry: Registry,
  pools: Pools,
  { isUp, clockSkewMs }: { isUp: () => boolean; clockSkewMs: () => number },
): void {
  const registers = [registry];
  const poolEntries = Object.entries(pools);
  new Gauge({
    name: 'perkwire_database_up',
    help: 'Whether the database can commit, as seen by this process (1 or 0). Requests get 503 while it is 0.',
    registers,
    aggregator: 'min',
    collect() {
      this.set(isUp() ? 1 : 0);
    },
  });
  new Gauge({
    name: 'perkwire_database_clock_skew_seconds',
    help: 'Minimum difference in seconds between the clocks of this host and the database.',
    registers,
    aggregator: 'max',
    collect() {
      this.set(clockSkewMs() / 1000);
    },
  });
  new Gauge({
    name: 'perkwire_database_connections',
    help: 'Number of open database connections, by pool and state.',
    labelNames: ['pool', 'state'],
    registers,
    collect() {
      for (const [name, pool] of poolEntries) {
        this.set({ pool: name, state: 'idle' }, pool.idleCount);
        this.set({ pool: name, state: 'busy' }, pool.totalCount - pool.idleCount);
      }
    },
  });
  new Gauge({
    name: 'perkwire_database_connections_limit',
    help: 'Maximum number of database connections of a pool.',
    labelNames: ['pool'],
    registers,
    collect() {
      for (const [name, pool] of poolEntries) this.set({ pool: name }, pool.options.max);
    },
  });
  new Gauge({
    name: 'perkwire_database_waiting',
    help: 'Number of statements that wait for a free database connection.',
    labelNames: ['pool'],
    registers,
    collect() {
      for (const [name, pool] of poolEntries) this.set({ pool: name }, pool.waitingCount);
    },
  });
}
