import { createHash } from 'node:crypto';
import { AwsClient } from 'aws4fetch';
import type { ImageStoreSetting } from '../config.ts';
import type { Executor } from '../platform/db/pool.ts';
import { AppError } from '../platform/errors.ts';
import { pathOf, readIfThere, writeWhole } from './images/files.ts';
import type { ImageStore } from './images/image-store.ts';

/**
 * Creates the image store of the configuration.
 * @returns null if pictures are kept in the database
 */
export function createImageStore(setting: ImageStoreSetting): ImageStore | null {
  switch (setting.kind) {
    case 'database':
      return null;
    case 'folder':
      return createFolderStore(setting.path);
    case 's3':
      return createS3Store(setting);
  }
}

/** Stores originals as files in a folder, which several processes may share. */
const createFolderStore = (folder: string): ImageStore => ({
  put: async (sha256, bytes) => {
    const path = pathOf(folder, sha256);
    const present = await readIfThere(path);
    if (present === null || !present.equals(bytes)) await writeWhole(path, bytes, { durable: true });
  },
  get: (sha256) => readIfThere(pathOf(folder, sha256)),
});

/** Timeout of a call to the bucket (milliseconds). */
const bucketTimeoutMs = 10_000;

/** Stores originals as objects of an S3-compatible bucket with path-style URLs. */
function createS3Store(setting: Extract<ImageStoreSetting, { kind: 's3' }>): ImageStore {
  const { endpoint, region, bucket, prefix, accessKeyId, secretAccessKey } = setting;
  const client = new AwsClient({ accessKeyId, secretAccessKey, region, service: 's3', retries: 0 });

  async function call(method: 'GET' | 'PUT', sha256: string, body?: Buffer): Promise<Response> {
    const url = `${endpoint}/${bucket}/${prefix}${sha256}`;
    const signed = await client.sign(url, body === undefined ? { method } : { method, body: new Uint8Array(body) });
    return fetch(signed, { signal: AbortSignal.timeout(bucketTimeoutMs), redirect: 'error' });
  }

  return {
    put: async (sha256, bytes) => {
      const response = await call('PUT', sha256, bytes);
      await response.arrayBuffer();
      if (!response.ok) throw new Error(`the bucket answered ${response.status} to a PUT`);
    },
    get: async (sha256) => {
      const response = await call('GET', sha256);
      const bytes = Buffer.from(await response.arrayBuffer());
      if (response.status === 404) return null;
      if (!response.ok) throw new Error(`the bucket answered ${response.status} to a GET`);
      return bytes;
    },
  };
}

/**
 * Stores the picture of a creative. The bytes are written to the image store before the row refers to them, so a
 * rollback leaves unused bytes there.
 * @throws AppError unavailable if the image store rejects them
 */
export async function saveOriginal(
  executor: Executor,
  store: ImageStore | null,
  creativeId: number,
  bytes: Buffer,
): Promise<void> {
  const digest = createHash('sha256').update(bytes).digest();
  await store?.put(digest.toString('hex'), bytes).catch((cause: unknown) => {
    throw new AppError('unavailable', {
      message: 'The image store is temporarily unavailable.',
      retryAfterS: 5,
      cause,
    });
  });
  await executor.query({
    name: 'save_image',
    text: `insert into creative_images (creative_id, bytes, sha256) values ($1, $2, $3)
on conflict (creative_id) do update set bytes = excluded.bytes, sha256 = excluded.sha256`,
    values: [creativeId, store === null ? bytes : null, digest],
  });
}
