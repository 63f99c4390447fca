import pg from 'pg';

/** Whether the store answers, known at every moment without asking it. */
export type DatabaseHealth = {
  isUp: () => boolean;
  /** Tells of an answer the store gave to somebody else: as good as one to our own question. */
  sawAnswer: () => void;
  /** Calls back when the store goes away. */
  onDown: (listener: () => void) => void;
  stop: () => Promise<void>;
};

const beatMs = 50;
/**
 * Away: neither our question nor anybody else's is answered for this long. A slow disk delays commits, not our read.
 */
const probeTimeoutMs = 220;
/** A timer this late says that this process is short of time itself, and the silence proves nothing. */
const starvedMs = 25;

/**
 * Asks the store for a sign of life on a connection of its own, all the time, so that requests are refused at once
 * (503)
 * while it is away instead of hanging on a dead connection, and are served again as soon as it is back.
 */
export async function startDatabaseHealth(url: string, onChange: (up: boolean) => void): Promise<DatabaseHealth> {
  const listeners: (() => void)[] = [];
  let up = false;
  let stopped = false;
  let client: pg.Client | null = null;
  let timer: NodeJS.Timeout | undefined;
  let lifeMs = 0;

  function set(next: boolean): void {
    if (next === up || stopped) return;
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
    const fresh = new pg.Client({ connectionString: url, application_name: 'perkwire-health' });
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
      await withPatience((async () => (client ?? (await connect())).query('select 1'))(), () => lifeMs);
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
    sawAnswer: () => {
      lifeMs = performance.now();
    },
    onDown: (listener) => listeners.push(listener),
    stop: async () => {
      stopped = true;
      clearTimeout(timer);
      await client?.end().catch(() => {});
    },
  };
}

/**
 * Rejects when `work` takes longer than the patience, counted from the last sign of life and not while this process is
 * starved.
 */
function withPatience(work: Promise<unknown>, lastLifeMs: () => number): Promise<void> {
  return new Promise((resolve, reject) => {
    let timer: NodeJS.Timeout;
    const wait = (forMs: number): void => {
      const dueMs = performance.now() + forMs;
      timer = setTimeout(() => {
        const nowMs = performance.now();
        const leftMs = lastLifeMs() + probeTimeoutMs - nowMs;
        if (nowMs - dueMs > starvedMs) wait(probeTimeoutMs);
        else if (leftMs > 1) wait(leftMs);
        else reject(new Error('no answer in time'));
      }, forMs);
    };
    wait(probeTimeoutMs);
    work.then(() => resolve(), reject).finally(() => clearTimeout(timer));
  });
}
