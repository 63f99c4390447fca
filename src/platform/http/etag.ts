/**
 * Whether an `If-Match` or `If-None-Match` header matches the ETag, or is `*`. Weak ETags also match, because proxies
 * weaken the ETag of a response when they compress it.
 */
export const namesEtag = (header: string | undefined, etag: string): boolean =>
  (header ?? '').split(',').some((listed) => listed.trim() === '*' || listed.trim().replace(/^W\//, '') === etag);
