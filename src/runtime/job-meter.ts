import type { Registry } from 'prom-client';
import { registerCounts } from '../platform/metrics/metrics.ts';

/** Measures the runs of background jobs. */
export type JobMeter = { ran: (job: string, ms: number, failed: boolean) => void };

export function createJobMeter(registry: Registry): JobMeter {
  const runs = registerCounts(registry, {
    name: 'perkwire_job_runs_total',
    help: 'Runs of background jobs, by result: ok or failed.',
    labelNames: ['name', 'result'],
  });
  const seconds = registerCounts(registry, {
    name: 'perkwire_job_duration_seconds_total',
    help: 'Time that background jobs ran.',
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
