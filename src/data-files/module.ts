import type { StorageSetting } from '../config.ts';
import { urlOf } from '../platform/db/servers.ts';
import type { App } from '../platform/http/app.ts';
import type { Job } from '../platform/jobs.ts';
import { minuteMs } from '../platform/lib/time.ts';
import type { Platform } from '../platform/module.ts';
import type { Shell } from '../shell/layout.ts';
import type { NavEntry } from '../shell/navigation.ts';
import { dataCommands } from './commands.ts';
import { applyDataFileRetention, recordErasures } from './erasures.ts';
import { dueRun, noteFailure } from './export/run.ts';
import { exportInThread } from './export/start-thread.ts';
import { registerDataFileMetrics } from './metrics.ts';
import { dataFilePages } from './page.ts';

type DataFilesDeps = { platform: Platform };

/** Creates the data-files module: hourly Parquet files of raw rows in a folder or a bucket. */
export function createDataFiles({ platform }: DataFilesDeps) {
  const { config, pool, metrics, dbHealth, logger, now } = platform.deps;
  const { dataFiles } = config;
  registerDataFileMetrics(metrics.registry, { pool, isEnabled: dataFiles !== null, now });
  const exporting = (setting: StorageSetting): Job => ({
    name: 'data files',
    roles: ['worker'],
    pauseMs: minuteMs,
    locks: 'a session lock: one process at a time; rows of data_file_runs',
    run: async (isStopped) => {
      try {
        // Most checks find nothing to do, so that no thread needs to start.
        if ((await dueRun(pool, false)) === null) return;
        const databaseUrl = urlOf(platform.databaseUrl);
        const { state, run, rows } = await exportInThread({ databaseUrl, setting }, isStopped);
        if (state === 'exported') logger.info({ run, rows }, 'data files exported');
      } catch (err) {
        const { name, message } = err as Error;
        if (name === 'StoppedError') return;
        await noteFailure(pool, operatorText(name, message));
        throw err;
      }
    },
  });
  return {
    name: 'data-files',
    rank: 245,
    commands: dataCommands,
    navigation,
    retention: applyDataFileRetention,
    userData: { eraseWithSessions: recordErasures },
    pages: (app: App, shell: Shell) => dataFilePages(app, { ...shell, deps: { pool, dbHealth, config, now } }),
    jobs: (): readonly Job[] => (dataFiles === null ? [] : [exporting(dataFiles)]),
  };
}

/** Returns the reason of a failure for operators. Errors of the database or of the program may contain anything. */
const operatorText = (name: string, message: string): string =>
  name === 'StorageError' || name === 'RestoredError' ? message : `The export failed: ${name}`;

const navigation: readonly NavEntry[] = [
  {
    group: 'operator',
    rank: 45,
    key: 'data-files',
    text: 'nav.dataFiles',
    words: 'navWords.dataFiles',
    path: '/operator/data-files',
    icon: 'reports',
    role: 'operator',
  },
];
