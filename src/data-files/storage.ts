import { randomUUID } from 'node:crypto';
import { mkdir, open, readdir, readFile, rename, rm } from 'node:fs/promises';
import { dirname, join, relative, resolve, sep } from 'node:path';
import type { StorageSetting } from '../config.ts';
import { createBucketClient } from '../platform/bucket.ts';

/** Storage of the data files. If the storage fails, calls reject with an error that states the reason. */
export type Storage = {
  /** Stores a whole file under a name. Resolves once it is stored durably. Readers never see a partial file. */
  put: (name: string, bytes: Buffer) => Promise<void>;
  /** Returns a file, or null if it does not exist. */
  get: (name: string) => Promise<Buffer | null>;
  /** Lists the names of the files in a folder, whose name ends with a slash, in the order of their names. */
  list: (folder: string) => Promise<string[]>;
  /** Lists what writes that were killed have left in a folder. */
  listUnfinished: (folder: string) => Promise<string[]>;
  remove: (name: string) => Promise<void>;
};

/** Error that the storage reported. The message is shown to operators. */
class StorageError extends Error {
  override readonly name = 'StorageError';
}

/** Creates the storage of DATA_FILES_URL. */
export const createStorage = (setting: StorageSetting): Storage =>
  setting.kind === 'folder' ? createFolder(setting.path) : createBucket(setting);

const isMissing = (err: unknown): boolean => (err as NodeJS.ErrnoException).code === 'ENOENT';

function createFolder(folder: string): Storage {
  const withReason = async <T>(action: string, work: Promise<T>): Promise<T> =>
    work.catch((err: NodeJS.ErrnoException) => {
      throw new StorageError(`The folder refused to ${action} a file: ${err.code ?? err.message}`, { cause: err });
    });
  const pathOf = (name: string): string => join(folder, ...name.split('/'));
  async function list(name: string): Promise<string[]> {
    const options = { recursive: true, withFileTypes: true } as const;
    const entries = await withReason('list', readdir(pathOf(name), options).catch(noFiles));
    return entries
      .filter((entry) => entry.isFile())
      .map((entry) => relative(folder, join(entry.parentPath, entry.name)).split(sep).join('/'))
      .sort();
  }
  return {
    put: (name, bytes) => withReason('write', writeDurably(resolve(folder), pathOf(name), bytes)),
    get: (name) => withReason('read', readFile(pathOf(name)).catch(nullIfMissing)),
    list: async (name) => (await list(name)).filter((path) => !path.endsWith('.tmp')),
    listUnfinished: async (name) => (await list(name)).filter((path) => unfinished.test(path)),
    remove: (name) => withReason('remove', rm(pathOf(name), { force: true })),
  };
}

function nullIfMissing(err: unknown): null {
  if (isMissing(err)) return null;
  throw err;
}

function noFiles(err: unknown): [] {
  if (isMissing(err)) return [];
  throw err;
}

/** Name of a file while it is written. */
const unfinished = /\.(?:parquet|json)\.[\da-f-]{36}\.tmp$/;

async function writeDurably(root: string, name: string, bytes: Buffer): Promise<void> {
  const path = resolve(name);
  const created = await mkdir(dirname(path), { recursive: true });
  const partial = `${path}.${randomUUID()}.tmp`;
  try {
    const file = await open(partial, 'wx');
    try {
      await file.writeFile(bytes);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(partial, path);
  } catch (err) {
    await rm(partial, { force: true });
    throw err;
  }
  // A file survives a power loss only if its name is stored too, and those of the folders above it. An attempt that was
  // killed may have created them.
  const top = created !== undefined && root.startsWith(created) ? dirname(created) : root;
  for (let folder = dirname(path); ; folder = dirname(folder)) {
    await syncFolder(folder);
    if (folder === top) return;
  }
}

async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r');
  try {
    await folder.sync();
  } catch (err) {
    // Some network file systems store names at once, and refuse the call.
    if ((err as NodeJS.ErrnoException).code !== 'EINVAL') throw err;
  } finally {
    await folder.close();
  }
}

/** Timeout of a bucket call in milliseconds, long enough for a whole file over a slow connection. */
const timeoutMs = 120_000;

function createBucket(setting: Extract<StorageSetting, { kind: 's3' }>): Storage {
  const call = createBucketClient(setting, timeoutMs);

  /**
   * Calls the bucket. Returns its response, or null if the object does not exist.
   * @throws StorageError for any other status of 300 or higher, and if the bucket does not exist
   */
  async function ask(...[method, options]: Parameters<typeof call>): Promise<Buffer | null> {
    const response = await call(method, options).catch((err: Error) => {
      const { code, message } = (err.cause ?? {}) as { code?: string; message?: string };
      throw new StorageError(`The bucket did not respond: ${code ?? message ?? err.name}`, { cause: err });
    });
    const bytes = Buffer.from(await response.arrayBuffer());
    if (response.ok) return bytes;
    const xml = bytes.toString('latin1', 0, 2000);
    const [, code] = /<Code>([A-Za-z]{1,60})<\/Code>/.exec(xml) ?? [];
    const isObject = method === 'GET' && options.name !== undefined;
    if (response.status === 404 && code !== 'NoSuchBucket' && (isObject || method === 'DELETE')) return null;
    if (response.status === 404) throw new StorageError(`The bucket "${setting.bucket}" does not exist`);
    const reason = code === undefined ? '' : `: ${code}`;
    throw new StorageError(
      `The bucket responded with ${response.status} to ${method}${reason}${regionAdvice(response, xml)}`,
    );
  }

  /** Advice for responses that name the bucket's region, such as those of S3 to calls for another region. */
  function regionAdvice({ headers }: Response, xml: string): string {
    const [, inBody] = /<Region>([\w-]{1,40})<\/Region>/.exec(xml) ?? [];
    const region = inBody ?? /^[\w-]{1,40}$/.exec(headers.get('x-amz-bucket-region') ?? '')?.[0];
    return region === undefined || region === setting.region ? '' : `. The bucket is in the region ${region}`;
  }

  return {
    put: async (name, body) => void (await ask('PUT', { name, body })),
    get: (name) => ask('GET', { name }),
    list: async (folder) => {
      const names: string[] = [];
      for (let token: string | undefined; ; ) {
        const query = {
          'list-type': '2',
          prefix: `${setting.prefix}${folder}`,
          ...(token !== undefined && { 'continuation-token': token }),
        };
        const xml = String(await ask('GET', { query }));
        for (const [, key = ''] of xml.matchAll(/<Key>([^<]*)<\/Key>/g))
          names.push(unescapeXml(key).slice(setting.prefix.length));
        [, token] = /<NextContinuationToken>([^<]+)<\/NextContinuationToken>/.exec(xml) ?? [];
        if (token === undefined) return names.sort();
        token = unescapeXml(token);
      }
    },
    // A bucket stores an object whole or not at all.
    listUnfinished: async () => [],
    remove: async (name) => void (await ask('DELETE', { name })),
  };
}

const unescapeXml = (text: string): string =>
  text
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll('&amp;', '&');
