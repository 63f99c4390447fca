import type { Executor } from '../../platform/db/pool.ts';
import type { ErrorDetail } from '../../platform/errors.ts';
import { getOrInsert } from '../../platform/lib/get-or-insert.ts';
import { storedProblem } from '../../platform/problem.ts';
import { type Notice, writeNotices } from './write-notices.ts';

/**
 * Ignored, dropped and rejected values of offer requests, listed for the publisher on the live page
 * (docs/reference/debugging.md#notices). They are collected in memory and written by a background job.
 */
export type Notices = {
  /**
   * Adds a notice.
   * @param detail `path` has the format of an error's details; '' for the whole request
   */
  add: (publisherId: number, detail: ErrorDetail, refused: boolean) => void;
  /** Writes the collected notices. If that fails, they are lost. */
  write: (executor: Executor) => Promise<void>;
};

/**
 * Maximum number of different notices between two writes, per publisher and in total, because anybody can cause them.
 */
const maxOfPublisher = 50;
const maxPublishers = 1000;

export function createNotices(now: () => number): Notices {
  let collected = new Map<number, Map<string, Notice>>();
  return {
    add: (publisherId, { path, message }, refused) => {
      if (!collected.has(publisherId) && collected.size >= maxPublishers) return;
      const ofPublisher = getOrInsert(collected, publisherId, () => new Map<string, Notice>());
      const stored = storedProblem(message);
      const name = `${path} ${stored}`;
      const existing = ofPublisher.get(name);
      if (existing === undefined && ofPublisher.size >= maxOfPublisher) return;
      const count = (existing?.count ?? 0) + 1;
      ofPublisher.set(name, { publisherId, path, message: stored, refused, count, lastAtMs: now() });
    },
    write: async (executor) => {
      if (collected.size === 0) return;
      const notices = [...collected.values()].flatMap((ofPublisher) => [...ofPublisher.values()]);
      collected = new Map();
      await writeNotices(executor, notices);
    },
  };
}
