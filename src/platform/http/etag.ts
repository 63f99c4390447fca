/**
 * Whether a header `If-Match` or `If-None-Match` names this ETag: one of a list, or `*`. A weak form of it counts too:
 * proxies that pack an answer weaken the ETag they pass on.
 */
export const namesEtag = (header: string | undefined, etag: string): boolean =>
  (header ?? '').split(',').some((one) => one.trim() === '*' || one.trim().replace(/^W\//, '') === etag);
