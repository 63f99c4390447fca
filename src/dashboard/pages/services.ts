import type pg from 'pg';
import type { Snapshot } from '../../catalog/types.ts';
import type { Config } from '../../config.ts';
import type { ManagementClient } from '../../management/page-client.ts';
import type { DatabaseHealth } from '../../platform/db/health.ts';
import type { Replica } from '../../platform/db/replica.ts';
import type { Shell } from '../../shell/layout.ts';

type PageDeps = {
  pool: pg.Pool;
  replica: Replica | null;
  dbHealth: DatabaseHealth;
  catalog: { current: () => Snapshot };
  config: Config;
  now: () => number;
};

/** Services used by the dashboard's own pages. */
export type PageServices = Shell & { deps: PageDeps; management: ManagementClient };
