/** S3-compatible bucket, used with path-style URLs. */
export type BucketSetting = {
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

/** Storage for files: a folder that all processes share, or a bucket. */
export type StorageSetting = { kind: 'folder'; path: string } | BucketSetting;

type StorageVariables = { name: string; store: string; accessKeyId: string; secretAccessKey: string };

/**
 * Parses a storage location: the absolute path of a folder, its `file:` URL, or
 * `s3://bucket/prefix?endpoint=https://…&region=…`.
 * @param name name of the variable, for the problems
 * @param problems array to which problems are added
 * @returns null if the location has a problem
 */
export function parseStorage(
  { name, store, accessKeyId, secretAccessKey }: StorageVariables,
  problems: string[],
): StorageSetting | null {
  if (store.startsWith('/')) return { kind: 'folder', path: store };
  const url = URL.canParse(store) ? new URL(store) : null;
  if (url?.protocol === 'file:' && url.host === '' && url.pathname !== '/')
    return { kind: 'folder', path: decodeURIComponent(url.pathname) };
  if (url?.protocol !== 's3:' || !/^[a-z0-9][a-z0-9.-]{1,62}$/.test(url.hostname)) {
    problems.push(
      `${name} must be empty, an absolute directory path, ` +
        'or look like s3://bucket/prefix?endpoint=https://…&region=…',
    );
    return null;
  }
  const unknown = [...url.searchParams.keys()].filter((key) => key !== 'endpoint' && key !== 'region');
  if (unknown.length > 0)
    problems.push(`${name} contains the unknown parameter ${unknown[0]}; use endpoint and region only`);
  if (accessKeyId === '' || secretAccessKey === '')
    problems.push(`S3_ACCESS_KEY_ID and S3_SECRET_ACCESS_KEY must be set if ${name} is a bucket`);
  const region = url.searchParams.get('region') ?? 'us-east-1';
  const endpoint = url.searchParams.get('endpoint') ?? `https://s3.${region}.amazonaws.com`;
  if (!URL.canParse(endpoint) || !/^https?:\/\/[^/]+\/?$/.test(endpoint))
    problems.push(`${name} must contain an http or https origin as endpoint`);
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

type DataFileVariables = { DATA_FILES_URL: string; S3_ACCESS_KEY_ID: string; S3_SECRET_ACCESS_KEY: string };

/** Parses DATA_FILES_URL. Returns null if it is empty or has a problem, which is added to `problems`. */
export const parseDataFiles = (raw: DataFileVariables, problems: string[]): StorageSetting | null =>
  raw.DATA_FILES_URL === ''
    ? null
    : parseStorage(
        {
          name: 'DATA_FILES_URL',
          store: raw.DATA_FILES_URL,
          accessKeyId: raw.S3_ACCESS_KEY_ID,
          secretAccessKey: raw.S3_SECRET_ACCESS_KEY,
        },
        problems,
      );
