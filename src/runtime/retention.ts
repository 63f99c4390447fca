import { deleteOldAlerts } from '../alerts/inbox.ts';
import { applyCatalogRetention } from '../catalog/retention.ts';
import { applyOfferRetention } from '../offers/retention.ts';
import { applyPerksRetention } from '../perks/retention.ts';
import type { RetentionStep } from '../platform/db/retention.ts';
import type { PlatformDeps } from '../platform/ports.ts';
import { applyReportRetention } from '../reports/retention.ts';
import { applyTrackingRetention } from '../tracking/retention.ts';
import { applyWebhookRetention } from '../webhooks/retention.ts';

/** In this order: selections of dev sessions are found by these sessions. */
const steps: readonly { room: string; apply: RetentionStep }[] = [
  { room: 'tracking', apply: applyTrackingRetention },
  { room: 'perks', apply: applyPerksRetention },
  { room: 'offers', apply: applyOfferRetention },
  { room: 'reports', apply: applyReportRetention },
  { room: 'webhooks', apply: applyWebhookRetention },
  { room: 'alerts', apply: async (pool, _days, nowMs) => ({ alerts: await deleteOldAlerts(pool, nowMs) }) },
  { room: 'catalog', apply: applyCatalogRetention },
];

type RetentionDeps = Pick<PlatformDeps, 'pool' | 'config' | 'logger' | 'now'>;

/** Drops old rows: each room deletes what it keeps no longer. Any number of processes may do it. */
export async function applyRetention({ pool, config, logger, now }: RetentionDeps): Promise<void> {
  for (const { room, apply } of steps) {
    const deleted = await apply(pool, config, now());
    logger.debug({ room, deleted }, 'retention applied');
    if (deleted.discarded)
      logger.warn({ count: deleted.discarded }, 'queued deliveries were discarded at the end of their retention');
  }
}
