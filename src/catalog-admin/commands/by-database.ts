import type pg from 'pg';
import { requireSchema } from '../../command-line/open-database.ts';
import type { Warning } from '../../management/resource.ts';
import { type Actor, operatorPermission, type Work } from '../../management/unit-of-work.ts';
import { findWritableUrl } from '../../platform/db/find-writable.ts';
import { migrate } from '../../platform/db/migrate.ts';
import { createPool, type Executor, readTransaction, transaction } from '../../platform/db/pool.ts';
import { AppError } from '../../platform/errors.ts';
import { problem } from '../../platform/problem.ts';
import type { ImageStore } from '../images/image-store.ts';
import { type Applied, applyCatalogue, previewApply } from '../resources/catalogue/apply.ts';
import { exportCatalogue, type Progress } from '../resources/catalogue/export.ts';
import { checkImages, importCatalogue } from '../resources/catalogue/import.ts';
import { parseCatalogue, parseForPublisher } from '../resources/catalogue/parse.ts';

/** Functions that read and write the catalogue directly in the database, for catalogues too large for an API call. */

const actor: Actor = {
  kind: 'system',
  id: 0,
  label: 'catalogue command',
  permissions: new Set([operatorPermission, 'configurations', 'offers/management']),
  expiresAtMs: null,
  ratePerS: null,
  restrictions: null,
  publisherId: null,
};

/** Error that is thrown to roll back a dry run. */
const undo = new Error('dry run');

export type CatalogueDatabase = {
  databaseUrl: string;
  store: ImageStore | null;
  progress: Progress;
  signal: AbortSignal;
};

/**
 * Runs `work` with its own connection pool, and closes the pool afterwards.
 * @param writes whether `work` writes to the database: if so, pending migrations are applied first; otherwise, they
 * must have been applied already
 */
async function withPool<T>(
  { databaseUrl, signal }: CatalogueDatabase,
  writes: boolean,
  work: (pool: pg.Pool) => Promise<T>,
): Promise<T> {
  const url = await findWritableUrl(databaseUrl);
  if (writes) await migrate(url, { signal });
  const pool = createPool({ url, size: 2, applicationName: 'perkwire-catalogue', onError: () => {}, signal });
  try {
    if (!writes) await requireSchema(pool, url);
    return await work(pool);
  } finally {
    await pool.end();
  }
}

/**
 * Exports a catalogue, passing each chunk of the file to `write`.
 * @param publisherId publisher to export, or null if there is only one publisher
 * @returns the publisher's ID
 */
export const exportByDatabase = (
  database: CatalogueDatabase,
  publisherId: number | null,
  write: (pieces: AsyncIterable<string>) => Promise<void>,
): Promise<number> =>
  withPool(database, false, async (pool) => {
    const { store, progress } = database;
    const id = await findPublisher(pool, publisherId);
    await readTransaction(pool, async (executor) => {
      const work: Work = { executor, actor, publisherId: id, nowMs: Date.now() };
      await write(exportCatalogue(work, store, progress));
    });
    return id;
  });

/**
 * Checks that a publisher exists and returns its ID.
 * @param id requested publisher, or null if there is only one publisher
 */
async function findPublisher(pool: pg.Pool, id: number | null): Promise<number> {
  const { rows } = await pool.query<{ id: number }>(
    'select id from publishers where $1::integer is null or id = $1 order by id limit 2',
    [id],
  );
  const [publisher, second] = rows;
  if (publisher === undefined) throw new Error('Publisher not found.');
  if (second !== undefined) throw new Error('There are several publishers: name one with --publisher ID.');
  return publisher.id;
}

type ImportOptions = {
  /** Publisher to import into, or null to create a new one. */
  publisherId: number | null;
  dryRun: boolean;
  /** File name to use in error messages. */
  name: string;
};

/** Import result. `publisherId` is null after a dry run into a new publisher. */
type ImportResult = { publisherId: number | null; warnings: readonly Warning[] };

/**
 * Imports a catalogue file.
 * @throws AppError with all problems in the file
 */
export const importByDatabase = (
  database: CatalogueDatabase,
  content: unknown,
  { publisherId, dryRun, name }: ImportOptions,
): Promise<ImportResult> =>
  withPool(database, !dryRun, async (pool) => {
    const { store, progress } = database;
    const nowMs = Date.now();
    const parsed = await parseCatalogue(content, { executor: pool, actor, publisherId: publisherId ?? 0, nowMs });
    if ('details' in parsed)
      throw new AppError('invalid_request', { message: problem('fileNotImported', { name }), details: parsed.details });
    await checkImages(parsed.catalogue, progress);
    const intoNew = publisherId === null;
    let warnings: readonly Warning[] = [];
    const writtenId = await transaction(pool, async (executor) => {
      const existing = await executor.query('select 1 from publishers where id = $1', [publisherId]);
      if (!intoNew && existing.rowCount === 0) throw new Error('Publisher not found.');
      const work: Work = { executor, actor, publisherId: publisherId ?? 0, nowMs };
      const result = await importCatalogue(work, parsed.catalogue, { store, intoNew, progress });
      warnings = result.warnings;
      if (dryRun) throw undo;
      return result.publisher_id;
    }).catch((err: unknown) => {
      if (err === undo) return null;
      throw err;
    });
    return { publisherId: writtenId, warnings };
  });

type ApplyOptions = {
  /** Publisher to apply the file to, or null if there is only one publisher. */
  publisherId: number | null;
  /** File name to use in error messages. */
  name: string;
  prune: boolean;
  /** Digest of the plan that the user confirmed, or null to apply any plan. */
  expected: string | null;
  dryRun: boolean;
};

/**
 * Applies a catalogue file.
 * @throws AppError with all problems in the file
 */
export const applyByDatabase = (
  database: CatalogueDatabase,
  content: unknown,
  { publisherId, name, prune, expected, dryRun }: ApplyOptions,
): Promise<Applied> =>
  withPool(database, !dryRun, async (pool) => {
    const { store, progress } = database;
    const id = await findPublisher(pool, publisherId);
    const workWith = (executor: Executor): Work => ({ executor, actor, publisherId: id, nowMs: Date.now() });
    const parsed = await parseForPublisher(content, workWith(pool));
    if ('details' in parsed)
      throw new AppError('invalid_request', { message: problem('fileNotApplied', { name }), details: parsed.details });
    const { catalogue } = parsed;
    await checkImages(catalogue, progress);
    if (dryRun) return readTransaction(pool, (executor) => previewApply(workWith(executor), catalogue, { prune }));
    const options = { store, prune, expected, progress };
    return transaction(pool, (executor) => applyCatalogue(workWith(executor), catalogue, options));
  });
