import type { IncomingHttpHeaders } from 'node:http';

/** Safari asks for what it shows small, before anybody opened it, with `preview`. */
const guess = /prefetch|prerender|preview/i;

/** Whether a browser only guesses that the address will be needed: `Sec-Purpose`, `Purpose` or `X-Moz` says so. */
export function isPrefetch(headers: IncomingHttpHeaders): boolean {
  return says(headers['sec-purpose']) || says(headers.purpose) || says(headers['x-moz']);
}

const says = (value: string | string[] | undefined): boolean => value !== undefined && guess.test(String(value));
