import { Gauge, type Registry } from 'prom-client';
import type { CatalogStore } from './store.ts';

/** Gauges of the snapshot that this process serves; of several on one port, the most outdated one's. */
export function registerCatalogMetrics(
  registry: Registry,
  { current, confirmedAtMs }: Pick<CatalogStore, 'current' | 'confirmedAtMs'>,
  now: () => number,
): void {
  const registers = [registry];
  new Gauge({
    name: 'perkwire_catalog_version',
    help: 'Version of the catalogue that is served; it grows with every change.',
    registers,
    aggregator: 'min',
    collect() {
      this.set(current().version);
    },
  });
  new Gauge({
    name: 'perkwire_catalog_snapshot_age_seconds',
    help: 'Time since the snapshot that is served was last known to be the newest.',
    registers,
    aggregator: 'max',
    collect() {
      this.set(Math.max(0, now() - confirmedAtMs()) / 1000);
    },
  });
  new Gauge({
    name: 'perkwire_catalog_offers',
    help: 'Offers in the snapshot, paused and recently removed ones included.',
    registers,
    aggregator: 'min',
    collect() {
      this.set(current().offers.size);
    },
  });
}
