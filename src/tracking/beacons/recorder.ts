import type pg from 'pg';
import type { CatalogStore } from '../../catalog/snapshot/store.ts';
import type { Campaign } from '../../catalog/snapshot/types.ts';
import { countEvents, isCounted } from '../../offers/caps/count.ts';
import { needsOf } from '../../offers/caps/needs.ts';
import { type Batcher, createBatcher } from '../../platform/db/batcher.ts';
import type { DatabaseHealth } from '../../platform/db/health.ts';
import { type Executor, transaction } from '../../platform/db/pool.ts';
import { createBeaconWriter } from './beacon-writer.ts';
import {
  type Click,
  type ClickSession,
  insertClicks,
  insertNewBeacons,
  insertNewClicks,
  insertNewNoThanks,
  insertNoThanks,
  type NewEvent,
  type NoThanks,
  type TrackedEvent,
} from './insert-events.ts';

/** Stores events. Each call resolves after the commit and rejects with `unavailable` (503) when the store is away. */
export type Recorder = {
  /** An impression or a close. */
  beacon: (event: TrackedEvent, campaign: Campaign) => Promise<void>;
  noThanks: (event: NoThanks, campaign: Campaign) => Promise<void>;
  click: (event: Click, campaign: Campaign) => Promise<ClickSession | null>;
  /** Resolves when nothing is waiting or under way. */
  drain: () => Promise<void>;
};

/** An event of a campaign with caps: it is counted in the transaction that stores it. */
type Counted<Event> = { event: Event; campaign: Campaign };

/** Events in one transaction (count). */
const maxItems = 512;

/** Transactions of one kind under way at once (count). */
const lanes = 2;

/**
 * Events that are worth a transaction of their own beside another (count): with fewer, transactions cost more than they
 * gain.
 */
const enough = 24;

type RecorderDeps = { pool: pg.Pool; dbHealth: DatabaseHealth; catalog: Pick<CatalogStore, 'current'> };

export function createRecorder({ pool, dbHealth, catalog }: RecorderDeps): Recorder {
  const limits = { dbHealth, maxItems, lanes, enough };

  /** One batcher for events nobody counts, which cost one statement, and one for those of campaigns with caps. */
  function recorder<Event extends TrackedEvent, Result>(
    write: (executor: Executor, events: readonly Event[]) => Promise<readonly Result[]>,
    writeNew: (executor: Executor, events: readonly Event[]) => Promise<NewEvent[]>,
    look: (executor: Executor, events: readonly Event[]) => Promise<readonly Result[]>,
  ): { add: (event: Event, campaign: Campaign) => Promise<Result>; drain: () => Promise<unknown> } {
    const plain = createBatcher<Event, Result>({ write: (events) => write(pool, events), ...limits });
    const counted: Batcher<Counted<Event>, Result> = createBatcher({
      write: (items) =>
        transaction(pool, async (executor) => {
          const events = items.map(({ event }) => event);
          await countNew(executor, items, await writeNew(executor, events));
          return look(executor, events);
        }),
      ...limits,
    });
    return {
      add: (event, campaign) => {
        const isCapped =
          event.kind !== 'close' &&
          isCounted(needsOf(catalog.current()), campaign, event.claims.publisherId, event.kind);
        return isCapped ? counted.add({ event, campaign }) : plain.add(event);
      },
      drain: () => Promise.all([plain.drain(), counted.drain()]),
    };
  }

  async function countNew(
    executor: Executor,
    items: readonly Counted<TrackedEvent>[],
    stored: readonly NewEvent[],
  ): Promise<void> {
    const isNew = new Set(stored.map((event) => `${event.session_id} ${event.offer_id}`));
    const events = items.flatMap(({ event: { kind, sessionId, claims, atMs }, campaign }) => {
      // A repeat within the batch counts once.
      if (kind === 'close' || !isNew.delete(`${sessionId} ${claims.offerId}`)) return [];
      return [{ kind, sessionId, publisherId: claims.publisherId, offerId: claims.offerId, campaign, atMs }];
    });
    await countEvents(executor, needsOf(catalog.current()), events);
  }

  const beacons = recorder<TrackedEvent, undefined>(quietly(createBeaconWriter()), insertNewBeacons, nothing);
  const noThanks = recorder<NoThanks, undefined>(quietly(insertNoThanks), insertNewNoThanks, nothing);
  const clicks = recorder<Click, ClickSession | null>(insertClicks, insertNewClicks, lookUpClicks);
  return {
    beacon: beacons.add,
    noThanks: noThanks.add,
    click: clicks.add,
    drain: async () => {
      await Promise.all([beacons.drain(), noThanks.drain(), clicks.drain()]);
    },
  };
}

/** A writer that answers nothing: one shared list of nothings is the result of every batch. */
const quietly =
  <Event>(write: (executor: Executor, events: readonly Event[]) => Promise<void>) =>
  async (executor: Executor, events: readonly Event[]): Promise<readonly undefined[]> => {
    await write(executor, events);
    return nothings;
  };

/** What landing pages ask of the sessions of clicks that are stored already. */
const lookUpClicks = async (executor: Executor, clicks: readonly Click[]): Promise<readonly (ClickSession | null)[]> =>
  clicks.some((click) => click.wantsSession)
    ? insertClicks(
        executor,
        clicks.map((click) => ({ ...click, recorded: false })),
      )
    : clicks.map(() => null);

const nothings: readonly undefined[] = [];
const nothing = async (): Promise<readonly undefined[]> => nothings;
