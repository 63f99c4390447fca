import { createWriteStream } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type pg from 'pg';
import type { Alone } from '../../management/alone.ts';
import type { ServerUrl } from '../../platform/db/servers.ts';
import { AppError } from '../../platform/errors.ts';
import { newUuid7 } from '../../platform/lib/uuid7.ts';
import type { UserKeys } from '../../platform/security/user-key.ts';
import { createRowReader } from './csv.ts';
import { type Import, noteImport, startImport } from './imports.ts';
import { type ImportProgress, loadMembers } from './load.ts';

/** A file may hold this much (bytes): 10 million hashes. */
export const maxImportBytes = 1024 ** 3;

export type ImportDeps = { pool: pg.Pool; url: ServerUrl; userKeys: UserKeys; now: () => number; alone: Alone };

type Target = { publisherId: number; audienceId: number };

/**
 * Imports members from a file. It is received as a whole first, then read beside requests.
 * @throws AppError body_too_large; invalid_request: no row can be read
 */
export async function importMembers(deps: ImportDeps, target: Target, body: Readable): Promise<Import> {
  const folder = await mkdtemp(join(tmpdir(), 'perkwire-import-'));
  try {
    const file = join(folder, 'members.csv');
    await pipeline(body, limited, createWriteStream(file, { mode: 0o600 }));
    return await deps.alone(target.publisherId, () => importFile(deps, target, file));
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function* limited(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer, void> {
  let bytes = 0;
  for await (const chunk of chunks) {
    bytes += chunk.length;
    if (bytes > maxImportBytes) throw new AppError('body_too_large');
    yield chunk;
  }
}

async function importFile(
  { pool, url, userKeys, now }: ImportDeps,
  { publisherId, audienceId }: Target,
  file: string,
): Promise<Import> {
  const startedMs = now();
  const id = newUuid7(startedMs);
  const progress: ImportProgress = { state: 'reading', rows: 0, bad: 0, added: 0, errors: [] };
  await startImport(pool, id, audienceId, startedMs);
  const report = (): Promise<void> => noteImport(pool, id, progress, now());
  const readRow = createRowReader({ userKeys, publisherId, nowMs: startedMs });
  try {
    await loadMembers({ url, audienceId, file, readRow, progress, report });
    progress.state = progress.rows > 0 && progress.rows === progress.bad ? 'failed' : 'done';
  } catch (err) {
    progress.state = 'failed';
    throw err;
  } finally {
    await report();
  }
  if (progress.state === 'failed')
    throw new AppError('invalid_request', {
      message: `None of the ${progress.rows} rows can be read.`,
      details: progress.errors.map(({ line, message }) => ({ path: `/lines/${line}`, message })),
    });
  return { ...progress, id, startedAt: new Date(startedMs) };
}
