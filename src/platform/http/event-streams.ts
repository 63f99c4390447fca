import type { FastifyReply } from 'fastify';
import { AppError } from '../errors.ts';
import type { Logger } from '../logger.ts';

/** Server-sent event. `id` is the position at which the client resumes after it reconnects. */
export type StreamEvent = { name: string; id?: string; data: string };

type StreamOptions = {
  /** User or key that owns the stream. Each owner may open only a few streams. */
  owner: string;
  /** Publisher that the stream is for. The streams of a process are shared equally between publishers. */
  publisherId: number;
  /** Interval between two calls of `next`, in milliseconds. */
  pauseMs?: number;
  /** Returns the events since the previous call. It is not called again until the returned promise has resolved. */
  next: () => Promise<readonly StreamEvent[]>;
  /**
   * Whether the owner still has access. Called twice a second and before events are sent. Returning `false` ends the
   * stream. If the check throws, no events are sent.
   */
  isAllowed: () => boolean | Promise<boolean>;
};

export type EventStreams = {
  /**
   * Opens a stream.
   * @throws AppError `too_many_requests` if its owner has too many streams, `unavailable` if the process has no
   * capacity
   */
  open: (reply: FastifyReply, options: StreamOptions) => void;
  /** Ends all streams so that the server can close. */
  close: () => void;
};

const defaultPauseMs = 1000;
/**
 * Maximum interval between two calls of `isAllowed`, in milliseconds. It ensures that a stream ends within a second
 * after access is revoked.
 */
const checkEveryMs = 500;
const minPauseMs = 1;
const reconnectMs = 2000;
/** Maximum duration of a stream, in milliseconds. The client reconnects afterwards. */
const maxStreamMs = 5 * 60_000;
const maxStreams = 200;
const maxStreamsPerOwner = 6;
const refusedForS = 10;

type Holder = { owner: string; publisherId: number };

/** Open streams, oldest first. The key is the function that ends the stream. */
type State = { open: Map<() => void, Holder>; logger: Logger };

/**
 * Creates the server-sent event streams of a process. Each stream polls the database at a fixed interval, regardless of
 * the traffic.
 */
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
 * Makes room for a publisher's new stream. Ends the oldest stream of the publisher with the most streams, provided that
 * the given publisher has at least two fewer. As a result, a publisher that connects late gets an equal share, and
 * publishers do not keep evicting each other.
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
    // Destroy the connection of a client that has stopped reading, because a graceful end would wait for it.
    if (raw.writableNeedDrain) raw.destroy();
    else raw.end();
  };
  const tick = async (): Promise<void> => {
    try {
      const allowed = await ask(options);
      if (allowed === false) return end();
      // A slow client receives no more events until it has read the pending ones.
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

/**
 * Checks whether the owner still has access.
 * @returns null if the check failed
 */
async function ask({ isAllowed }: StreamOptions): Promise<boolean | null> {
  try {
    return await isAllowed();
  } catch {
    return null;
  }
}

/**
 * Sends the new events.
 * @returns false, without sending anything, if access was revoked or the stream has ended
 */
async function send(raw: FastifyReply['raw'], { next, isAllowed }: StreamOptions): Promise<boolean> {
  const events = await next();
  // Check again, because access may have been revoked while the events were loading.
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
