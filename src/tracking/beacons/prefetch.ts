import type { IncomingHttpHeaders } from 'node:http';

/** Safari sends `preview` for the thumbnails of its start page. */
const purposes = /prefetch|prerender|preview/i;

/** Whether a browser fetches the address before a user asked for it: `Sec-Purpose`, `Purpose` or `X-Moz` says so. */
export function isPrefetch(headers: IncomingHttpHeaders): boolean {
  return [headers['sec-purpose'], headers.purpose, headers['x-moz']].some(
    (value) => value !== undefined && purposes.test(String(value)),
  );
}
