import { expect, test } from 'vitest';
import { databaseUnavailable } from '../../src/platform/errors.ts';
import type { LoopJob } from '../../src/platform/jobs.ts';
import { createLogger } from '../../src/platform/logger.ts';
import { runJobs } from '../../src/runtime/run-jobs.ts';

const database = { up: true };
const deps = {
  logger: createLogger('silent'),
  jobMeter: { ran: () => {} },
  dbHealth: { isUp: () => database.up, sawFailure: () => {} },
};
const job = (run: LoopJob['run'], rest: Partial<LoopJob> = {}): LoopJob => ({
  name: 'test',
  roles: ['worker'],
  locks: 'nothing',
  pauseMs: 1,
  run,
  ...rest,
});

test('a job runs immediately, and a stop signals the run and waits for it', async () => {
  let ended = false;
  const jobs = await runJobs(
    [
      job(async (isStopped) => {
        while (!isStopped()) await new Promise((resolve) => setImmediate(resolve));
        ended = true;
      }),
    ],
    deps,
  );
  await jobs.stop();
  expect(ended).toBe(true);
});

test('a failed job is run again', async () => {
  let runs = 0;
  const jobs = await runJobs(
    [
      job(async () => {
        runs += 1;
        if (runs < 3) throw runs === 1 ? databaseUnavailable() : new Error('broken');
      }),
    ],
    deps,
  );
  await expect.poll(() => runs).toBeGreaterThan(3);
  await jobs.stop();
});

test('no job runs while the database is unavailable', async () => {
  database.up = false;
  let runs = 0;
  let stopped = false;
  const jobs = await runJobs(
    [
      job(
        async () => {
          runs += 1;
        },
        {
          onStop: async () => {
            stopped = true;
          },
        },
      ),
    ],
    deps,
  );
  expect(runs).toBe(0);
  database.up = true;
  await expect.poll(() => runs).toBeGreaterThan(0);
  await jobs.stop();
  expect(stopped).toBe(true);
});
