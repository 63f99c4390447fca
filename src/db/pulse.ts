import pg from 'pg';

/** Whether the store answers, known at every moment without asking it. */
export type Pulse = {
  isUp: () => boolean;
  /** Calls back when the store goes away. */
  onAway: (listener: () => void) => void;
  stop: () => Promise<void>;
};

const beatMs = 100;
/** A beat that takes longer than this means: away. A slow disk delays commits, not this read. */
const patienceMs = 180;

/**
 * Asks the store for a sign of life ten times a second on a connection of its own, so that requests are refused at
 * once (503) while it is away, instead of hanging on a dead connection, and are served again as soon as it is back.
 */
export async function startPulse(url: string, onChange: (up: boolean) => void): Promise<Pulse> {
  const listeners: (() => void)[] = [];
  let up = false;
  let stopped = false;
  let client: pg.Client | null = null;
  let timer: NodeJS.Timeout | undefined;

  function set(next: boolean): void {
    if (next === up) return;
    up = next;
    if (!up) for (const listener of listeners) listener();
    onChange(up);
  }

  function drop(): void {
    const dead = client;
    client = null;
    // A hung server would never answer a polite goodbye.
    (dead as unknown as { connection?: { stream?: { destroy: () => void } } } | null)?.connection?.stream?.destroy();
  }

  async function connect(): Promise<pg.Client> {
    const fresh = new pg.Client({ connectionString: url, application_name: 'perkwire-pulse' });
    fresh.on('error', () => {
      if (client !== fresh) return;
      drop();
      set(false);
    });
    client = fresh;
    await fresh.connect();
    return fresh;
  }

  async function beat(): Promise<void> {
    try {
      await withPatience((async () => (client ?? (await connect())).query('select 1'))());
      set(true);
    } catch {
      drop();
      set(false);
    }
    if (!stopped) timer = setTimeout(beat, beatMs);
  }

  await beat();
  return {
    isUp: () => up,
    onAway: (listener) => listeners.push(listener),
    stop: async () => {
      stopped = true;
      clearTimeout(timer);
      await client?.end().catch(() => {});
    },
  };
}

/** Rejects when `work` takes longer than the patience; what our own event loop was late for does not count. */
function withPatience(work: Promise<unknown>): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => setImmediate(() => setImmediate(() => reject(new Error('no answer in time')))), patienceMs);
    work.then(() => resolve(), reject).finally(() => clearTimeout(timer));
  });
}
