import { createHash, randomBytes } from 'node:crypto';
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { AwsV4Signer } from 'aws4fetch';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openDiskCache } from '../../src/catalog-admin/images/disk-cache.ts';
import type { ImageStore } from '../../src/catalog-admin/images/image-store.ts';
import { createImages } from '../../src/catalog-admin/images/service.ts';
import { createImageStore, saveOriginal } from '../../src/catalog-admin/images.ts';
import { type ImageStoreSetting, parseImageStore } from '../../src/config/image-store.ts';
import { createLogger } from '../../src/platform/logger.ts';
import { createTestApp, type TestApp } from '../support/test-app.ts';
import { drawStripes, storeTestImage } from './images/image-fixtures.ts';

const logger = createLogger('silent');
const digestOf = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex');
const wish = (width: number | null) => ({ width, height: null, aspectRatio: null });

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'perkwire-images-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

describe('IMAGE_STORE', () => {
  const parse = (store: string, accessKeyId = 'id', secretAccessKey = 'secret') => {
    const problems: string[] = [];
    return { setting: parseImageStore({ store, accessKeyId, secretAccessKey }, problems), problems };
  };

  test('selects the database, a directory or a bucket', () => {
    expect(parse('').setting).toEqual({ kind: 'database' });
    expect(parse('/srv/pictures').setting).toEqual({ kind: 'folder', path: '/srv/pictures' });
    expect(parse('s3://shop/a/b/?endpoint=https://minio.example:9000/&region=eu-central-1')).toEqual({
      problems: [],
      setting: {
        kind: 's3',
        endpoint: 'https://minio.example:9000',
        region: 'eu-central-1',
        bucket: 'shop',
        prefix: 'a/b/',
        accessKeyId: 'id',
        secretAccessKey: 'secret',
      },
    });
  });

  test.each([
    'pictures',
    './pictures',
    'https://bucket.example',
    's3://',
    's3://UPPER/x',
    's3://shop?endpoint=ftp://x',
  ])('rejects %s', (store) => {
    expect(parse(store).problems).toHaveLength(1);
  });

  test('rejects a bucket without credentials', () => {
    expect(parse('s3://shop', '', '').problems[0]).toContain('S3_ACCESS_KEY_ID');
  });
});

