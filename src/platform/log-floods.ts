import { LRUCache } from 'lru-cache';
import type { DestinationStream } from 'pino';

/** A kind of warning or error has one line in this time (milliseconds). */
const everyMs = 1000;
/** Kinds that are remembered (count); of the others every line is written. */
const maxKinds = 500;
/** pino's numbers of levels. */
const [warn, fatal] = [40, 60];

type Line = { msg?: string; job?: string; part?: string; err?: { type?: string; code?: string; message?: string } };
type Kind = { held: string | null; count: number; timer: NodeJS.Timeout };

export type FloodLimit = DestinationStream & {
  /** Writes what is held back. */
  flush: () => void;
};

/**
 * In front of a destination of log lines: in an outage each kind of warning and error has one line a second. The first
 * is written at once; of those that follow within the second the last one is, with how many there were as `repeated`.
 */
export function limitFloods(destination: DestinationStream): FloodLimit {
  const kinds = new LRUCache<string, Kind>({ max: maxKinds, dispose: release });

  function release({ held, count, timer }: Kind): void {
    clearTimeout(timer);
    if (held !== null) destination.write(`${held.trimEnd().slice(0, -1)},"repeated":${count}}\n`);
  }

  function begin(name: string): void {
    const timer = setTimeout(() => {
      const isOver = kinds.peek(name)?.held === null;
      kinds.delete(name);
      if (!isOver) begin(name);
    }, everyMs).unref();
    kinds.set(name, { held: null, count: 0, timer });
  }

  return {
    write: (line) => {
      const level = levelOf(line);
      if (level >= fatal) kinds.clear();
      if (level < warn || level >= fatal) return destination.write(line);
      const name = kindOf(JSON.parse(line) as Line, level);
      const kind = kinds.get(name);
      if (kind !== undefined) {
        kind.held = line;
        kind.count += 1;
        return;
      }
      begin(name);
      destination.write(line);
    },
    flush: () => kinds.clear(),
  };
}

/** pino writes the level first. */
const levelOf = (line: string): number => Number(/^\{"level":(\d+),/.exec(line)?.[1] ?? 0);

/** Numbers in the message of an error, such as ports and ids, make no other kind. */
const kindOf = ({ msg, job, part, err }: Line, level: number): string =>
  [level, msg, job, part, err?.type, err?.code, err?.message?.slice(0, 100).replaceAll(/\d+/g, '#')].join('\n');
