/**
 * Whether an `If-Match` or `If-None-Match` header contains the ETag or `*`. A weak ETag also matches, because proxies
 * weaken the ETags of responses that they compress.
 */
export const namesEtag = (header: string | undefined, etag: string): boolean =>
  (header ?? '').split(',').some((listed) => listed.trim() === '*' || listed.trim().replace(/^W\//, '') === etag);
