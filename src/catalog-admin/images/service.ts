import { hash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type pg from 'pg';
import type { Config } from '../../config.ts';
import { createFailFast, type DatabaseHealth } from '../../platform/db/health.ts';
import { AppError } from '../../platform/errors.ts';
import { createLimiter, type WorkOptions } from '../../platform/lib/fair-limiter.ts';
import { createSharedWork } from '../../platform/lib/shared-work.ts';
import type { Logger } from '../../platform/logger.ts';
import { createImageStore } from '../images.ts';
import { chooseType, type ImageType } from './accept.ts';
import { openDiskCache } from './disk-cache.ts';
import { completeOriginal, findImage, type Original } from './original.ts';
import { planSize, type RequestedImage } from './parameters.ts';
import { encoderVersion, isAnimated, isProcessable } from './transform.ts';
import { createTransforms, type ImageClient, type Plan, type Source, waitLimits } from './transforms.ts';

/**
 * Image to send. Its ETag is computed without loading the bytes, so that a conditional request can be answered without
 * loading or transforming the image.
 */
type ServedImage = { etag: string; type: ImageType; bytes: () => Promise<{ bytes: Buffer; source: Source }> };

export type Images = {
  /**
   * Returns the image of a creative in the requested size and type, or null if the creative has no image.
   * @throws AppError unavailable if the database or image store is down, or too many requests are queued;
   * image_not_processable
   */
  find: (
    id: number,
    type: ImageType,
    requested: RequestedImage,
    accept: string | undefined,
    client?: ImageClient,
  ) => Promise<ServedImage | null>;
  /** Returns the number of transforms and loads since startup. */
  counts: () => { transforms: number; loads: number };
};

/**
 * Limits concurrent loads of original images, so that image requests use only a few pooled connections and do not delay
 * beacons.
 */
const loadLimits = {
  maxConcurrent: 3,
  maxWaitingPerClient: 256,
  maxWaiting: 2048,
  ...waitLimits,
};

/** Time for which a loaded original is cached before the service checks again that it still exists, in milliseconds. */
const originalLifeMs = 60_000;

export type ImageDeps = { pool: pg.Pool; dbHealth: DatabaseHealth; config: Config; logger: Logger };

/**
 * Creates the image service. It resizes images on the fly and caches them in memory (up to `IMAGE_CACHE_MB`) and on
 * disk (up to `IMAGE_CACHE_DISK_MB`). Concurrent requests for the same image share one transform.
 */
export async function createImages({ pool, dbHealth, config, logger }: ImageDeps): Promise<Images> {
  const store = createImageStore(config.imageStore);
  const disk = await openDiskCache({
    folder: config.imageCacheDir,
    maxBytes: config.imageCacheDiskMb * 1024 * 1024,
    logger,
  });
  const failFast = createFailFast(dbHealth);
  const limitLoads = createLimiter(loadLimits);
  const maxSize = (config.imageCacheMb * 1024 * 1024) / 2;
  const originals = new LRUCache<string, Original>({
    maxSize,
    sizeCalculation: ({ bytes }) => bytes.length + 256,
    ttl: originalLifeMs,
  });
  const loads = createSharedWork<Original | null>();
  const transforms = createTransforms({ disk, maxSize });
  let loaded = 0;

  async function load(key: string, id: number, type: ImageType, workOptions: WorkOptions): Promise<Original | null> {
    return limitLoads(async () => {
      const image = await failFast(() => findImage(pool, id, type));
      loaded += 1;
      if (image === null) return null;
      const original = await completeOriginal(image, type, store);
      originals.set(key, original);
      return original;
    }, workOptions);
  }

  /**
   * Chooses the transform for a request. Under load, WebP is used instead of AVIF because it is faster to encode,
   * unless the AVIF image is already cached.
   */
  function choosePlan(original: Original, requested: RequestedImage, accept: string | undefined): Plan | null {
    const best = planOf(original, requested, accept);
    const isSlow = best?.type === 'avif' && transforms.isBusy() && !transforms.has(best);
    return isSlow ? planOf(original, requested, accept, ['webp']) : best;
  }

  return {
    counts: () => ({ transforms: transforms.transformCount(), loads: loaded }),
    find: async (id, type, requested, accept, client = { address: '' }) => {
      const key = `${id}.${type}`;
      const cachedOriginal = originals.get(key);
      const original =
        cachedOriginal ??
        (await loads.join(key, client.signal, (signal) => load(key, id, type, { client: client.address, signal })));
      if (original === null) return null;
      const plan = choosePlan(original, requested, accept);
      if (plan === null) {
        const source = cachedOriginal === undefined ? 'made' : 'hit';
        return { etag: etagOf(original.sha256), type, bytes: async () => ({ bytes: original.bytes, source }) };
      }
      return { etag: etagOf(plan.key), type: plan.type, bytes: () => transforms.bytesOf(original, plan, client) };
    },
  };
}

/**
 * Returns the transform that a request needs, or null if the original can be sent unchanged.
 * @throws AppError image_not_processable if the original cannot be transformed
 */
function planOf(
  original: Original,
  requested: RequestedImage,
  accept: string | undefined,
  betterTypes?: readonly ImageType[],
): Plan | null {
  const { size: originalSize, sha256 } = original;
  if (originalSize === null || !isProcessable(originalSize)) {
    if (requested.width === null && requested.height === null && requested.aspectRatio === null) return null;
    throw new AppError('image_not_processable');
  }
  const size = planSize(originalSize, requested);
  const type = chooseType(accept, original.type, isAnimated(original, size), betterTypes);
  if (type === original.type && size.width === originalSize.width && size.height === originalSize.height) return null;
  return { key: `${sha256} ${size.width}x${size.height} ${type} ${encoderVersion}`, size, type };
}

const etagOf = (text: string): string => `"${hash('sha256', text, 'hex').slice(0, 32)}"`;
