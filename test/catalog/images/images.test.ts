import { createHash, randomBytes } from 'node:crypto';
import fc from 'fast-check';
import sharp from 'sharp';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createImages, type Images } from '../../../src/catalog-admin/images/service.ts';
import { cloneDatabase } from '../../support/database.ts';
import { createTestApp, type TestApp } from '../../support/test-app.ts';
import { startRelay } from '../../tracking/journey.ts';
import { drawStripes, storeTestImage } from './image-fixtures.ts';

let testApp: TestApp;
let stripes: Buffer;
let path: string;

beforeAll(async () => {
  testApp = await createTestApp();
  stripes = await drawStripes(600, 400);
  path = await storeTestImage(testApp, stripes, 'png');
});
afterAll(() => testApp?.close());

const get = (url: string, headers: Record<string, string> = {}) =>
  testApp.app.inject({ method: 'GET', url, headers, remoteAddress: `10.0.${Math.floor(Math.random() * 256)}.1` });

async function sizeOf(url: string, headers: Record<string, string> = {}) {
  const response = await get(url, headers);
  expect(response.statusCode, `${url} ${response.body.slice(0, 200)}`).toBe(200);
  const { width, height, format, pages } = await sharp(response.rawPayload).metadata();
  return { width, height, format, pages };
}

describe('the response has the requested size', () => {
  test.each([
    ['', 600, 400],
    ['?width=300', 300, 200],
    ['?height=100', 150, 100],
    ['?width=1', 1, 1],
    ['?width=4096', 600, 400],
    ['?height=4096', 600, 400],
    ['?width=200&height=200', 200, 200],
    ['?width=900&height=900', 900, 900],
    ['?aspect_ratio=1:1', 400, 400],
    ['?aspect_ratio=3%3A1', 600, 200],
    ['?aspect_ratio=1:100', 4, 400],
    ['?width=100&aspect_ratio=1:2', 100, 200],
    ['?height=90&aspect_ratio=16:9', 160, 90],
    ['?width=4096&aspect_ratio=1:1', 400, 400],
    ['?width=50&height=60&aspect_ratio=100:1', 50, 60],
    ['?width=300&unknown=1', 300, 200],
  ])('%s → %i×%i', async (query, width, height) => {
    expect(await sizeOf(path + query)).toMatchObject({ width, height, format: 'png' });
  });

  test('is correct for any parameters and image type', async () => {
    const side = fc.option(fc.integer({ min: 1, max: 700 }), { nil: undefined });
    const ratio = fc.option(fc.tuple(fc.integer({ min: 1, max: 100 }), fc.integer({ min: 1, max: 100 })), {
      nil: undefined,
    });
    const accept = fc.constantFrom('*/*', 'image/webp', 'image/avif;q=0.9');
    await fc.assert(
      fc.asyncProperty(side, side, ratio, accept, async (width, height, aspectRatio, acceptHeader) => {
        const query = new URLSearchParams();
        if (width !== undefined) query.set('width', String(width));
        if (height !== undefined) query.set('height', String(height));
        if (aspectRatio !== undefined) query.set('aspect_ratio', aspectRatio.join(':'));
        const size = await sizeOf(`${path}?${query}`, { accept: acceptHeader });
        if (width !== undefined && height !== undefined) return void expect(size).toMatchObject({ width, height });
        const [x, y] = aspectRatio ?? [3, 2];
        expect(size.width).toBeLessThanOrEqual(Math.min(width ?? 600, 600));
        expect(size.height).toBeLessThanOrEqual(Math.min(height ?? 400, 400));
        // One side has the maximum length, and the other side matches the aspect ratio to the pixel.
        const limits = [size.width === Math.min(width ?? 600, 600), size.height === Math.min(height ?? 400, 400)];
        expect(limits).toContain(true);
        const error = Math.min(
          Math.abs(size.height - (size.width * y) / x),
          Math.abs(size.width - (size.height * x) / y),
        );
        expect(size.width === 1 || size.height === 1 || error <= 0.501).toBe(true);
      }),
      { numRuns: 40 },
    );
  });

  test('crops to cover, centred and undistorted, so that a square shows the middle', async () => {
    const response = await get(`${path}?width=120&height=240`);
    const { data, info } = await sharp(response.rawPayload).raw().toBuffer({ resolveWithObject: true });
    const at = (x: number) => [...data.subarray((120 * info.width + x) * info.channels).subarray(0, 3)];
    expect([at(20), at(60), at(100)]).toEqual(Array(3).fill([0, 255, 0]));
  });

  test('an image with EXIF rotation is rotated and loses that metadata', async () => {
    const turned = await sharp(stripes).withMetadata({ orientation: 6 }).jpeg().toBuffer();
    const url = await storeTestImage(testApp, turned, 'jpg');
    expect(await sizeOf(`${url}?width=200`)).toMatchObject({ width: 200, height: 300, format: 'jpeg' });
    expect((await sharp((await get(`${url}?width=200`)).rawPayload).metadata()).orientation).toBeUndefined();
  });
});

