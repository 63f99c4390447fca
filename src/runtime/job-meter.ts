import type { Registry } from 'prom-client';
import { registerCounts } from '../platform/metrics/metrics.ts';

/** Records the duration and result of background job runs. */
export type JobMeter = { ran: (job: string, ms: number, failed: boolean) => void };

export function createJobMeter(registry: Registry): JobMeter {
  const runs = registerCounts(registry, {
    name: 'perkwire_job_runs_total',
    help: 'Number of background job runs, by result (ok or failed).',
    labelNames: ['name', 'result'],
  });
  const seconds = registerCounts(registry, {
    name: 'perkwire_job_duration_seconds_total',
    help: 'Duration of background job runs in seconds.',
    labelNames: ['name'],
  });
  return {
    ran: (job, ms, failed) => {
      runs(job, 'failed').value += failed ? 1 : 0;
      runs(job, 'ok').value += failed ? 0 : 1;
      seconds(job).value += ms / 1000;
    },
  };
}
