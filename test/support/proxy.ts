import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** A proxy to a database that simulates network and machine failures. */
export type DatabaseProxy = {
  url: string;
  /** Breaks all connections, and refuses new ones. */
  cut: () => void;
  /** Accepts connections and bytes but forwards nothing, like a hung server. */
  freeze: () => void;
  /** Ends a cut or a freeze. Held bytes are forwarded. */
  heal: () => void;
  /** Ends a freeze for new connections only. Existing ones hang forever, as if their machine were gone. */
  strand: () => void;
  /** Returns the number of refused connections. */
  refused: () => number;
  /** Returns the number of connections with held bytes. */
  heldConnections: () => number;
  close: () => void;
};

/**
 * Starts a proxy between the application and the database.
 * @param watch called for each connection; returns a function that decides whether bytes from the client break the
 * connection
 */
export async function startProxy(
  databaseUrl: string,
  watch: () => (bytes: Buffer) => boolean = () => () => false,
): Promise<DatabaseProxy> {
  const target = new URL(databaseUrl);
  let links: { sockets: Socket[]; held: [Socket, Buffer][]; frozen: boolean }[] = [];
  let refusing = false;
  let freezing = false;
  let refusals = 0;

  const server = createServer({ allowHalfOpen: true }, (client) => {
    if (refusing) {
      refusals += 1;
      return void client.resetAndDestroy();
    }
    const upstream = connect(Number(target.port), target.hostname);
    const breaks = watch();
    const link = { sockets: [client, upstream], held: [] as [Socket, Buffer][], frozen: freezing };
    links.push(link);
    client.on('data', (bytes) => breaks(bytes) && client.resetAndDestroy());
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      from.on('data', (bytes) => (link.frozen ? link.held.push([to, bytes]) : to.write(bytes)));
      from.on('end', () => link.frozen || to.end());
      from.on('error', () => {}).on('close', () => link.frozen || to.destroy());
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = new URL(databaseUrl);
  url.hostname = '127.0.0.1';
  url.port = String((server.address() as AddressInfo).port);

  const cut = (): void => {
    refusing = true;
    for (const socket of links.flatMap(({ sockets }) => sockets)) socket.destroy();
    links = [];
  };
  return {
    url: url.href,
    cut,
    freeze: () => {
      freezing = true;
      for (const link of links) link.frozen = true;
    },
    heal: () => {
      refusing = false;
      freezing = false;
      for (const link of links) {
        link.frozen = false;
        for (const [to, bytes] of link.held.splice(0)) to.write(bytes);
      }
    },
    strand: () => {
      freezing = false;
    },
    refused: () => refusals,
    heldConnections: () => links.filter(({ held }) => held.length > 0).length,
    close: () => {
      cut();
      server.close();
    },
  };
}
