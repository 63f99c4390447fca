import { LRUCache } from 'lru-cache';
import { createLimiter } from '../../platform/lib/fair-limiter.ts';
import { createSharedWork } from '../../platform/lib/shared-work.ts';
import type { ImageType } from './accept.ts';
import type { DiskCache } from './disk-cache.ts';
import type { Original } from './original.ts';
import type { Size } from './parameters.ts';
import { transform } from './transform.ts';

/**
 * Where the bytes came from: memory (`hit`), the database, image store or encoder (`made`), or the work of a parallel
 * request (`collapsed`).
 */
export type Source = 'hit' | 'made' | 'collapsed';

/** Whom the work is for. */
export type ImageClient = {
  /** Address: each has its share of the work. */
  address: string;
  /** Aborts when the client has disconnected: work without a client is not begun. */
  signal?: AbortSignal | undefined;
};

/** The size and type that an original is made into. */
export type Plan = { key: string; size: Size; type: ImageType };

const message = 'Too many pictures are being made.';
/** Of loads and transforms that wait. */
export const waitLimits = { maxWaitMs: 30_000, message };

/** Transforms under way and waiting (count), each address and all together. */
const addressLimits = {
  maxConcurrent: 512,
  maxConcurrentPerClient: 32,
  maxWaitingPerClient: 0,
  message,
};

/**
 * Of them, originals are worked on in turn: many sizes of one do not delay the others. libuv has four threads; two stay
 * free for everything else.
 */
const transformLimits = { maxConcurrent: 2, maxWaitingPerClient: 512, ...waitLimits };

/** With this many transforms under way and waiting (count), no more AVIF is made, which takes several times as long. */
const busyTransforms = 6;

export type Transforms = {
  /** Errors: unavailable where too many wait, image_not_processable. */
  bytesOf: (original: Original, plan: Plan, client: ImageClient) => Promise<{ bytes: Buffer; source: Source }>;
  /** Whether it is there, or being made. */
  has: (plan: Plan) => boolean;
  /** Whether so many are being made that a client would wait long. */
  isBusy: () => boolean;
  /** Since the start (count). */
  made: () => number;
};

/** Pictures made of originals, kept in memory up to `maxSize` (bytes) and on disk; parallel calls share the work. */
export function createTransforms({ disk, maxSize }: { disk: DiskCache | null; maxSize: number }): Transforms {
  const limitAddresses = createLimiter(addressLimits);
  const limitTransforms = createLimiter(transformLimits);
  const transformed = new LRUCache<string, Buffer>({ maxSize, sizeCalculation: (bytes) => bytes.length + 256 });
  const pending = createSharedWork<Buffer>();
  let made = 0;

  async function make(original: Original, { key, size, type }: Plan, client: ImageClient): Promise<Buffer> {
    const stored = await disk?.get(key);
    if (stored) {
      transformed.set(key, stored);
      return stored;
    }
    const work = (): Promise<Buffer> => {
      made += 1;
      return transform(original, size, type);
    };
    const inTurn = (): Promise<Buffer> => limitTransforms(work, { client: original.sha256, signal: client.signal });
    const bytes = await limitAddresses(inTurn, { client: client.address, signal: client.signal });
    transformed.set(key, bytes);
    void disk?.set(key, bytes);
    return bytes;
  }

  return {
    made: () => made,
    isBusy: () => pending.count() >= busyTransforms,
    has: ({ key }) => transformed.has(key) || pending.has(key),
    bytesOf: async (original, plan, { address, signal }) => {
      const known = transformed.get(plan.key);
      if (known !== undefined) return { bytes: known, source: 'hit' };
      const source = pending.has(plan.key) ? 'collapsed' : 'made';
      const work = (abandoned: AbortSignal) => make(original, plan, { address, signal: abandoned });
      return { bytes: await pending.join(plan.key, signal, work), source };
    },
  };
}
