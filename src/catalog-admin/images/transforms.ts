import { LRUCache } from 'lru-cache';
import { createLimiter } from '../../platform/lib/fair-limiter.ts';
import { createSharedWork } from '../../platform/lib/shared-work.ts';
import { problem } from '../../platform/problem.ts';
import type { ImageType } from './accept.ts';
import type { DiskCache } from './disk-cache.ts';
import type { Original } from './original.ts';
import type { Size } from './parameters.ts';
import { transform } from './transform.ts';

/**
 * Source of the bytes: the memory cache (`hit`); the database, image store or encoder (`made`); or a concurrent request
 * for the same image (`collapsed`).
 */
export type Source = 'hit' | 'made' | 'collapsed';

/** Client that requested the image. */
export type ImageClient = {
  /** Client IP address. Capacity is shared fairly between addresses. */
  address: string;
  /**
   * Signal that aborts when the client disconnects. Queued work is not started if no client is waiting for it any more.
   */
  signal?: AbortSignal | undefined;
};

/** Target size and type of a transform, with its cache key. */
export type Plan = { key: string; size: Size; type: ImageType };

const message = problem('imagesWaiting');
/** Limits that apply to both queued loads and queued transforms. */
export const waitLimits = { maxWaitMs: 30_000, message };

/** Maximum number of transforms, running and queued, in total and per client address. */
const addressLimits = {
  maxConcurrent: 512,
  maxConcurrentPerClient: 32,
  maxWaitingPerClient: 0,
  message,
};

/**
 * Limits for running transforms. Originals take turns, so that many sizes of one original do not delay other images.
 * Two of libuv's four threads are left for other work.
 */
const transformLimits = { maxConcurrent: 2, maxWaitingPerClient: 512, ...waitLimits };

/**
 * Number of running and queued transforms at which the service stops encoding AVIF, which takes several times as long
 * as other types.
 */
const busyTransforms = 6;

export type Transforms = {
  /**
   * Returns the transformed image.
   * @throws AppError unavailable if too many transforms are queued; image_not_processable
   */
  bytesOf: (original: Original, plan: Plan, client: ImageClient) => Promise<{ bytes: Buffer; source: Source }>;
  /** Whether the transformed image is cached or being created. */
  has: (plan: Plan) => boolean;
  /** Whether so many transforms are running or queued that AVIF takes too long to encode. */
  isBusy: () => boolean;
  /** Returns the number of transforms since startup. */
  transformCount: () => number;
};

/**
 * Creates the transform service. Results are cached in memory, up to `maxSize` bytes, and on disk. Concurrent requests
 * for the same image share one transform.
 */
export function createTransforms({ disk, maxSize }: { disk: DiskCache | null; maxSize: number }): Transforms {
  const limitAddresses = createLimiter(addressLimits);
  const limitTransforms = createLimiter(transformLimits);
  const transformed = new LRUCache<string, Buffer>({ maxSize, sizeCalculation: (bytes) => bytes.length + 256 });
  const pending = createSharedWork<Buffer>();
  let transformCount = 0;

  async function make(original: Original, { key, size, type }: Plan, client: ImageClient): Promise<Buffer> {
    const stored = await disk?.get(key);
    if (stored) {
      transformed.set(key, stored);
      return stored;
    }
    const work = (): Promise<Buffer> => {
      transformCount += 1;
      return transform(original, size, type);
    };
    const inTurn = (): Promise<Buffer> => limitTransforms(work, { client: original.sha256, signal: client.signal });
    const bytes = await limitAddresses(inTurn, { client: client.address, signal: client.signal });
    transformed.set(key, bytes);
    void disk?.set(key, bytes);
    return bytes;
  }

  return {
    transformCount: () => transformCount,
    isBusy: () => pending.count() >= busyTransforms,
    has: ({ key }) => transformed.has(key) || pending.has(key),
    bytesOf: async (original, plan, { address, signal }) => {
      const cached = transformed.get(plan.key);
      if (cached !== undefined) return { bytes: cached, source: 'hit' };
      const source = pending.has(plan.key) ? 'collapsed' : 'made';
      const work = (abandoned: AbortSignal) => make(original, plan, { address, signal: abandoned });
      return { bytes: await pending.join(plan.key, signal, work), source };
    },
  };
}
