import { expect, test } from 'vitest';
import { sources } from './source.ts';

/** Files that may start periodic work, each with the reason. All other background work must be a module's job. */
const periodic: Record<string, string> = {
  'src/runtime/run-jobs.ts': 'runs the table of jobs',
  'src/catalog/store.ts': 'the catalogue poll is part of an open snapshot, without which no process serves',
  'src/catalog/snapshot/on-demand.ts': 'dropping idle publishers is part of an open snapshot, as is the poll',
  'src/platform/db/health.ts': 'its ticks measure the time that the process had; jobs wait for its state',
  'src/event-log/event-log.ts': 'its probe is part of an open event log: what answers beacons waits for it',
  'src/event-log/consumer.ts': 'the pause of the job "event log" in a partition without messages',
  'src/data-files/export/start-thread.ts': 'passes the stop of the job "data files" on to its thread',
  'src/webhooks/dispatcher/worker.ts': 'the poll of the job "webhook dispatcher"',
};

test('background work starts only from the job table', () => {
  const server = [...sources.values()].filter(
    ({ path }) => path.startsWith('src/') && !path.startsWith('src/browser/'),
  );
  const starts = server.flatMap(({ path, calls }) =>
    calls.filter(({ name }) => name === 'setInterval' || name === 'startLoop').map(({ line }) => ({ path, line })),
  );
  expect(
    starts
      .filter(({ path }) => periodic[path] === undefined)
      .map(({ path, line }) => `${path}:${line} starts periodic work: make it a job of its module.`),
  ).toEqual([]);
  expect([...new Set(starts.map(({ path }) => path))].sort()).toEqual(Object.keys(periodic).sort());
});