describe('the image type', () => {
  test.each([
    ['image/avif,image/webp,image/*,*/*;q=0.8', 'image/avif', 'heif'],
    ['image/webp,*/*', 'image/webp', 'webp'],
    ['image/avif;q=0,image/webp', 'image/webp', 'webp'],
    ['image/*', 'image/png', 'png'],
    ['image/jpeg', 'image/jpeg', 'jpeg'],
  ])('follows the header Accept %s: %s', async (accept, contentType, format) => {
    for (const query of ['', '?width=64']) {
      const response = await get(path + query, { accept });
      expect(response.headers['content-type']).toBe(contentType);
      expect((await sharp(response.rawPayload).metadata()).format).toBe(format);
      expect(response.headers.vary).toMatch(/accept/i);
    }
  });

  test('is an animated one for an animation', async () => {
    const frames = await Promise.all(
      ['#f00', '#0f0', '#00f'].map((background) =>
        sharp({ create: { width: 40, height: 20, channels: 3, background } })
          .png()
          .toBuffer(),
      ),
    );
    const gif = await sharp(frames, { join: { animated: true } })
      .gif()
      .toBuffer();
    const url = await storeTestImage(testApp, gif, 'gif');
    expect(await sizeOf(`${url}?width=20`)).toMatchObject({ format: 'gif', pages: 3, width: 20 });
    expect(await sizeOf(`${url}?width=20`, { accept: 'image/avif,image/webp' })).toMatchObject({
      format: 'webp',
      pages: 3,
    });
  });
});

describe('caching', () => {
  test('sends the original bytes if there are no parameters and no better type', async () => {
    for (const query of ['', '?width=4000']) {
      const response = await get(path + query);
      expect(createHash('sha256').update(response.rawPayload).digest('hex')).toBe(
        createHash('sha256').update(stripes).digest('hex'),
      );
      expect(response.headers['content-type']).toBe('image/png');
    }
  });

  test('makes every response immutable and embeddable, with its own strong ETag', async () => {
    const answers = await Promise.all([
      get(path),
      get(`${path}?width=10`),
      get(`${path}?width=11`),
      get(`${path}?width=10`, { accept: 'image/webp' }),
    ]);
    for (const { headers } of answers) {
      expect(headers).toMatchObject({
        'cache-control': 'public, max-age=31536000, immutable',
        'cross-origin-resource-policy': 'cross-origin',
        'access-control-allow-origin': '*',
        'x-content-type-options': 'nosniff',
        vary: 'Accept',
      });
      expect(headers.etag).toMatch(/^"[0-9a-f]{32}"$/);
    }
    expect(new Set(answers.map(({ headers }) => headers.etag)).size).toBe(4);
  });

  test('answers 304 without a body if the client has the image', async () => {
    for (const url of [path, `${path}?width=33`]) {
      const { headers } = await get(url);
      for (const condition of [headers.etag, `"x", ${headers.etag}`, `W/${headers.etag}`, '*']) {
        const again = await get(url, { 'if-none-match': String(condition) });
        expect(again.statusCode).toBe(304);
        expect(again.body).toBe('');
        expect(again.headers).toMatchObject({
          etag: headers.etag,
          vary: 'Accept',
          'cache-control': headers['cache-control'],
        });
      }
      expect((await get(url, { 'if-none-match': '"other"' })).statusCode).toBe(200);
    }
  });

  test('answers HEAD with the headers of GET', async () => {
    const response = await testApp.app.inject({ method: 'HEAD', url: `${path}?width=34` });
    expect(response.statusCode).toBe(200);
    expect(response.headers['content-type']).toBe('image/png');
  });

  test('transforms once for 64 identical concurrent requests, and not again for later ones', async () => {
    const answers = await Promise.all(
      Array.from({ length: 64 }, () => get(`${path}?width=77`, { accept: 'image/webp' })),
    );
    expect(new Set(answers.map(({ statusCode }) => statusCode))).toEqual(new Set([200]));
    const sources = answers.map(({ headers }) => headers['cache-status']);
    expect(sources.filter((source) => source === 'perkwire; fwd=miss; stored')).toHaveLength(1);
    expect((await get(`${path}?width=77`, { accept: 'image/webp' })).headers['cache-status']).toBe('perkwire; hit');
  });

  test('loads an image once for many concurrent sizes', async () => {
    const images = await createImages(testApp.deps);
    const id = Number(/\d+/.exec(path)?.[0]);
    const find = async (width: number) =>
      (await images.find(id, 'png', { width, height: null, aspectRatio: null }, undefined))?.bytes();
    await Promise.all([1, 2, 3, 1, 2, 3].map(find));
    expect(images.counts()).toEqual({ loads: 1, transforms: 3 });
  });

  test('limits memory in bytes, and transforms evicted images again', async () => {
    const images = await createImages({ ...testApp.deps, config: { ...testApp.deps.config, imageCacheMb: 1 } });
    const noise = randomBytes(900 * 900 * 3);
    const url = await storeTestImage(
      testApp,
      await sharp(noise, { raw: { width: 900, height: 900, channels: 3 } })
        .png()
        .toBuffer(),
      'png',
    );
    const ask = async () =>
      (
        await images.find(
          Number(/\d+/.exec(url)?.[0]),
          'png',
          { width: 899, height: null, aspectRatio: null },
          undefined,
        )
      )?.bytes();
    const first = await ask();
    expect(first?.bytes.length).toBeGreaterThan(512 * 1024);
    await ask();
    expect(images.counts()).toEqual({ loads: 2, transforms: 2 });
  });
});

