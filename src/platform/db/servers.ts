import { parseServerList } from '../../config/server-list.ts';

/** URL of a database server, or a function that is called for the URL of each new connection. */
export type ServerUrl = string | (() => string);

export const urlOf = (server: ServerUrl): string => (typeof server === 'string' ? server : server());

/** Servers listed in DATABASE_URL, exactly one of which is writable (docs/operations.md#replicated-postgresql). */
export type Servers = {
  /** Server URLs in the configured order, each with a single host. */
  all: readonly string[];
  /**
   * Returns the URL of the server that was last found to be writable, or of the first server if none has been found
   * yet.
   */
  current: () => string;
  use: (url: string) => void;
};

/**
 * Creates the list of database servers.
 * @param databaseUrl URL in the format of `parseServerList`
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

/** Returns the location of a server for messages: its host and port, or its socket directory. */
export function placeOf(url: string): string {
  const { host = '', named: socketFolder = '' } = place.exec(url)?.groups ?? {};
  return host === '' ? socketFolder.replaceAll(/%2f/gi, '/') : host;
}
