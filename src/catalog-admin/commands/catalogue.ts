import { createWriteStream } from 'node:fs';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createApi, readJsonFile } from '../../command-line/api.ts';
import { type Call, exitCodes, idOption, type Run, usageError } from '../../command-line/command.ts';
import { parseImageStore } from '../../config/image-store.ts';
import type { Problem } from '../../platform/problem.ts';
import { createImageStore } from '../images.ts';
import { type CatalogueDatabase, exportByDatabase, importByDatabase } from './by-database.ts';

const exportPath = '/manage/v1/catalogue/export';

export function fileOf({ args }: Call): string {
  const [file, ...rest] = args;
  if (file === undefined || rest.length > 0) throw usageError('Expected one file.');
  return file;
}

/**
 * Returns the database to use, or null to call the service's API. By default, the database is used if a database URL is
 * configured but no API key.
 */
export function databaseOf({ options, env, out, signal }: Call): CatalogueDatabase | null {
  const databaseUrl = env.DATABASE_URL ?? '';
  const hasKey = options.key !== undefined || (env.PERKWIRE_KEY ?? '') !== '';
  if (options.database !== true && (hasKey || databaseUrl === '')) return null;
  if (databaseUrl === '') throw usageError('--database requires DATABASE_URL.');
  const { IMAGE_STORE = '', S3_ACCESS_KEY_ID = '', S3_SECRET_ACCESS_KEY = '' } = env;
  const problems: string[] = [];
  const setting = parseImageStore(
    { store: IMAGE_STORE, accessKeyId: S3_ACCESS_KEY_ID, secretAccessKey: S3_SECRET_ACCESS_KEY },
    problems,
  );
  if (problems.length > 0) throw usageError(problems.join('\n'));
  const progress = (kind: string, done: number): void => out.progress(`${kind}: ${done}`);
  return { databaseUrl, store: createImageStore(setting), progress, signal };
}

/** Returns the publisher's catalogue as a single string. */
export async function readCatalogue(call: Call): Promise<string> {
  const database = databaseOf(call);
  if (database === null) return JSON.stringify(await createApi(call).call('GET', exportPath));
  let text = '';
  await exportByDatabase(database, idOption(call, 'publisher'), async (pieces) => {
    for await (const piece of pieces) text += piece;
  });
  return text;
}

export const exportToFile: Run = async (call) => {
  const { out } = call;
  const file = fileOf(call);
  const write = (pieces: AsyncIterable<string>) => pipeline(Readable.from(pieces), createWriteStream(file));
  const database = databaseOf(call);
  if (database === null) {
    const content = await createApi(call).call('GET', exportPath);
    await pipeline(Readable.from([`${JSON.stringify(content, null, 1)}\n`]), createWriteStream(file));
    out.line(`Wrote the catalogue to ${file}.`);
  } else {
    const id = await exportByDatabase(database, idOption(call, 'publisher'), write);
    out.progress('');
    out.line(`Wrote the catalogue of publisher ${id} to ${file}.`);
  }
  out.data({ file });
  return exitCodes.ok;
};

export const importFromFile: Run = async (call) => {
  const { out, options } = call;
  const file = fileOf(call);
  const content = await readJsonFile(call, file);
  const dryRun = options['dry-run'] === true;
  const { publisherId, warnings } = await importContent(call, content, { file, dryRun });
  out.progress('');
  for (const { path, message } of warnings) out.line(`${path}: ${message}`);
  out.data({ file, publisher_id: publisherId, dry_run: dryRun, warnings });
  out.line(
    publisherId === null
      ? `${file} can be imported. Nothing was imported.`
      : `Imported ${file} into publisher ${publisherId}.`,
  );
  return exitCodes.ok;
};

type Imported = { publisherId: number | null; warnings: readonly { path: string; message: Problem | string }[] };

async function importContent(
  call: Call,
  content: unknown,
  { file, dryRun }: { file: string; dryRun: boolean },
): Promise<Imported> {
  const database = databaseOf(call);
  if (database !== null) {
    const options = { publisherId: idOption(call, 'publisher'), dryRun, name: file };
    return importByDatabase(database, content, options);
  }
  const query = dryRun ? { dry_run: 'true' } : {};
  const answer = await createApi(call).call('POST', '/manage/v1/catalogue/import', { query, body: content });
  const { data } = answer as { data: { publisher_id?: number; warnings?: Imported['warnings'] } };
  return { publisherId: data.publisher_id ?? null, warnings: data.warnings ?? [] };
}
