import type { FastifyReply } from 'fastify';
import { AppError } from '../errors.ts';
import type { Logger } from '../logger.ts';

/** A server-sent event. `id`: where to resume after a reconnect. */
export type StreamEvent = { name: string; id?: string; data: string };

type StreamOptions = {
  /** Whose stream it is: a user or a key may have a few. */
  owner: string;
  /** The publisher that it serves: publishers share the streams of a process evenly. */
  publisherId: number;
  /** Time between two calls of `next` (milliseconds). */
  pauseMs?: number;
  /** The events since the last call; called again after it has resolved. */
  next: () => Promise<readonly StreamEvent[]>;
  /**
   * Whether who opened it still may: asked twice a second, and before events are sent. `false` ends the stream; while
   * it throws, nothing is sent.
   */
  isAllowed: () => boolean | Promise<boolean>;
};

export type EventStreams = {
  /** @throws AppError `too_many_requests` where its owner has its few, `unavailable` where there is no room */
  open: (reply: FastifyReply, options: StreamOptions) => void;
  /** Ends all streams, so that the server can close. */
  close: () => void;
};

const defaultPauseMs = 1000;
/** Longest time between two calls of `isAllowed` (milliseconds): streams end within a second after a revocation. */
const checkEveryMs = 500;
const minPauseMs = 1;
const reconnectMs = 2000;
/** The client reconnects after this time. */
const maxStreamMs = 5 * 60_000;
const maxStreams = 200;
const maxStreamsPerOwner = 6;
const refusedForS = 10;

type Holder = { owner: string; publisherId: number };

/** `open`: by what ends each stream, the oldest first. */
type State = { open: Map<() => void, Holder>; logger: Logger };

/** Server-sent events. Each stream polls the database at a fixed pace, whatever the traffic. */
export function createEventStreams(logger: Logger): EventStreams {
  const state: State = { open: new Map(), logger };
  return {
    open: (reply, options) => {
      if (reply.request.method === 'HEAD') {
        writeHead(reply);
        reply.raw.end();
        return;
      }
      const own = [...state.open.values()].filter(({ owner }) => owner === options.owner).length;
      if (own >= maxStreamsPerOwner) throw new AppError('too_many_requests', { retryAfterS: refusedForS });
      if (state.open.size >= maxStreams) makeRoom(state, options.publisherId);
      writeHead(reply);
      run(state, reply, options);
    },
    close: () => {
      for (const end of [...state.open.keys()]) end();
    },
  };
}

/**
 * The publisher that has most streams gives its oldest one to a publisher that has at least two fewer: one that comes
 * late gets an even share, and streams are not passed to and fro.
 * @throws AppError `unavailable`
 */
function makeRoom({ open }: State, publisherId: number): void {
  const counts = new Map<number, number>();
  for (const holder of open.values()) counts.set(holder.publisherId, (counts.get(holder.publisherId) ?? 0) + 1);
  const most = Math.max(...counts.values());
  if ((counts.get(publisherId) ?? 0) + 1 >= most) throw new AppError('unavailable', { retryAfterS: refusedForS });
  const [end] = [...open].find(([, holder]) => counts.get(holder.publisherId) === most) ?? [];
  end?.();
}

function writeHead(reply: FastifyReply): void {
  reply.hijack();
  const { raw } = reply;
  for (const [name, value] of Object.entries(reply.getHeaders())) if (value !== undefined) raw.setHeader(name, value);
  raw.writeHead(200, {
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-store',
    'x-accel-buffering': 'no',
  });
  raw.write(`retry: ${reconnectMs}\n\n`);
}

function run({ open, logger }: State, { raw }: FastifyReply, options: StreamOptions): void {
  const { owner, publisherId, pauseMs = defaultPauseMs } = options;
  const endMs = performance.now() + maxStreamMs;
  let dueMs = 0;
  let timer: NodeJS.Timeout | undefined;
  const end = (): void => {
    clearTimeout(timer);
    open.delete(end);
    // An orderly end would wait for a reader that does not read.
    if (raw.writableNeedDrain) raw.destroy();
    else raw.end();
  };
  const tick = async (): Promise<void> => {
    try {
      const allowed = await ask(options);
      if (allowed === false) return end();
      // A reader that is behind gets no more before it has read what waits for it.
      if (allowed && performance.now() >= dueMs && !raw.writableNeedDrain) {
        if (!(await send(raw, options))) return end();
        dueMs = performance.now() + pauseMs;
      }
    } catch (err) {
      logger.debug({ err }, 'event stream failed');
      return end();
    }
    if (!open.has(end)) return;
    if (performance.now() > endMs) return end();
    timer = setTimeout(tick, Math.min(checkEveryMs, Math.max(minPauseMs, dueMs - performance.now())));
  };
  open.set(end, { owner, publisherId });
  raw.on('close', end);
  void tick();
}

/** @returns null: it could not be found out */
async function ask({ isAllowed }: StreamOptions): Promise<boolean | null> {
  try {
    return await isAllowed();
  } catch {
    return null;
  }
}

/** @returns false: it is no longer allowed, or was ended meanwhile, and nothing was sent */
async function send(raw: FastifyReply['raw'], { next, isAllowed }: StreamOptions): Promise<boolean> {
  const events = await next();
  // The events may have been waited for.
  if (events.length > 0 && !(await isAllowed())) return false;
  if (raw.writableEnded) return false;
  for (const event of events) raw.write(serialise(event));
  raw.write(': keep-alive\n\n');
  return true;
}

function serialise({ name, id, data }: StreamEvent): string {
  const lines = data.split('\n').map((line) => `data: ${line}\n`);
  return `event: ${name}\n${id === undefined ? '' : `id: ${id}\n`}${lines.join('')}\n`;
}
