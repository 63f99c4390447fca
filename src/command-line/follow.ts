import { setTimeout as sleep } from 'node:timers/promises';
import type { Api } from './api.ts';
import { type Call, CommandError, exitCodes } from './command.ts';

/** Delay before the first reconnection attempt, in milliseconds. It doubles with each attempt, up to the maximum. */
const firstWaitMs = 500;
const maxWaitMs = 10_000;
/**
 * Time without data after which a connection is considered dead, in milliseconds. The service sends keep-alives several
 * times a second.
 */
const silenceMs = 20_000;

/** Server-sent event. */
export type ServerEvent = { name: string; data: string };

/**
 * Passes the events of a stream to `take` until the command is stopped. Reconnects whenever the stream ends.
 * @param pathOf returns the path to connect to; it may differ between the first connection and reconnections
 * @throws CommandError if the service rejects the connection, for example because the key was revoked
 */
export async function follow(
  api: Api,
  { signal, out }: Call,
  pathOf: (isFirst: boolean) => string,
  take: (event: ServerEvent) => void,
): Promise<void> {
  let waitMs = firstWaitMs;
  for (let isFirst = true; !signal.aborted; isFirst = false) {
    const connection = new AbortController();
    const watch = setTimeout(() => connection.abort(), silenceMs);
    const unless = AbortSignal.any([signal, connection.signal]);
    try {
      const stream = await api.stream(pathOf(isFirst), unless);
      const sawBytes = (): void => {
        waitMs = firstWaitMs;
        watch.refresh();
      };
      for await (const event of readEvents(stream, sawBytes)) take(event);
    } catch (err) {
      if (signal.aborted) return;
      if (err instanceof CommandError && err.exitCode !== exitCodes.unavailable) throw err;
      const isRefused = isFirst && err instanceof CommandError;
      out.note(isRefused ? err.message : 'The connection was lost. Reconnecting; no events are lost.');
    } finally {
      clearTimeout(watch);
    }
    await sleep(waitMs, undefined, { signal }).catch(() => {});
    waitMs = Math.min(waitMs * 2, maxWaitMs);
  }
}

/** Maximum length of an event, in characters. Deliveries are always shorter. A longer event ends the stream. */
const maxLength = 4_000_000;

/** Reads the events of a stream until it ends. `onBytes` is called whenever data arrives, including keep-alives. */
async function* readEvents(
  stream: AsyncIterable<Uint8Array>,
  onBytes: () => void = () => {},
): AsyncGenerator<ServerEvent> {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const chunk of stream) {
    onBytes();
    rest += decoder.decode(chunk, { stream: true });
    if (rest.length > maxLength) throw new Error('the service sent an event that is too long');
    const blocks = rest.split('\n\n');
    rest = blocks.pop() ?? '';
    for (const block of blocks) {
      const event = eventOf(block);
      if (event !== null) yield event;
    }
  }
}

function eventOf(block: string): ServerEvent | null {
  const lines = block.split('\n');
  const of = (field: string) =>
    lines.filter((line) => line.startsWith(`${field}: `)).map((line) => line.slice(field.length + 2));
  const [name] = of('event');
  return name === undefined ? null : { name, data: of('data').join('\n') };
}
