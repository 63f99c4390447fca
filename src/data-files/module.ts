import type { Alerts } from '../alerts/module.ts';
import type { Catalog } from '../catalog/module.ts';
import type { StorageSetting } from '../config.ts';
import type { RetentionStep } from '../platform/db/retention.ts';
import { urlOf } from '../platform/db/servers.ts';
import type { App } from '../platform/http/app.ts';
import type { Job } from '../platform/jobs.ts';
import { dayMs, minuteMs } from '../platform/lib/time.ts';
import type { Platform } from '../platform/module.ts';
import type { EraseOfUser, EraseWithSessions } from '../platform/user-data.ts';
import type { Shell } from '../shell/layout.ts';
import type { NavEntry } from '../shell/navigation.ts';
import { dataCommands } from './commands.ts';
import { dueRun, noteFailure } from './export/run.ts';
import { exportInThread } from './export/start-thread.ts';
import { dataFilePages } from './page.ts';
import { dataFileCheck, registerDataFileMetrics } from './status.ts';

type DataFilesDeps = { platform: Platform; catalog: Catalog; alerts: Alerts };

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
        // Check first, because usually no run is due and no thread needs to start.
        if ((await dueRun(pool, false)) === null) return;
        const databaseUrl = urlOf(platform.databaseUrl);
        const { state, run, rows } = await exportInThread({ databaseUrl, setting, atOnce: false }, isStopped);
        if (state === 'exported') logger.info({ run, rows }, 'data files exported');
      } catch (err) {
        await noteFailure(pool, err as Error);
        if ((err as Error).name !== 'StoppedError') throw err;
      }
    },
  });
  return {
    name: 'data-files',
    rank: 245,
    commands: dataCommands,
    navigation,
    alertChecks: [dataFileCheck(dataFiles !== null)],
    retention: applyDataFileRetention,
    userData: { eraseWithSessions: recordErasures, eraseOfUser: [recordErasedUser] },
    pages: (app: App, shell: Shell) => dataFilePages(app, { ...shell, deps: { pool, dbHealth, config, now } }),
    jobs: (): readonly Job[] => (dataFiles === null ? [] : [exporting(dataFiles)]),
  };
}

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

/**
 * Records erased sessions in the transaction that erases them, so that tombstones of all exported sessions follow.
 * The second sweep passes sessions of the first one again. Without data files, nothing is recorded.
 */
const recordErasures: EraseWithSessions = async (executor, sessions, { subject, until }) => {
  await executor.query(
    `insert into data_file_erasures (day, session_id, publisher_id, user_key, erased_at)
    select day, session_id, $1, user_key, $2
    from unnest($3::date[], $4::uuid[], $5::uuid[]) as erased (day, session_id, user_key)
    where exists (select from data_file_runs)
    on conflict do nothing`,
    [
      subject.publisherId,
      until,
      sessions.map(({ day }) => day),
      sessions.map(({ id }) => id),
      sessions.map(({ userKey }) => userKey),
    ],
  );
  return {};
};

/**
 * Records an erased user. Data files outlive the sessions in the database, and sessions that only the files have are
 * found by the user's key, or by the plain ID.
 */
const recordErasedUser: EraseOfUser = async (pool, { subject, until, isSecond }) => {
  if (!isSecond) return;
  await pool.query(
    `insert into data_file_erasures (day, publisher_id, user_key, erased_at, user_id)
    select ($2::timestamptz at time zone 'UTC')::date, $1, user_key, $2,
      case when exists (select from data_file_plain_publishers where publisher_id = $1) then $4::text end
    from unnest($3::uuid[]) as erased (user_key)
    where exists (select from data_file_runs)
    on conflict do nothing`,
    [subject.publisherId, until, subject.userKeys, subject.namedBy === 'pub_user_id' ? subject.identifier : null],
  );
};

/* Tombstones that are in the files. Their users would connect the sessions that were just erased. */
const unlinkSql = `
update data_file_erasures e set user_key = null, user_id = null
from (
  select until_xid, open_xids from data_file_runs where confirmed_at is not null order by id desc limit 1
) as run
where e.user_key is not null and e.written_by < run.until_xid and e.written_by <> all (run.open_xids)`;

/**
 * Removes users from exported tombstones. Deletes tombstones after RETENTION_RAW_DAYS, and runs after
 * RETENTION_ROLLUP_DAYS, except the latest ones.
 */
const applyDataFileRetention: RetentionStep = async (pool, { retentionRawDays, retentionRollupDays }, nowMs) => {
  const before = (days: number): Date => new Date(nowMs - days * dayMs);
  await pool.query(unlinkSql);
  const { rowCount: erasures } = await pool.query('delete from data_file_erasures where erased_at < $1', [
    before(retentionRawDays),
  ]);
  const { rowCount: runs } = await pool.query(
    'delete from data_file_runs where planned_at < $1 and id < (select max(id) - 1 from data_file_runs)',
    [before(retentionRollupDays)],
  );
  return { tombstones: erasures ?? 0, runs: runs ?? 0 };
};
