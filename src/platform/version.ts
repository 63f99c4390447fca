import { readFileSync } from 'node:fs';

export const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
  version: string;
};

/** User-Agent header that this service sends when it calls publishers. */
export const userAgent = `Perkwire/${version}`;
