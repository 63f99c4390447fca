import { Connection } from './pool.ts';
import type { ServerUrl } from './servers.ts';

const reconnectMs = 500;

/**
 * Calls `onNotify` with the payload of each NOTIFY on a channel. It uses a dedicated connection, which is reopened when
 * it breaks. After each connect or reconnect, it calls `onNotify` once with an empty payload, because notifications may
 * have been missed.
 * @returns a function that stops listening
 */
export function listen(server: ServerUrl, channel: string, onNotify: (payload: string) => void): () => Promise<void> {
  let client: Connection | null = null;
  let timer: NodeJS.Timeout | undefined;
  let stopped = false;

  function retry(): void {
    client?.end().catch(() => {});
    client = null;
    clearTimeout(timer);
    if (!stopped) timer = setTimeout(connect, reconnectMs);
  }

  async function connect(): Promise<void> {
    const fresh = new Connection({
      server,
      application_name: `perkwire-listen`,
      connectionTimeoutMillis: 2000,
      keepAlive: true,
    });
    client = fresh;
    const lost = (): void => {
      if (client === fresh) retry();
    };
    fresh.on('error', lost);
    fresh.on('end', lost);
    fresh.on('notification', ({ payload = '' }) => onNotify(payload));
    try {
      await fresh.connect();
      await fresh.query(`listen ${fresh.escapeIdentifier(channel)}`);
      onNotify('');
    } catch {
      lost();
    }
  }

  void connect();
  return async () => {
    stopped = true;
    clearTimeout(timer);
    const last = client;
    client = null;
    await last?.end().catch(() => {});
  };
}
