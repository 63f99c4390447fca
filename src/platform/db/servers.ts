import { parseServerList } from '../../config/server-list.ts';

/** A server's URL, or what tells the URL of the server that new connections go to. */
export type ServerUrl = string | (() => string);

export const urlOf = (server: ServerUrl): string => (typeof server === 'string' ? server : server());

/** The servers that DATABASE_URL lists, of which one is writable (docs/operations.md#replicated-postgresql). */
export type Servers = {
  /** A URL with one host for each, in the order given. */
  all: readonly string[];
  /** The one that was found to be writable last; the first, before any was. */
  current: () => string;
  use: (url: string) => void;
};

/** @param databaseUrl as `parseServerList` takes it */
export function createServers(databaseUrl: string): Servers {
  const all = parseServerList(databaseUrl);
  let current = all[0] as string;
  return {
    all,
    current: () => current,
    use: (url) => {
      current = url;
    },
  };
}

const place = /^[^/]*\/\/(?:[^@/?#]*@)?(?<host>[^/?#]*).*?(?:[?&]host=(?<named>[^&#]*)|$)/;

/** Where a server is, for messages: its host and port, or the folder of its socket. */
export function placeOf(url: string): string {
  const { host = '', named = '' } = place.exec(url)?.groups ?? {};
  return host === '' ? named.replaceAll(/%2f/gi, '/') : host;
}
