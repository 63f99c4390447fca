import { createWriteStream } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { parseArgs } from 'node:util';
import type pg from 'pg';
import { parseImageStore } from '../../../config/image-store.ts';
import { findWritableUrl } from '../../../platform/db/find-writable.ts';
import { migrate } from '../../../platform/db/migrate.ts';
import { createPool, transaction } from '../../../platform/db/pool.ts';
import { AppError } from '../../../platform/errors.ts';
import type { ImageStore } from '../../images/image-store.ts';
import { createImageStore } from '../../images/store.ts';
import { permissions } from '../../snapshot/types.ts';
import type { Actor, Work } from '../unit-of-work.ts';
import { exportCatalogue, type Progress } from './export.ts';
import { checkPictures, importCatalogue } from './import.ts';
import { parseCatalogue } from './parse.ts';

const usage = `Writes a publisher's catalogue to a JSON file, or reads one.

  npm run catalogue -- export FILE [--publisher ID]              the only publisher, where there is one
  npm run catalogue -- import FILE [--publisher ID] [--dry-run]
      into an empty publisher; without --publisher into a new one

Uses DATABASE_URL, and IMAGE_STORE as the server does.
`;

const actor: Actor = {
  kind: 'system',
  id: 0,
  label: 'catalogue command',
  permissions: new Set(permissions),
  expiresAtMs: null,
  ratePerS: null,
  publisherId: null,
};

/** Thrown to undo a dry run. */
const undo = new Error('dry run');

/** `npm run catalogue`, or in the image `node dist/catalog/management/catalogue/command.js`. */
async function main(): Promise<void> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { publisher: { type: 'string' }, 'dry-run': { type: 'boolean', default: false } },
  });
  const [action, file] = positionals;
  const databaseUrl = process.env.DATABASE_URL ?? '';
  if (
    (action !== 'export' && action !== 'import') ||
    file === undefined ||
    positionals.length > 2 ||
    databaseUrl === ''
  )
    throw new Error(usage);
  const publisher = values.publisher === undefined ? null : Number(values.publisher);
  if (publisher !== null && !(Number.isInteger(publisher) && publisher > 0 && publisher < 2 ** 31))
    throw new Error(usage);
  const url = await findWritableUrl(databaseUrl);
  await migrate(url);
  const pool = createPool({ url, size: 2, applicationName: 'perkwire-catalogue', onError: () => {} });
  try {
    const store = imageStore();
    if (action === 'export') await runExport(pool, store, file, publisher);
    else await runImport(pool, store, file, publisher, values['dry-run']);
  } finally {
    await pool.end();
  }
}

function imageStore(): ImageStore | null {
  const { IMAGE_STORE = '', S3_ACCESS_KEY_ID = '', S3_SECRET_ACCESS_KEY = '' } = process.env;
  const problems: string[] = [];
  const setting = parseImageStore(
    { store: IMAGE_STORE, accessKeyId: S3_ACCESS_KEY_ID, secretAccessKey: S3_SECRET_ACCESS_KEY },
    problems,
  );
  if (problems.length > 0) throw new Error(problems.join('\n'));
  return createImageStore(setting);
}

async function runExport(
  pool: pg.Pool,
  store: ImageStore | null,
  file: string,
  publisher: number | null,
): Promise<void> {
  const { rows } = await pool.query<{ id: number }>(
    'select id from publishers where $1::integer is null or id = $1 order by id limit 2',
    [publisher],
  );
  const [found, second] = rows;
  if (found === undefined) throw new Error('Publisher not found.');
  if (second !== undefined) throw new Error('There are several publishers: name one with --publisher ID.');
  await transaction(pool, async (executor) => {
    await executor.query('set transaction isolation level repeatable read, read only');
    const work: Work = { executor, actor, publisherId: found.id, nowMs: Date.now() };
    await pipeline(Readable.from(exportCatalogue(work, store, show)), createWriteStream(file));
  });
  say(`Wrote the catalogue of publisher ${found.id} to ${file}.`);
}

async function runImport(
  pool: pg.Pool,
  store: ImageStore | null,
  file: string,
  publisher: number | null,
  dryRun: boolean,
): Promise<void> {
  const content = parseJson(await readFile(file, 'utf8'));
  const nowMs = Date.now();
  const parsed = await parseCatalogue(content, { executor: pool, actor, publisherId: publisher ?? 0, nowMs });
  if ('details' in parsed)
    throw new AppError('invalid_request', { message: `${file} cannot be imported.`, details: parsed.details });
  await checkPictures(parsed.catalogue, show);
  const imported = await transaction(pool, async (executor) => {
    if (
      publisher !== null &&
      (await executor.query('select 1 from publishers where id = $1', [publisher])).rowCount === 0
    )
      throw new Error('Publisher not found.');
    const work: Work = { executor, actor, publisherId: publisher ?? 0, nowMs };
    const result = await importCatalogue(work, parsed.catalogue, {
      store,
      intoNew: publisher === null,
      progress: show,
    });
    if (dryRun) throw undo;
    return result;
  }).catch((err: unknown) => {
    if (err === undo) return null;
    throw err;
  });
  say(
    imported === null
      ? `${file} can be imported. Nothing was written.`
      : `Imported ${file} into publisher ${imported.publisher_id}.`,
  );
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (err) {
    throw new Error(`The file is not valid JSON: ${(err as Error).message}`);
  }
}

let shownAtMs = 0;

/** A progress line that is overwritten a few times a second, on a terminal only. */
const show: Progress = (kind, done) => {
  const nowMs = performance.now();
  if (!process.stderr.isTTY || nowMs - shownAtMs < 100) return;
  shownAtMs = nowMs;
  process.stderr.write(`\r${kind}: ${done}`.padEnd(40));
};

function say(text: string): void {
  if (process.stderr.isTTY) process.stderr.write(`\r${''.padEnd(40)}\r`);
  process.stdout.write(`${text}\n`);
}

main().catch((err: Error) => {
  const details =
    err instanceof AppError ? (err.details ?? []).map(({ path, message }) => `  ${path} ${message}\n`).join('') : '';
  process.stderr.write(`${err.message}\n${details}`);
  process.exitCode = 1;
});
