import type { FastifyReply } from 'fastify';
import { AppError } from '../errors.ts';
import type { Logger } from '../logger.ts';

/** A server-sent event. `id`: where to resume after a reconnect. */
export type StreamEvent = { name: string; id?: string; data: string };

type StreamOptions = {
  /** Whose stream it is: a user or a key may have a few. */
  owner: string;
  /** Time between two calls of `next` (milliseconds). */
  pauseMs?: number;
  /** The events since the last call; called again after it has resolved. */
  next: () => Promise<readonly StreamEvent[]>;
};

export type EventStreams = {
  /** @throws AppError `too_many_requests` */
  open: (reply: FastifyReply, options: StreamOptions) => void;
  /** Ends all streams, so that the server can close. */
  close: () => void;
};

const defaultPauseMs = 1000;
const reconnectMs = 2000;
/** The client reconnects after this time, which checks its session or key again. */
const maxStreamMs = 5 * 60_000;
const maxStreams = 200;
const maxStreamsPerOwner = 6;

type State = { open: Map<() => void, string>; logger: Logger };

/** Server-sent events. Each stream polls the database at a fixed pace, whatever the traffic. */
export function createEventStreams(logger: Logger): EventStreams {
  const state: State = { open: new Map(), logger };
  return {
    open: (reply, options) => {
      const own = [...state.open.values()].filter((owner) => owner === options.owner).length;
      if (state.open.size >= maxStreams || own >= maxStreamsPerOwner)
        throw new AppError('too_many_requests', { retryAfterS: 10 });
      writeHead(reply);
      run(state, reply, options);
    },
    close: () => {
      for (const end of [...state.open.keys()]) end();
    },
  };
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
  const { owner, next, pauseMs = defaultPauseMs } = options;
  const endMs = performance.now() + maxStreamMs;
  let timer: NodeJS.Timeout | undefined;
  const end = (): void => {
    clearTimeout(timer);
    open.delete(end);
    // An orderly end would wait for a reader that does not read.
    if (raw.writableNeedDrain) raw.destroy();
    else raw.end();
  };
  const poll = async (): Promise<void> => {
    try {
      // A reader that is behind gets no more before it has read what waits for it.
      if (!raw.writableNeedDrain) {
        for (const event of await next()) raw.write(serialise(event));
        raw.write(': keep-alive\n\n');
      }
    } catch (err) {
      logger.debug({ err }, 'event stream failed');
      return end();
    }
    if (!open.has(end)) return;
    if (performance.now() > endMs) return end();
    timer = setTimeout(poll, pauseMs);
  };
  open.set(end, owner);
  raw.on('close', end);
  void poll();
}

function serialise({ name, id, data }: StreamEvent): string {
  const lines = data.split('\n').map((line) => `data: ${line}\n`);
  return `event: ${name}\n${id === undefined ? '' : `id: ${id}\n`}${lines.join('')}\n`;
}
