import { type Call, exitCodes, type Run, textOption, usageError } from '../../command-line/command.ts';
import { counted } from '../../command-line/counted.ts';
import { inDatabase } from '../../command-line/open-database.ts';
import { parseDataFiles, type StorageSetting } from '../../config/storage.ts';
import type { Connection } from '../../platform/db/pool.ts';
import { isDay } from '../../platform/http/day-range.ts';
import { dayMs, dayOf } from '../../platform/lib/time.ts';
import { compactDataFiles } from '../compact.ts';
import { findWithdrawnPublishers, lockExports, noteFailure } from '../export/run.ts';
import { exportInThread } from '../export/start-thread.ts';
import { readExportState } from '../status.ts';
import { createStorage, type Storage } from '../storage.ts';
import { verifyDataFiles } from '../verify.ts';

/**
 * Opens the storage that is configured in the environment.
 * @throws CommandError
 */
const storageOf = (call: Call): Storage => createStorage(settingOf(call));

/**
 * Reads the configured storage from the environment.
 * @throws CommandError
 */
function settingOf({ env }: Call): StorageSetting {
  const problems: string[] = [];
  const { DATA_FILES_URL = '', S3_ACCESS_KEY_ID = '', S3_SECRET_ACCESS_KEY = '' } = env;
  const setting = parseDataFiles({ DATA_FILES_URL, S3_ACCESS_KEY_ID, S3_SECRET_ACCESS_KEY }, problems);
  if (setting === null || problems.length > 0) throw usageError(problems[0] ?? 'DATA_FILES_URL is not set.');
  return setting;
}

const withDatabase = <T>(call: Call, work: (client: Connection, databaseUrl: string) => Promise<T>): Promise<T> =>
  inDatabase(call, { name: 'perkwire-data', work });

export const showStatus: Run = async (call) => {
  const { out } = call;
  const state = await withDatabase(call, (client) => readExportState(client, Date.now()));
  const { exportedUntil, lagMs, isBehind, failure, runs } = state;
  out.data({
    exported_until: exportedUntil,
    lag_seconds: lagMs === null ? null : Math.round(lagMs / 1000),
    behind: isBehind,
    failed_at: failure?.at ?? null,
    error: failure?.error ?? null,
    last_run: runs.find(({ confirmedAt }) => confirmedAt !== null)?.id ?? null,
  });
  out.line(exportedUntil === null ? 'No data exported yet.' : `Exported until ${exportedUntil.toISOString()}.`);
  if (isBehind) out.line('The export is behind.');
  if (failure !== null) out.line(`The last attempt failed at ${failure.at.toISOString()}: ${failure.error}`);
  return isBehind || failure !== null ? exitCodes.problem : exitCodes.ok;
};

export const exportNow: Run = async (call) => {
  const setting = settingOf(call);
  const { state, run, rows } = await withDatabase(call, async (client, databaseUrl) => {
    const input = { databaseUrl, setting, atOnce: true };
    return exportInThread(input, () => call.signal.aborted).catch(async (err: Error) => {
      await noteFailure(client, err);
      throw err;
    });
  });
  call.out.data({ state, run: run ?? null, rows: rows ?? null });
  call.out.line(
    state === 'exported' ? `Run ${run}: ${counted(rows ?? 0, 'row')} exported.` : `Not exported: ${state}.`,
  );
  return state === 'exported' ? exitCodes.ok : exitCodes.problem;
};

export const verify: Run = async (call) => {
  const { args, out } = call;
  const [from = dayOf(Date.now() - 6 * dayMs), to = dayOf(Date.now()), ...rest] = args;
  if (rest.length > 0 || ![from, to].every(isDay)) throw usageError('Days must have the form 2026-11-21.');
  if (from > to) throw usageError('The first day must not be after the last.');
  const storage = storageOf(call);
  const { run, files, rows, differences } = await withDatabase(call, async (client) => {
    await lockExports(client);
    return verifyDataFiles(client, storage, { from, to });
  });
  out.data({ from, to, run, files, rows, differences });
  for (const { what, problem } of differences) out.line(`${what}\n  ${problem}`);
  const verdict = differences.length === 0 ? 'no differences' : 'differences found';
  out.line(`${from} to ${to}: ${counted(files, 'file')} and ${counted(rows, 'row')} compared, ${verdict}`);
  return differences.length === 0 ? exitCodes.ok : exitCodes.problem;
};

export const compact: Run = async (call) => {
  const before = textOption(call, 'before') || dayOf(Date.now() - dayMs);
  if (!isDay(before)) throw usageError('--before must have the form 2026-11-21.');
  const storage = storageOf(call);
  const result = await withDatabase(call, async (client) => {
    await lockExports(client);
    // A connection that broke has lost its lock.
    const checkLock = (): Promise<unknown> => client.query('select 1');
    const withdrawnPublishers = await findWithdrawnPublishers(client);
    return compactDataFiles(storage, { before, checkLock, withdrawnPublishers }, call.out.progress);
  });
  call.out.progress('');
  const { partitions, before: filesBefore, after, erased, removed } = result;
  call.out.data({
    partitions,
    files_before: filesBefore,
    files_after: after,
    rows_erased: erased,
    files_removed: removed,
  });
  call.out.line(
    `${counted(partitions, 'partition')} rewritten (${filesBefore} → ${counted(after, 'file')}), ` +
      `users removed from ${counted(erased, 'row')}, ${counted(removed, 'file')} removed.`,
  );
  return exitCodes.ok;
};

export const restart: Run = async (call) => {
  const storage = storageOf(call);
  if ((await storage.list('_manifests/')).length > 0)
    throw usageError('DATA_FILES_URL already contains data files. Set an empty folder or prefix.');
  await withDatabase(call, async (client) => {
    await lockExports(client);
    await client.query('delete from data_file_runs');
  });
  call.out.data({ restarted: true });
  call.out.line('The next export starts with all stored rows.');
  return exitCodes.ok;
};
