import { AwsClient } from 'aws4fetch';
import type { ImageStoreSetting } from '../../config.ts';
import type { ImageStore } from './image-store.ts';

/** A call of the bucket takes at most this long (milliseconds). */
const timeoutMs = 10_000;

/** Originals as objects of an S3-compatible bucket, addressed by path. */
export function createS3Store(setting: Extract<ImageStoreSetting, { kind: 's3' }>): ImageStore {
  const { endpoint, region, bucket, prefix, accessKeyId, secretAccessKey } = setting;
  const client = new AwsClient({ accessKeyId, secretAccessKey, region, service: 's3', retries: 0 });

  async function call(method: 'GET' | 'PUT', sha256: string, body?: Buffer): Promise<Response> {
    const url = `${endpoint}/${bucket}/${prefix}${sha256}`;
    const signed = await client.sign(url, body === undefined ? { method } : { method, body: new Uint8Array(body) });
    return fetch(signed, { signal: AbortSignal.timeout(timeoutMs), redirect: 'error' });
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
