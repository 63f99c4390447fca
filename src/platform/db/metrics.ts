import type pg from 'pg';
import { Gauge, type Registry } from 'prom-client';

type Pools = Record<'requests' | 'batches', pg.Pool>;

/** Registers gauges of this process's connections and of its view of the database. */
export function registerDatabaseMetrics(
  registry: Registry,
  pools: Pools,
  { isUp, clockSkewMs }: { isUp: () => boolean; clockSkewMs: () => number },
): void {
  const registers = [registry];
  const poolEntries = Object.entries(pools);
  new Gauge({
    name: 'perkwire_database_up',
    help: 'Whether this process holds the database for able to commit; while it is 0, requests get 503.',
    registers,
    aggregator: 'min',
    collect() {
      this.set(isUp() ? 1 : 0);
    },
  });
  new Gauge({
    name: 'perkwire_database_clock_skew_seconds',
    help: 'By how much the clock of this machine is off that of the database, at least.',
    registers,
    aggregator: 'max',
    collect() {
      this.set(clockSkewMs() / 1000);
    },
  });
  new Gauge({
    name: 'perkwire_database_connections',
    help: 'Open connections, by pool and by whether they are in use.',
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
    help: 'Connections that a pool opens at most.',
    labelNames: ['pool'],
    registers,
    collect() {
      for (const [name, pool] of poolEntries) this.set({ pool: name }, pool.options.max);
    },
  });
  new Gauge({
    name: 'perkwire_database_waiting',
    help: 'Statements that wait for a free connection.',
    labelNames: ['pool'],
    registers,
    collect() {
      for (const [name, pool] of poolEntries) this.set({ pool: name }, pool.waitingCount);
    },
  });
}
