import type { Executor } from '../../platform/db/pool.ts';
import type { ErrorDetail } from '../../platform/errors.ts';
import { getOrInsert } from '../../platform/lib/get-or-insert.ts';
import { type Notice, writeNotices } from './write-notices.ts';

/**
 * What was ignored, dropped or refused of offer requests, listed for the publisher on the live page
 * (docs/reference/debugging.md#notices). Collected in memory and written by a background job.
 */
export type Notices = {
  /** @param detail `path` as in the details of an error; '' where it is the request as a whole */
  add: (publisherId: number, detail: ErrorDetail, refused: boolean) => void;
  /** Writes what was collected. What cannot be written is lost. */
  write: (executor: Executor) => Promise<void>;
};

/** Different notices collected between two writes (count), of one publisher and in all: anybody can cause them. */
const maxOfPublisher = 50;
const maxPublishers = 1000;

export function createNotices(now: () => number): Notices {
  let collected = new Map<number, Map<string, Notice>>();
  return {
    add: (publisherId, { path, message }, refused) => {
      if (!collected.has(publisherId) && collected.size >= maxPublishers) return;
      const ofPublisher = getOrInsert(collected, publisherId, () => new Map<string, Notice>());
      const name = `${path} ${message}`;
      const known = ofPublisher.get(name);
      if (known === undefined && ofPublisher.size >= maxOfPublisher) return;
      const count = (known?.count ?? 0) + 1;
      ofPublisher.set(name, { publisherId, path, message, refused, count, lastAtMs: now() });
    },
    write: async (executor) => {
      if (collected.size === 0) return;
      const notices = [...collected.values()].flatMap((ofPublisher) => [...ofPublisher.values()]);
      collected = new Map();
      await writeNotices(executor, notices);
    },
  };
}
