/** Settings of the storage for original images. */
export type ImageStoreSetting =
  | { kind: 'database' }
  | { kind: 'folder'; path: string }
  | {
      kind: 's3';
      /** Origin of the storage service, without a trailing slash. */
      endpoint: string;
      region: string;
      bucket: string;
      /** Prefix of every object name: empty, or ending with a slash. */
      prefix: string;
      accessKeyId: string;
      secretAccessKey: string;
    };

type ImageStoreVariables = { store: string; accessKeyId: string; secretAccessKey: string };

/**
 * Parses IMAGE_STORE: empty, the absolute path of a folder, or `s3://bucket/prefix?endpoint=https://…&region=…`.
 * @param problems array to which problems are added
 */
export function parseImageStore(
  { store, accessKeyId, secretAccessKey }: ImageStoreVariables,
  problems: string[],
): ImageStoreSetting {
  if (store === '') return { kind: 'database' };
  if (store.startsWith('/')) return { kind: 'folder', path: store };
  const url = URL.canParse(store) ? new URL(store) : null;
  if (url?.protocol !== 's3:' || !/^[a-z0-9][a-z0-9.-]{1,62}$/.test(url.hostname)) {
    problems.push(
      'IMAGE_STORE must be empty, an absolute directory path, ' +
        'or look like s3://bucket/prefix?endpoint=https://…&region=…',
    );
    return { kind: 'database' };
  }
  if (accessKeyId === '' || secretAccessKey === '')
    problems.push('S3_ACCESS_KEY_ID and S3_SECRET_ACCESS_KEY must be set if IMAGE_STORE is a bucket');
  const region = url.searchParams.get('region') ?? 'us-east-1';
  const endpoint = url.searchParams.get('endpoint') ?? `https://s3.${region}.amazonaws.com`;
  if (!URL.canParse(endpoint) || !/^https?:\/\/[^/]+\/?$/.test(endpoint))
    problems.push('IMAGE_STORE must contain an http or https origin as endpoint');
  const prefix = url.pathname.replace(/^\/+|\/+$/g, '');
  return {
    kind: 's3',
    endpoint: endpoint.replace(/\/$/, ''),
    region,
    bucket: url.hostname,
    prefix: prefix === '' ? '' : `${prefix}/`,
    accessKeyId,
    secretAccessKey,
  };
}
