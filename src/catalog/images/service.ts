import { hash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { createFailFast } from '../../platform/db/fail-fast.ts';
import { AppError } from '../../platform/errors.ts';
import { createLimiter, type WorkOptions } from '../../platform/lib/fair-limiter.ts';
import type { PlatformDeps } from '../../platform/ports.ts';
import { chooseType, type ImageType } from './accept.ts';
import { openDiskCache } from './disk-cache.ts';
import { completeOriginal, findPicture, type Original } from './original.ts';
import { planSize, type RequestedImage, type Size } from './parameters.ts';
import { createImageStore } from './store.ts';
import { encoderVersion, isAnimated, isProcessable, transform } from './transform.ts';

/**
 * Where the bytes came from: memory (`hit`), the database, image store or encoder (`made`), or the work of a parallel
 * request (`collapsed`).
 */
export type Source = 'hit' | 'made' | 'collapsed';

/** A picture to answer with. Its ETag is known before the bytes are, so a client that has them costs no work. */
type Picture = { etag: string; type: ImageType; bytes: () => Promise<{ bytes: Buffer; source: Source }> };

export type Images = {
  /**
   * The picture of a creative, in the size and type wanted; null where there is none.
   * Errors: unavailable (database or image store down, or too many waiting), image_not_processable.
   * @param client address of the caller: work is shared fairly among clients
   */
  find: (
    id: number,
    type: ImageType,
    requested: RequestedImage,
    accept: string | undefined,
    client?: string,
  ) => Promise<Picture | null>;
  /** Since the start (counts). */
  counts: () => { transforms: number; loads: number };
};

/**
 * libuv has four threads; two stay free for everything else. Waiting, for each client: about half a minute of work at
 * worst.
 */
const message = 'Too many pictures are being made.';
const maxWaitMs = 30_000;
const transformLimits = { maxConcurrent: 2, maxWaitingPerClient: 32, maxWaiting: 512, maxWaitMs, message };

/** A few connections of the pool, so that pictures never keep beacons waiting. */
const loadLimits = { maxConcurrent: 3, maxWaitingPerClient: 256, maxWaiting: 2048, maxWaitMs, message };

/** How long an original is served without checking that it still exists (milliseconds). */
const originalLifeMs = 60_000;

type Plan = { key: string; size: Size; type: ImageType };

/**
 * Pictures, resized on the fly, kept in memory up to `IMAGE_CACHE_MB` and on disk up to `IMAGE_CACHE_DISK_MB`; parallel
 * calls for one picture share the work.
 */
export async function createImages({
  pool,
  dbHealth,
  config,
  logger,
}: Pick<PlatformDeps, 'pool' | 'dbHealth' | 'config' | 'logger'>): Promise<Images> {
  const store = createImageStore(config.imageStore);
  const disk = await openDiskCache({
    folder: config.imageCacheDir,
    maxBytes: config.imageCacheDiskMb * 1024 * 1024,
    logger,
  });
  const failFast = createFailFast(dbHealth);
  const limitLoads = createLimiter(loadLimits);
  const limitTransforms = createLimiter(transformLimits);
  const maxSize = (config.imageCacheMb * 1024 * 1024) / 2;
  const originals = new LRUCache<string, Original>({
    maxSize,
    sizeCalculation: ({ bytes }) => bytes.length + 256,
    ttl: originalLifeMs,
  });
  const transformed = new LRUCache<string, Buffer>({ maxSize, sizeCalculation: (bytes) => bytes.length + 256 });
  const pendingLoads = new Map<string, Promise<Original | null>>();
  const pendingTransforms = new Map<string, Promise<Buffer>>();
  const counts = { transforms: 0, loads: 0 };

  async function load(key: string, id: number, type: ImageType, workOptions: WorkOptions): Promise<Original | null> {
    return limitLoads(async () => {
      const picture = await failFast(() => findPicture(pool, id, type));
      counts.loads += 1;
      if (picture === null) return null;
      const original = await completeOriginal(picture, type, store);
      originals.set(key, original);
      return original;
    }, workOptions);
  }

  async function make(original: Original, { key, size, type }: Plan, workOptions: WorkOptions): Promise<Buffer> {
    const stored = await disk?.get(key);
    if (stored) {
      transformed.set(key, stored);
      return stored;
    }
    const bytes = await limitTransforms(() => {
      counts.transforms += 1;
      return transform(original, size, type);
    }, workOptions);
    transformed.set(key, bytes);
    void disk?.set(key, bytes);
    return bytes;
  }

  async function bytesOf(
    original: Original,
    plan: Plan,
    workOptions: WorkOptions,
  ): Promise<{ bytes: Buffer; source: Source }> {
    const known = transformed.get(plan.key);
    if (known !== undefined) return { bytes: known, source: 'hit' };
    const source = pendingTransforms.has(plan.key) ? 'collapsed' : 'made';
    return { bytes: await shared(pendingTransforms, plan.key, () => make(original, plan, workOptions)), source };
  }

  return {
    counts: () => ({ ...counts }),
    find: async (id, type, requested, accept, client = '') => {
      const workOptions = { client };
      const key = `${id}.${type}`;
      const known = originals.get(key);
      const original = known ?? (await shared(pendingLoads, key, () => load(key, id, type, workOptions)));
      if (original === null) return null;
      const plan = planOf(original, requested, accept);
      if (plan === null) {
        const source = known === undefined ? 'made' : 'hit';
        return { etag: etagOf(original.sha256), type, bytes: async () => ({ bytes: original.bytes, source }) };
      }
      return { etag: etagOf(plan.key), type: plan.type, bytes: () => bytesOf(original, plan, workOptions) };
    },
  };
}

/** The transformation needed; null: the original as it is. */
function planOf(original: Original, requested: RequestedImage, accept: string | undefined): Plan | null {
  const { size: originalSize, sha256 } = original;
  if (originalSize === null || !isProcessable(originalSize)) {
    if (requested.width === null && requested.height === null && requested.aspectRatio === null) return null;
    throw new AppError('image_not_processable');
  }
  const size = planSize(originalSize, requested);
  const type = chooseType(accept, original.type, isAnimated(original, size));
  if (type === original.type && size.width === originalSize.width && size.height === originalSize.height) return null;
  return { key: `${sha256} ${size.width}x${size.height} ${type} ${encoderVersion}`, size, type };
}

const etagOf = (text: string): string => `"${hash('sha256', text, 'hex').slice(0, 32)}"`;

/** Parallel calls with one key share the work. */
function shared<T>(pending: Map<string, Promise<T>>, key: string, work: () => Promise<T>): Promise<T> {
  let promise = pending.get(key);
  if (promise === undefined) {
    promise = work().finally(() => pending.delete(key));
    pending.set(key, promise);
  }
  return promise;
}
