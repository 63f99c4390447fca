import { Socket } from 'node:net';
import pg from 'pg';

/** Whether the database is available, known at every moment without a query. */
export type DatabaseHealth = {
  isUp: () => boolean;
  /** Reports a response to any statement, which counts as much as one to a probe. */
  sawAnswer: () => void;
  /** Calls back when the database becomes unavailable. */
  onDown: (listener: () => void) => void;
  stop: () => Promise<void>;
};

/** Pause between two probes (milliseconds). */
const probeIntervalMs = 50;
/**
 * The database is unavailable when no statement, neither the probe nor another, is answered for this long
 * (milliseconds). A slow disk delays commits, not the probe's read.
 */
const probeTimeoutMs = 220;
/** A timer this late means that this process is short of CPU, so that the missing response proves nothing. */
const starvedMs = 25;

/**
 * Probes the database over a connection of its own, so that requests are refused at once (503) while it is unavailable
 * instead of hanging on a dead connection, and are served again as soon as it is back.
 */
export async function startDatabaseHealth(url: string, onChange: (up: boolean) => void): Promise<DatabaseHealth> {
  const listeners: (() => void)[] = [];
  let up = false;
  let stopped = false;
  let timer: NodeJS.Timeout | undefined;
  let lastAnswerMs = 0;

  function set(next: boolean): void {
    if (next === up || stopped) return;
    up = next;
    if (!up) for (const listener of listeners) listener();
    onChange(up);
  }
  const connection = createProbeConnection(url, () => set(false));

  async function probe(): Promise<void> {
    try {
      await withTimeout(connection.probe(), () => lastAnswerMs);
      set(true);
    } catch {
      connection.drop();
      set(false);
    }
    if (!stopped) timer = setTimeout(probe, probeIntervalMs);
  }

  await probe();
  return {
    isUp: () => up,
    sawAnswer: () => {
      lastAnswerMs = performance.now();
    },
    onDown: (listener) => listeners.push(listener),
    stop: async () => {
      stopped = true;
      clearTimeout(timer);
      await connection.end();
    },
  };
}

type ProbeConnection = { probe: () => Promise<unknown>; drop: () => void; end: () => Promise<void> };

/** Connects when it is first needed, and again after a `drop`. */
function createProbeConnection(url: string, onBreak: () => void): ProbeConnection {
  let current: { client: pg.Client; socket: Socket } | null = null;

  /** Destroys the socket: an orderly end would wait for a server that hangs. */
  function drop(): void {
    current?.socket.destroy();
    current = null;
  }

  async function connect(): Promise<pg.Client> {
    const socket = new Socket();
    const client = new pg.Client({
      connectionString: url,
      application_name: 'perkwire-health',
      stream: () => socket,
    });
    client.on('error', () => {
      if (current?.client !== client) return;
      drop();
      onBreak();
    });
    current = { client, socket };
    await client.connect();
    return client;
  }

  return {
    probe: async () => (current?.client ?? (await connect())).query('select 1'),
    drop,
    end: async () => {
      await current?.client.end().catch(() => {});
    },
  };
}

/**
 * Rejects when `work` takes longer than `probeTimeoutMs`, counted from the last response to any statement, and not
 * while this process is short of CPU.
 */
function withTimeout(work: Promise<unknown>, lastAnswerMs: () => number): Promise<void> {
  return new Promise((resolve, reject) => {
    let timer: NodeJS.Timeout;
    const wait = (forMs: number): void => {
      const dueMs = performance.now() + forMs;
      timer = setTimeout(() => {
        const nowMs = performance.now();
        const leftMs = lastAnswerMs() + probeTimeoutMs - nowMs;
        if (nowMs - dueMs > starvedMs) wait(probeTimeoutMs);
        else if (leftMs > 1) wait(leftMs);
        else reject(new Error(`no answer within ${probeTimeoutMs} ms`));
      }, forMs);
    };
    wait(probeTimeoutMs);
    work.then(() => resolve(), reject).finally(() => clearTimeout(timer));
  });
}
