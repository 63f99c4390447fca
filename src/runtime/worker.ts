import { startErasureJob } from '../privacy/erasure-job.ts';
import { startRollupJob } from '../reports/rollup/job.ts';
import { startSending } from '../webhooks/message/sending.ts';
import { startRedeliveries } from '../webhooks/redelivery/runner.ts';
import type { Deps } from './create-deps.ts';
import { userData } from './user-data.ts';

/**
 * The role `worker`: sends what is in the outbox, runs redeliveries, keeps the reports up to date, and erases users on
 * request.
 */
export async function startWorker(deps: Deps, databaseUrl: string): Promise<{ stop: () => Promise<void> }> {
  const sending = await startSending(deps, databaseUrl);
  const redeliveries = startRedeliveries(deps);
  const folder = startRollupJob(deps);
  const eraser = startErasureJob({ ...deps, userData });
  return {
    stop: async () => {
      await Promise.all([sending.stop(), redeliveries.stop(), folder.stop(), eraser.stop()]);
    },
  };
}
