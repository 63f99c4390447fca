import type pg from 'pg';
import type { AccountDeps } from '../accounts/ports.ts';
import type { DatabaseHealth } from '../platform/db/health.ts';
import type { EndpointActivity } from './activity/activity.ts';
import type { DispatcherMetrics } from './metrics.ts';
import type { Sender } from './sender.ts';

/** What calls that ask the database take. `now`: epoch milliseconds. */
export type DatabaseDeps = { pool: pg.Pool; dbHealth: DatabaseHealth; now: () => number };

/** What the module is made of. */
export type WebhookDeps = AccountDeps & {
  /** Calls publishers' endpoints. */
  sender: Sender;
  /** Counts attempts for the charts of endpoints. */
  activity: EndpointActivity;
  dispatcherMetrics: DispatcherMetrics;
};
