import { parseServerList } from '../../config/server-list.ts';

/** A server's URL, or a function that returns the URL for new connections. */
export type ServerUrl = string | (() => string);

export const urlOf = (server: ServerUrl): string => (typeof server === 'string' ? server : server());

/** Servers listed in DATABASE_URL, of which one is writable (docs/operations.md#replicated-postgresql). */
export type Servers = {
  /** URL of each server, with a single host, in the configured order. */
  all: readonly string[];
  /** Server that was last found to be writable; the first one before any was found. */
  current: () => string;
  use: (url: string) => void;
};

/**
 * Creates the list of servers.
 * @param databaseUrl in the format of `parseServerList`
 */
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

/** Location of a server for messages: its host and port, or the folder of its socket. */
export function placeOf(url: string): string {
  const { host = '', named: socketFolder = '' } = place.exec(url)?.groups ?? {};
  return host === '' ? socketFolder.replaceAll(/%2f/gi, '/') : host;
}
