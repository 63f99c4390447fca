import type pg from 'pg';
import { createBatcher } from '../db/batcher.ts';
import type { Pulse } from '../db/pulse.ts';
import { type Click, type ClickSession, insertBeacons, insertClicks, insertNoThanks, type NoThanks, type TrackedEvent } from './batch.ts';

/** Stores events. Each call resolves after the commit and rejects with `unavailable` (503) when the store is away. */
export type Recorder = {
  /** An impression or a close. */
  beacon: (event: TrackedEvent) => Promise<void>;
  noThanks: (event: NoThanks) => Promise<void>;
  click: (event: Click) => Promise<ClickSession | null>;
  /** Resolves when nothing is waiting or under way. */
  drain: () => Promise<void>;
};

/** Events in one transaction (count). */
const maxItems = 512;

/** Transactions of one kind under way at once (count). */
const lanes = 2;

export function createRecorder({ pool, pulse }: { pool: pg.Pool; pulse: Pulse }): Recorder {
  /** A batcher over a writer that answers nothing: one shared list of nothings is the result of every batch. */
  const quietly =
    <Item>(write: (items: readonly Item[]) => Promise<void>) =>
    async (items: readonly Item[]): Promise<readonly undefined[]> => {
      await write(items);
      return nothings;
    };
  const limits = { pulse, maxItems, lanes };
  const beacons = createBatcher<TrackedEvent, undefined>({ write: quietly((events) => insertBeacons(pool, events)), ...limits });
  const noThanks = createBatcher<NoThanks, undefined>({ write: quietly((events) => insertNoThanks(pool, events)), ...limits });
  const clicks = createBatcher<Click, ClickSession | null>({ write: (events) => insertClicks(pool, events), ...limits });
  return {
    beacon: beacons.add,
    noThanks: noThanks.add,
    click: clicks.add,
    drain: async () => {
      await Promise.all([beacons.drain(), noThanks.drain(), clicks.drain()]);
    },
  };
}

const nothings: readonly undefined[] = [];
