import type { Job, Stoppable } from '../../src/platform/jobs.ts';
import { jobsOf, runJobs } from '../../src/runtime/run-jobs.ts';
import type { TestBase } from './test-modules.ts';

type Target = Pick<TestBase, 'deps' | 'contributions'>;

/**
 * Pause between runs of a named job, in milliseconds. It replaces a pause of one second, because tests wait for the
 * job.
 */
const shortPauseMs = 50;

/** Starts background jobs by name, with short pauses. Without names, starts all jobs of the role `worker`. */
export function startTestJobs({ deps, contributions }: Target, ...names: string[]): Promise<Stoppable> {
  const all = jobsOf(contributions, deps);
  const selectedJobs = all.filter(({ name, roles }) =>
    names.length === 0 ? roles.includes('worker') : names.includes(name),
  );
  if (selectedJobs.length < Math.max(1, names.length)) throw new Error(`there is no job ${names.join(' or ')}`);
  return runJobs(names.length === 0 ? selectedJobs : selectedJobs.map(withShortPause), deps);
}

const shorten = (pauseMs: number): number => (pauseMs <= 1000 ? Math.min(pauseMs, shortPauseMs) : pauseMs);

function withShortPause(job: Job): Job {
  if ('start' in job) return job;
  return {
    ...job,
    run: async (isStopped) => {
      const pauseMs = await job.run(isStopped);
      return shorten(typeof pauseMs === 'number' ? pauseMs : job.pauseMs);
    },
  };
}
