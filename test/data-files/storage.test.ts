import { fstatSync } from 'node:fs';
import { type FileHandle, open, stat } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { createStorage } from '../../src/data-files/storage.ts';
import { createTestFolder } from './support.ts';

/** Inodes of files and folders in the order in which they were written to the disk. */
const synced: number[] = [];
let folder: Awaited<ReturnType<typeof createTestFolder>>;
beforeAll(async () => {
  folder = await createTestFolder();
  const handle = await open(folder.path);
  const handles = Object.getPrototypeOf(handle) as FileHandle;
  const { sync } = handles;
  vi.spyOn(handles, 'sync').mockImplementation(function (this: FileHandle) {
    synced.push(fstatSync(this.fd).ino);
    return sync.call(this);
  });
  await handle.close();
});
afterAll(async () => {
  vi.restoreAllMocks();
  await folder?.remove();
});

const inodesOf = (paths: readonly string[]): Promise<number[]> =>
  Promise.all(paths.map(async (path) => (await stat(path)).ino));

test('a stored file survives a power loss: its content and its folders are on the disk', async () => {
  const path = join(folder.path, 'new', 'root');
  const storage = createStorage({ kind: 'folder', path });
  const file = 'events/date=2026-11-29/run.parquet';
  const above = [file, 'events/date=2026-11-29', 'events', '', '..', '../..'].map((name) => resolve(path, name));
  for (const top of [folder.path, path]) {
    synced.length = 0;
    await storage.put(file, Buffer.from('rows'));
    expect(synced).toEqual(await inodesOf(above.slice(0, above.indexOf(top) + 1)));
  }
});

const bucketOf = (endpoint: string) =>
  createStorage({
    kind: 's3',
    endpoint,
    region: 'us-east-1',
    bucket: 'my.data',
    prefix: 'perks/',
    accessKeyId: 'id',
    secretAccessKey: 'secret',
  });

const errorOf = (code: string, rest = ''): string => `<Error><Code>${code}</Code><Message>…</Message>${rest}</Error>`;

/* Responses of Amazon S3. */
test.each<[string, number, string, Record<string, string>, string]>([
  [
    'in another region',
    301,
    errorOf('PermanentRedirect', '<Endpoint>my.data.s3.eu-central-1.amazonaws.com</Endpoint>'),
    { 'x-amz-bucket-region': 'eu-central-1' },
    'The bucket responded with 301 to GET: PermanentRedirect. The bucket is in the region eu-central-1',
  ],
  [
    'in another region, for a service that checks signatures first',
    400,
    errorOf('AuthorizationHeaderMalformed', '<Region>eu-west-1</Region>'),
    {},
    'The bucket responded with 400 to GET: AuthorizationHeaderMalformed. The bucket is in the region eu-west-1',
  ],
  ['missing', 404, errorOf('NoSuchBucket'), {}, 'The bucket "my.data" does not exist'],
  ['closed to the key', 403, errorOf('AccessDenied'), {}, 'The bucket responded with 403 to GET: AccessDenied'],
])('a bucket that is %s is never taken for an empty one', async (_, status, body, headers, message) => {
  const server = createServer((_request, response) => response.writeHead(status, headers).end(body));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  try {
    const storage = bucketOf(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
    await expect(storage.list('_manifests/')).rejects.toThrow(message);
    await expect(storage.get('_manifests/run-00000001.json')).rejects.toThrow(message);
    await expect(storage.put('a', Buffer.from('a'))).rejects.toThrow(message.replace('GET', 'PUT'));
    await expect(storage.remove('a')).rejects.toThrow(message.replace('GET', 'DELETE'));
  } finally {
    server.close();
  }
});

test('a missing object is not an error, and a service that cannot be called is named with the reason', async () => {
  const server = createServer((_request, response) => response.writeHead(404).end(errorOf('NoSuchKey')));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const storage = bucketOf(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  expect(await storage.get('a')).toBe(null);
  await storage.remove('a');
  await new Promise((resolve) => server.close(resolve));
  await expect(storage.get('a')).rejects.toThrow('The bucket did not respond: ECONNREFUSED');
  await expect(bucketOf('http://127.0.0.1:1').get('a')).rejects.toThrow('The bucket did not respond: bad port');
});
