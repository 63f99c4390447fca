import { LRUCache } from 'lru-cache';
import type { DestinationStream } from 'pino';

/** Interval in which each kind of warning or error is logged at most once, in milliseconds. */
const everyMs = 1000;
/** Maximum number of tracked kinds of log lines. Lines of any other kind are all written. */
const maxKinds = 500;
/** Numeric pino log levels for warn and fatal. */
const [warn, fatal] = [40, 60];

type Line = { msg?: string; job?: string; part?: string; err?: { type?: string; code?: string; message?: string } };
type Kind = { pendingLine: string | null; count: number; timer: NodeJS.Timeout };

export type FloodLimit = DestinationStream & {
  /** Writes the pending log lines. */
  flush: () => void;
};

/**
 * Wraps a log destination to prevent floods, such as during an outage. Each kind of warning or error is logged at most
 * once per second. The first line is written immediately. After that, the last line of each second is written, with the
 * number of lines as `repeated`.
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

/** Returns the level of a log line, which pino writes first. */
const levelOf = (line: string): number => Number(/^\{"level":(\d+),/.exec(line)?.[1] ?? 0);

/**
 * Returns the key under which similar log lines are grouped. It ignores numbers in error messages, such as ports and
 * IDs.
 */
const kindOf = ({ msg, job, part, err }: Line, level: number): string =>
  [level, msg, job, part, err?.type, err?.code, err?.message?.slice(0, 100).replaceAll(/\d+/g, '#')].join('\n');
