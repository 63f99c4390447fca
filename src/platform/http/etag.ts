/**
 * Whether a header `If-Match` or `If-None-Match` contains an ETag in its list, or is `*`. Its weak form matches too,
 * because proxies that compress responses weaken the ETag.
 */
export const namesEtag = (header: string | undefined, etag: string): boolean =>
  (header ?? '').split(',').some((listed) => listed.trim() === '*' || listed.trim().replace(/^W\//, '') === etag);
