import { LRUCache } from 'lru-cache';
import type { DestinationStream } from 'pino';

/** Interval in which a kind of warning or error is logged once (milliseconds). */
const everyMs = 1000;
/** Maximum number of tracked kinds. For others, every line is written. */
const maxKinds = 500;
/** pino's numeric levels. */
const [warn, fatal] = [40, 60];

type Line = { msg?: string; job?: string; part?: string; err?: { type?: string; code?: string; message?: string } };
type Kind = { pendingLine: string | null; count: number; timer: NodeJS.Timeout };

export type FloodLimit = DestinationStream & {
  /** Writes the pending lines. */
  flush: () => void;
};

/**
 * Wraps a destination of log lines. In an outage, each kind of warning and error is logged once a second: the first
 * line at once, then the last one of each second, with the number of lines as `repeated`.
 */
export function limitFloods(destination: DestinationStream): FloodLimit {
  const kinds = new LRUCache<string, Kind>({ max: maxKinds, dispose: release });

  function release({ pendingLine, count, timer }: Kind): void {
    clearTimeout(timer);
    if (pendingLine !== null) destination.write(`${pendingLine.trimEnd().slice(0, -1)},"repeated":${count}}\n`);
  }

  function begin(name: string): void {
    const timer = setTimeout(() => {
      const isOver = kinds.peek(name)?.pendingLine === null;
      kinds.delete(name);
      if (!isOver) begin(name);
    }, everyMs).unref();
    kinds.set(name, { pendingLine: null, count: 0, timer });
  }

  return {
    write: (line) => {
      const level = levelOf(line);
      if (level >= fatal) kinds.clear();
      if (level < warn || level >= fatal) return destination.write(line);
      const name = kindOf(JSON.parse(line) as Line, level);
      const kind = kinds.get(name);
      if (kind !== undefined) {
        kind.pendingLine = line;
        kind.count += 1;
        return;
      }
      begin(name);
      destination.write(line);
    },
    flush: () => kinds.clear(),
  };
}

/** Level of a line; pino writes it first. */
const levelOf = (line: string): number => Number(/^\{"level":(\d+),/.exec(line)?.[1] ?? 0);

/** Key of a kind. Numbers in error messages, such as ports and ids, are ignored. */
const kindOf = ({ msg, job, part, err }: Line, level: number): string =>
  [level, msg, job, part, err?.type, err?.code, err?.message?.slice(0, 100).replaceAll(/\d+/g, '#')].join('\n');
