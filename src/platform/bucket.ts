import { AwsClient } from 'aws4fetch';
import type { BucketSetting } from '../config/storage.ts';

type BucketCall = {
  /** Name of the object, without the prefix of the bucket; empty for a call about the bucket. */
  name?: string;
  query?: Readonly<Record<string, string>>;
  body?: Buffer;
};

/**
 * Calls a bucket. Resolves with the response whatever its status is, including redirects, which are not followed: S3
 * sends them if the region is wrong, and their body has the reason. The caller must read the body.
 */
export type CallBucket = (method: 'GET' | 'PUT' | 'DELETE', call: BucketCall) => Promise<Response>;

/**
 * Creates a client of an S3-compatible bucket, using path-style URLs.
 * @param timeoutMs timeout of a call in milliseconds, including the transfer of its body
 */
export function createBucketClient(setting: BucketSetting, timeoutMs: number): CallBucket {
  const { endpoint, region, bucket, prefix, accessKeyId, secretAccessKey } = setting;
  const client = new AwsClient({ accessKeyId, secretAccessKey, region, service: 's3', retries: 0 });
  return async (method, { name, query, body }) => {
    const path = name === undefined ? '' : `/${encodeURI(`${prefix}${name}`)}`;
    const url = `${endpoint}/${bucket}${path}${query === undefined ? '' : `?${new URLSearchParams(query)}`}`;
    const signed = await client.sign(url, body === undefined ? { method } : { method, body: new Uint8Array(body) });
    return fetch(signed, { signal: AbortSignal.timeout(timeoutMs), redirect: 'manual' });
  };
}