describe('400 responses', () => {
  test.each([
    'width=0',
    'width=4097',
    'width=5000',
    'height=5000',
    'width=-1',
    'width=1.5',
    'width=abc',
    'width=',
    'width=%20',
    'width=010',
    'width=1e3',
    'width=10&width=20',
    'height=1&height=1',
    'aspect_ratio=0:1',
    'aspect_ratio=1:0',
    'aspect_ratio=1000:1',
    'aspect_ratio=101:1',
    'aspect_ratio=16x9',
    'aspect_ratio=16',
    'aspect_ratio=',
    'aspect_ratio=1:1:1',
    'aspect_ratio=1:1&aspect_ratio=1:1',
    'aspect_ratio=-1:1',
  ])('report the invalid parameter in %s', async (query) => {
    const response = await get(`${path}?${query}`);
    expect(response.statusCode).toBe(400);
    expect(response.headers['content-type']).toMatch(/^application\/json/);
    expect(response.headers['cache-control']).toBe('no-store');
    expect(response.headers.etag).toBeUndefined();
    const { error } = response.json();
    expect(error.code).toBe('invalid_request');
    expect(error.details[0].path).toBe(`/querystring/${query.split('=')[0]}`);
  });
});

describe('404 responses', () => {
  test.each([
    '/images/999999999.png',
    '/images/1.svg',
    '/images/1',
    '/images/x.png',
    '/images/1.png.png',
    '/images/99999999999.png',
    '/images/1.constructor',
  ])('are sent for %s', async (url) => {
    const response = await get(url);
    expect(response.statusCode).toBe(404);
    expect(response.json().error.code).toBe('not_found');
    expect(response.headers['cache-control']).toBe('no-store');
  });

  test('are sent for an image with a type other than its own', async () => {
    expect((await get(path.replace('.png', '.webp'))).statusCode).toBe(404);
  });
});

test('422: rejects resizing a broken image, but sends the original', async () => {
  const url = await storeTestImage(testApp, Buffer.from('no image at all'), 'png');
  expect((await get(url)).body).toBe('no image at all');
  const response = await get(`${url}?width=10`);
  expect(response.statusCode).toBe(422);
  expect(response.json().error.code).toBe('image_not_processable');
  const cut = await storeTestImage(testApp, stripes.subarray(0, stripes.length - 400), 'png');
  expect((await get(`${cut}?width=10`)).statusCode).toBe(422);
});

test('422: rejects a drawing that was stored as an image, because only images are transformed', async () => {
  const svg = '<svg xmlns="http://www.w3.org/2000/svg" width="40" height="40"><text>x</text></svg>';
  const url = await storeTestImage(testApp, Buffer.from(svg), 'png');
  expect((await get(`${url}?width=10`)).statusCode).toBe(422);
});

test('422: rejects an image with too many pixels, whatever size its row states', async () => {
  const huge = await sharp({ create: { width: 8000, height: 8000, channels: 3, background: '#123' } })
    .png()
    .toBuffer();
  const url = await storeTestImage(testApp, huge, 'png', { width: 10, height: 10 });
  expect((await get(`${url}?width=10`)).statusCode).toBe(422);
  expect((await get(url, { accept: 'image/avif' })).headers['content-type']).toBe('image/png');
});

test('503: limits a flood of sizes, sends the others correctly, and recovers afterwards', async () => {
  const answers = await Promise.all(
    Array.from({ length: 120 }, (_, index) =>
      testApp.app.inject({
        url: `${path}?width=${400 + index}`,
        headers: { accept: 'image/webp' },
        remoteAddress: '10.6.6.6',
      }),
    ),
  );
  const refused = answers.filter(({ statusCode }) => statusCode === 503);
  expect(refused.length).toBeGreaterThan(50);
  expect(refused[0]?.headers['retry-after']).toBe('1');
  expect(refused[0]?.json().error.code).toBe('unavailable');
  expect(answers.filter(({ statusCode }) => statusCode === 200).length).toBe(120 - refused.length);
  expect((await get(`${path}?width=519`, { accept: 'image/webp' })).statusCode).toBe(200);
});

