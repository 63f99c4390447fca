import type { FastifyRequest } from 'fastify';

/**
 * Whether a state-changing request may come from where it says. Browsers always name the origin of a form; it must be
 * ours, by the
 * public URL or by the name the server was reached under. Programs that name none are no browsers, and carry nobody's
 * cookies.
 */
export function comesFromOurPages({ headers }: FastifyRequest, publicUrl: string): boolean {
  const { origin, host } = headers;
  const site = headers['sec-fetch-site'];
  if (site !== undefined && site !== 'same-origin' && site !== 'none') return false;
  if (origin === undefined) return true;
  if (origin === publicUrl) return true;
  return host !== undefined && URL.canParse(origin) && new URL(origin).host === host.toLowerCase();
}
