import type { Stoppable } from '../../src/platform/jobs.ts';
import { jobsOf, runJobs } from '../../src/runtime/run-jobs.ts';
import type { TestApp } from './test-app.ts';

type Target = Pick<TestApp, 'deps' | 'contributions'>;

/** Starts background jobs by name; without names, all of the role `worker`. */
export function startTestJobs({ deps, contributions }: Target, ...names: string[]): Promise<Stoppable> {
  const all = jobsOf(contributions, deps);
  const chosen = all.filter(({ name, roles }) =>
    names.length === 0 ? roles.includes('worker') : names.includes(name),
  );
  if (chosen.length < Math.max(1, names.length)) throw new Error(`there is no job ${names.join(' or ')}`);
  return runJobs(chosen, deps);
}