test('a flood by one client does not block images for others', async () => {
  const flood = Array.from({ length: 60 }, (_, index) =>
    testApp.app.inject({ url: `${path}?width=${300 + index}`, remoteAddress: '10.7.7.7' }),
  );
  const other = testApp.app.inject({ url: `${path}?width=299`, remoteAddress: '10.7.7.8' });
  const [answers, answer] = await Promise.all([Promise.all(flood), other]);
  expect(answers.filter(({ statusCode }) => statusCode === 503).length).toBeGreaterThan(10);
  expect(answer.statusCode).toBe(200);
});

describe('under load', () => {
  const idOf = (url: string): number => Number(/\d+/.exec(url)?.[0]);
  /** Requests many widths of the striped image concurrently, each from a different client address. */
  const flood = (images: Images, clients: AbortController[]) =>
    Promise.all(
      clients.map(({ signal }, index) =>
        images.find(idOf(path), 'png', { width: 101 + index, height: null, aspectRatio: null }, undefined, {
          address: `10.1.${index}.1`,
          signal,
        }),
      ),
    );
  const clients = (count: number): AbortController[] => Array.from({ length: count }, () => new AbortController());

  test('sizes that no client waits for any more are not transformed', async () => {
    const images = await createImages(testApp.deps);
    const leaving = clients(60);
    const found = await flood(images, leaving);
    const abandoned = Promise.allSettled(found.map((image) => image?.bytes()));
    for (const client of leaving) client.abort();
    await abandoned;
    expect(images.counts().transforms).toBeLessThanOrEqual(2);
    const image = await images.find(idOf(path), 'png', { width: 101, height: null, aspectRatio: null }, undefined);
    expect((await image?.bytes())?.bytes.length).toBeGreaterThan(0);
  });

  test('many sizes of one image do not delay another image', async () => {
    const images = await createImages(testApp.deps);
    const otherUrl = await storeTestImage(testApp, await drawStripes(60, 40), 'png');
    const other = await images.find(idOf(otherUrl), 'png', { width: 6, height: null, aspectRatio: null }, undefined);
    const all = Promise.all((await flood(images, clients(80))).map((image) => image?.bytes()));
    await other?.bytes();
    expect(images.counts().transforms).toBeLessThan(40);
    await all;
    expect(images.counts().transforms).toBe(81);
  });

  test('WebP replaces AVIF in the requested size', async () => {
    const images = await createImages(testApp.deps);
    const accept = 'image/avif,image/webp';
    const types: (string | undefined)[] = [];
    const answers = [];
    for (let width = 31; width < 51; width += 1) {
      const image = await images.find(idOf(path), 'png', { width, height: null, aspectRatio: null }, accept);
      types.push(image?.type);
      answers.push(image?.bytes());
    }
    expect(new Set(types)).toEqual(new Set(['avif', 'webp']));
    expect(types[0]).toBe('avif');
    const widths = (await Promise.all(answers)).map(async (image) => (await sharp(image?.bytes).metadata()).width);
    expect(await Promise.all(widths)).toEqual(Array.from({ length: 20 }, (_, index) => 31 + index));
    const later = await images.find(idOf(path), 'png', { width: 99, height: null, aspectRatio: null }, accept);
    expect(later?.type).toBe('avif');
  });
});

test('an image that is not in memory gets 503 while the database is unavailable, and 200 afterwards', async () => {
  const database = await cloneDatabase();
  const relay = await startRelay(database.url);
  const behindRelay = await createTestApp({ databaseUrl: relay.url });
  try {
    const { rows } = await behindRelay.pool.query<{ file: string }>(
      "select c.id || '.' || c.type as file from creatives c " +
        'join creative_images i on i.creative_id = c.id order by c.id limit 2',
    );
    const [first, second] = rows.map((row) => `/images/${row.file}`);
    expect((await behindRelay.app.inject(`${first}?width=20`)).statusCode).toBe(200);
    relay.cut();
    await expect.poll(behindRelay.deps.dbHealth.isUp).toBe(false);
    const response = await behindRelay.app.inject(`${second}?width=20`);
    expect(response.statusCode).toBe(503);
    expect(response.headers['retry-after']).toBe('1');
    expect(response.headers.etag).toBeUndefined();
    expect((await behindRelay.app.inject(`${first}?width=20`)).headers['cache-status']).toBe('perkwire; hit');
    relay.restore();
    await expect.poll(async () => (await behindRelay.app.inject(`${second}?width=20`)).statusCode).toBe(200);
  } finally {
    await behindRelay.close();
    relay.close();
    await database.drop();
  }
});
