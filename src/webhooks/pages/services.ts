import type pg from 'pg';
import type { Config } from '../../config.ts';
import type { ManagementClient } from '../../management/page-client.ts';
import type { DatabaseHealth } from '../../platform/db/health.ts';
import type { SecretBox } from '../../platform/security/secret-box.ts';
import type { Shell } from '../../shell/layout.ts';
import type { EventTypes } from '../events.ts';
import type { Sender } from '../sender.ts';
import type { Transformer } from '../transformations/transform.ts';

/** Services that the webhook pages need. */
export type PageServices = Shell & { deps: PageDeps; management: ManagementClient };

/** Dependencies of the webhook pages. `events` contains the event types that publishers can subscribe to. */
type PageDeps = {
  pool: pg.Pool;
  dbHealth: DatabaseHealth;
  config: Config;
  secretBox: SecretBox;
  sender: Sender;
  transformer: Transformer;
  events: EventTypes;
  /** Returns the current time in epoch milliseconds. */
  now: () => number;
};