/** Starts a bucket that keeps objects in memory and rejects calls without a valid signature. */
async function startBucket(
  secretAccessKey: string,
): Promise<{ server: Server; endpoint: string; objects: Map<string, Buffer> }> {
  const objects = new Map<string, Buffer>();
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = Buffer.concat(chunks);
    const signer = new AwsV4Signer({
      method: request.method as string,
      url: `http://${request.headers.host}${request.url}`,
      headers: { 'x-amz-content-sha256': String(request.headers['x-amz-content-sha256']) },
      accessKeyId: 'id',
      secretAccessKey,
      region: 'eu-central-1',
      service: 's3',
      datetime: String(request.headers['x-amz-date']),
      ...(request.method === 'PUT' ? { body: new Uint8Array(body) } : {}),
    });
    const expected = (await signer.sign()).headers.get('authorization');
    if (request.headers.authorization !== expected) return void response.writeHead(403).end();
    if (request.method === 'PUT') {
      objects.set(request.url as string, body);
      return void response.end();
    }
    const object = objects.get(request.url as string);
    response.writeHead(object === undefined ? 404 : 200).end(object);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { server, objects, endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}

describe('images stored outside the database', () => {
  let testApp: TestApp;
  let bucket: Awaited<ReturnType<typeof startBucket>>;
  beforeAll(async () => {
    testApp = await createTestApp();
    bucket = await startBucket('right');
  });
  afterAll(async () => {
    await testApp?.close();
    bucket?.server.close();
  });

  const s3 = (secretAccessKey: string): ImageStoreSetting => ({
    kind: 's3',
    endpoint: bucket.endpoint,
    region: 'eu-central-1',
    bucket: 'shop',
    prefix: 'p/',
    accessKeyId: 'id',
    secretAccessKey,
  });

  async function keepAndFind(imageStore: ImageStoreSetting): Promise<Buffer | undefined> {
    const path = await storeTestImage(testApp, Buffer.from('replaced'), 'png');
    const id = Number(/\d+/.exec(path)?.[0]);
    const bytes = await drawStripes(60 + id, 40);
    await saveOriginal(testApp.pool, createImageStore(imageStore), id, bytes);
    const { rows } = await testApp.pool.query('select bytes from creative_images where creative_id = $1', [id]);
    expect(rows).toEqual([{ bytes: null }]);
    const images = await createImages({ ...testApp.deps, config: { ...testApp.deps.config, imageStore } });
    const image = await images.find(id, 'png', wish(null), undefined);
    const content = (await image?.bytes())?.bytes;
    expect(content).toEqual(bytes);
    return content;
  }

  test('are read from the directory, which stores them under their digest', async () => {
    const bytes = (await keepAndFind({ kind: 'folder', path: folder })) as Buffer;
    expect(await readdir(join(folder, digestOf(bytes).slice(0, 2)))).toEqual([digestOf(bytes)]);
  });

  test('are read from the bucket with signed calls', async () => {
    const bytes = (await keepAndFind(s3('right'))) as Buffer;
    expect([...bucket.objects.keys()]).toEqual([`/shop/p/${digestOf(bytes)}`]);
  });

  test('are never lost silently, because a save fails if the store rejects it', async () => {
    const path = await storeTestImage(testApp, Buffer.from('old'), 'png');
    const id = Number(/\d+/.exec(path)?.[0]);
    await expect(saveOriginal(testApp.pool, createImageStore(s3('wrong')), id, randomBytes(10))).rejects.toMatchObject({
      status: 503,
      cause: { message: expect.stringContaining('403') },
    });
    const { rows } = await testApp.pool.query('select bytes from creative_images where creative_id = $1', [id]);
    expect(rows).toEqual([{ bytes: Buffer.from('old') }]);
  });

  test.each<[string, () => ImageStore]>([
    ['missing', () => createImageStore({ kind: 'folder', path: join(folder, 'empty') }) as ImageStore],
    ['inaccessible', () => createImageStore(s3('wrong')) as ImageStore],
  ])('respond with 503 while they are %s', async (_state, store) => {
    const path = await storeTestImage(testApp, Buffer.from('x'), 'png');
    const id = Number(/\d+/.exec(path)?.[0]);
    await testApp.pool.query('update creative_images set bytes = null where creative_id = $1', [id]);
    expect(
      await store()
        .get('0'.repeat(64))
        .catch(() => 'refused'),
    ).toEqual(expect.toSatisfy((value) => value === null || value === 'refused'));
    const imageStore: ImageStoreSetting = { kind: 'folder', path: join(folder, 'empty') };
    const images = await createImages({ ...testApp.deps, config: { ...testApp.deps.config, imageStore } });
    await expect(images.find(id, 'png', wish(null), undefined)).rejects.toMatchObject({ status: 503 });
  });

  test('are not sent if they were modified in the store', async () => {
    const path = await storeTestImage(testApp, Buffer.from('x'), 'png');
    const id = Number(/\d+/.exec(path)?.[0]);
    const bytes = await drawStripes(31, 30);
    await saveOriginal(testApp.pool, createImageStore({ kind: 'folder', path: folder }), id, bytes);
    await writeFile(join(folder, digestOf(bytes).slice(0, 2), digestOf(bytes)), randomBytes(100));
    const images = await createImages({
      ...testApp.deps,
      config: { ...testApp.deps.config, imageStore: { kind: 'folder', path: folder } },
    });
    await expect(images.find(id, 'png', wish(null), undefined)).rejects.toMatchObject({ status: 503 });
  });

  test('are transformed once, because a new process reuses resized images on disk', async () => {
    const path = await storeTestImage(testApp, await drawStripes(90, 60), 'png');
    const id = Number(/\d+/.exec(path)?.[0]);
    const config = { ...testApp.deps.config, imageCacheDir: join(folder, 'cache'), imageCacheDiskMb: 1 };
    const first = await createImages({ ...testApp.deps, config });
    const bytes = (await (await first.find(id, 'png', wish(30), undefined))?.bytes())?.bytes as Buffer;
    const size = async () =>
      (await readdir(config.imageCacheDir, { recursive: true })).filter((name) => /[0-9a-f]{64}$/.test(name)).length;
    await expect.poll(size).toBe(1);
    const second = await createImages({ ...testApp.deps, config });
    expect((await (await second.find(id, 'png', wish(30), undefined))?.bytes())?.bytes).toEqual(bytes);
    expect([first.counts().transforms, second.counts().transforms]).toEqual([1, 0]);
  });
});

describe('the disk cache', () => {
  const filesOf = async (path: string) =>
    (await readdir(path, { recursive: true })).filter((name) => /[0-9a-f]{64}/.test(name));

  test('never exceeds its limit, and evicts the least recently used file first', async () => {
    const path = join(folder, 'bounded');
    const cache = await openDiskCache({ folder: path, maxBytes: 1000, logger });
    for (const key of ['a', 'b', 'c']) await cache?.set(key, Buffer.alloc(300, key));
    await cache?.get('a');
    await cache?.set('d', Buffer.alloc(300, 'd'));
    expect(await cache?.get('b')).toBeNull();
    expect((await cache?.get('a'))?.toString()).toBe('a'.repeat(300));
    await expect.poll(() => filesOf(path)).toHaveLength(3);
    await cache?.set('huge', Buffer.alloc(1001));
    expect(await cache?.get('huge')).toBeNull();
  });

  test('applies its limit to files of an earlier process, and removes incomplete ones', async () => {
    const path = join(folder, 'left');
    const before = await openDiskCache({ folder: path, maxBytes: 1000, logger });
    for (const key of ['a', 'b', 'c']) await before?.set(key, Buffer.alloc(300, key));
    await writeFile(join(path, (await readdir(path))[0] as string, `${'0'.repeat(64)}.x.tmp`), 'half');
    await openDiskCache({ folder: path, maxBytes: 650, logger });
    await expect.poll(() => filesOf(path)).toHaveLength(2);
  });

  test('is disabled if its directory is not writable', async () => {
    await writeFile(join(folder, 'file'), 'no folder');
    expect(await openDiskCache({ folder: join(folder, 'file', 'below'), maxBytes: 1000, logger })).toBeNull();
    expect(await openDiskCache({ folder, maxBytes: 0, logger })).toBeNull();
  });
});
