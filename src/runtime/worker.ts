import { startErasureJob } from '../privacy/erasure-job.ts';
import { startRollupJob } from '../reports/rollup/job.ts';
import { startSending } from '../webhooks/message/sending.ts';
import { startReplays } from '../webhooks/redelivery/runner.ts';
import type { Deps } from './create-deps.ts';
import { userData } from './user-data.ts';

/**
 * The role `worker`: sends what is in the outbox, works off replays, keeps the reports up to date, and erases users on
 * request.
 */
export async function startWorker(deps: Deps, databaseUrl: string): Promise<{ stop: () => Promise<void> }> {
  const sending = await startSending(deps, databaseUrl);
  const replays = startReplays(deps);
  const folder = startRollupJob(deps);
  const eraser = startErasureJob({ ...deps, userData });
  return {
    stop: async () => {
      await Promise.all([sending.stop(), replays.stop(), folder.stop(), eraser.stop()]);
    },
  };
}
