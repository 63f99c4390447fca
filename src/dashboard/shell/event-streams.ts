import type { FastifyReply, FastifyRequest } from 'fastify';
import { AppError } from '../../platform/errors.ts';
import type { Logger } from '../../platform/logger.ts';

/** Events sent to a page while it is open. `id`: where to go on after a break. */
export type StreamEvent = { name: string; id?: string; data: string };

export type StreamOptions = {
  /** What has happened since the call before; called again once it has answered. */
  next: () => Promise<readonly StreamEvent[]>;
};

export type Streams = {
  open: (request: FastifyRequest, reply: FastifyReply, options: StreamOptions) => void;
  /** Ends all, so that the server can close. */
  close: () => void;
};

const stepMs = 1000;
/** A page asks anew after this time, so that a session that ended stops seeing. */
const longestMs = 5 * 60_000;
/** Of one process (count); of one user. */
const maxStreams = 200;
const maxOfUser = 6;

/** Server-sent events. Each stream asks the store once a second, however much happens. */
export function createStreams(logger: Logger): Streams {
  const open = new Map<() => void, number>();
  return {
    open: (request, reply, { next }) => {
      const userId = request.viewer?.user.id ?? 0;
      const ofUser = [...open.values()].filter((id) => id === userId).length;
      if (open.size >= maxStreams || ofUser >= maxOfUser) throw new AppError('too_many_requests', { retryAfterS: 10 });
      reply.hijack();
      const { raw } = reply;
      for (const [name, value] of Object.entries(reply.getHeaders()))
        if (value !== undefined) raw.setHeader(name, value);
      raw.writeHead(200, {
        'content-type': 'text/event-stream; charset=utf-8',
        'cache-control': 'no-store',
        'x-accel-buffering': 'no',
      });
      raw.write('retry: 2000\n\n');
      const endMs = performance.now() + longestMs;
      let timer: NodeJS.Timeout | undefined;
      const end = (): void => {
        clearTimeout(timer);
        open.delete(end);
        raw.end();
      };
      const step = async (): Promise<void> => {
        try {
          for (const event of await next()) raw.write(textOf(event));
          raw.write(': here\n\n');
        } catch (err) {
          logger.debug({ err }, 'a live stream broke');
          return end();
        }
        if (!open.has(end)) return;
        if (performance.now() > endMs) return end();
        timer = setTimeout(step, stepMs);
      };
      open.set(end, userId);
      raw.on('close', end);
      void step();
    },
    close: () => {
      for (const end of [...open.keys()]) end();
    },
  };
}

const textOf = ({ name, id, data }: StreamEvent): string =>
  `event: ${name}\n${id === undefined ? '' : `id: ${id}\n`}${data
    .split('\n')
    .map((line) => `data: ${line}\n`)
    .join('')}\n`;
