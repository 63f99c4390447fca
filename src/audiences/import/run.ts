import { createReadStream, createWriteStream } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type pg from 'pg';
import type { Alone } from '../../management/alone.ts';
import type { ServerUrl } from '../../platform/db/servers.ts';
import { AppError } from '../../platform/errors.ts';
import { createFileCounter, type DryRunView, type FileWarning } from '../../platform/files/counter.ts';
import { type DelimitedFile, openDelimitedFile } from '../../platform/files/open.ts';
import type { FileOptions } from '../../platform/files/query.ts';
import { newUuid7 } from '../../platform/lib/uuid7.ts';
import type { UserKeys } from '../../platform/security/user-key.ts';
import { type Import, noteImport, startImport } from './imports.ts';
import { checkMembers, type ImportProgress, loadMembers } from './load.ts';
import { createMemberReader, memberFile } from './member-rows.ts';

/** Maximum file size in bytes, enough for 10 million hashes. */
export const maxImportBytes = 1024 ** 3;

export type ImportDeps = { pool: pg.Pool; url: ServerUrl; userKeys: UserKeys; now: () => number; alone: Alone };

type Target = { publisherId: number; audienceId: number };

/** Import result. `duplicates` is the number of rows whose user already appeared in an earlier row. */
export type ImportResult = Import & { duplicates: number; warnings: FileWarning[] };

/**
 * Imports members from a file, or only validates the file. The upload is received completely before it is parsed, and
 * parsing does not block other requests.
 * @throws AppError body_too_large; ambiguous_header, unknown_header; invalid_request if more than 1% of the rows are
 * invalid
 */
export async function importMembers(
  deps: ImportDeps,
  target: Target,
  body: Readable,
  options: FileOptions,
): Promise<{ imported: ImportResult } | { checked: DryRunView }> {
  const folder = await mkdtemp(join(tmpdir(), 'perkwire-import-'));
  try {
    const path = join(folder, 'members.csv');
    await pipeline(body, limited, createWriteStream(path, { mode: 0o600 }));
    return await deps.alone(target.publisherId, async () => {
      const stream = createReadStream(path, { highWaterMark: 256 * 1024 });
      try {
        const file = await openDelimitedFile(stream, memberFile, options);
        if (options.isDryRun) return { checked: await checkFile(deps, target, file) };
        return { imported: await importFile(deps, target, file, options.isPartial) };
      } finally {
        stream.destroy();
      }
    });
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

function createReader(deps: ImportDeps, { publisherId }: Target, { layout }: DelimitedFile, nowMs: number) {
  const counter = createFileCounter(layout);
  const reader = createMemberReader({ layout, counter, userKeys: deps.userKeys, publisherId, nowMs });
  return { counter, reader };
}

async function checkFile(deps: ImportDeps, target: Target, file: DelimitedFile): Promise<DryRunView> {
  const { counter, reader } = createReader(deps, target, file, deps.now());
  await checkMembers({ batches: file.batches, reader });
  return counter.view();
}

async function importFile(
  deps: ImportDeps,
  target: Target,
  file: DelimitedFile,
  isPartial: boolean,
): Promise<ImportResult> {
  const { pool, url, now } = deps;
  const { audienceId } = target;
  const startedMs = now();
  const id = newUuid7(startedMs);
  const { counter, reader } = createReader(deps, target, file, startedMs);
  const progress: ImportProgress = { state: 'reading', rows: 0, bad: 0, added: 0, errors: [] };
  await startImport(pool, id, audienceId, startedMs);
  const report = (state: ImportProgress['state']): Promise<void> => {
    Object.assign(progress, { state, rows: counter.rows(), bad: counter.bad(), errors: counter.errors() });
    return noteImport(pool, id, progress, now());
  };
  const checkRows = (): void => counter.requireFewBad(isPartial);
  try {
    progress.added = await loadMembers({ url, audienceId, batches: file.batches, reader, checkRows, report });
    await report('done');
  } catch (err) {
    await report('failed');
    throw err;
  }
  const { duplicates, warnings } = counter.view();
  return { ...progress, id, startedAt: new Date(startedMs), duplicates, warnings };
}
