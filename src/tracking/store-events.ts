import type { CountedEvent } from '../budgets/count.ts';
import { lockUsersOf, type NoThanks } from '../budgets/opt-outs.ts';
import type { Campaign, LoggedEvent, Snapshot, TrackedEvent } from '../catalog/types.ts';
import type { Transaction } from '../platform/db/pool.ts';
import type { Click } from './clicks/insert-clicks.ts';
import {
  type Counted,
  countWritten,
  type EventWriters,
  needsTransaction,
  type Writers,
  writeUncounted,
} from './writers.ts';

/**
 * Stores events from the event log in the transaction of `executor`, with the same counts and checks as without an
 * event log. Events in the same session are stored in order of arrival. All events are stored before any are counted,
 * so that each lock is acquired only once. Locks are acquired in the same order as in other writers: users,
 * reservations, usage, each in key order.
 */
export async function storeEvents(
  executor: Transaction,
  snapshot: Snapshot,
  writers: EventWriters,
  events: readonly LoggedEvent[],
): Promise<void> {
  const counted: CountedEvent[] = [];
  const noThanks: NoThanks[] = [];
  for (const run of runsOf(events)) {
    counted.push(...(await store(executor, snapshot, writers.beacons, run.beacons)));
    counted.push(...(await store(executor, snapshot, writers.clicks, run.clicks)));
    noThanks.push(...run.noThanks);
  }
  if (noThanks.length > 0) {
    const sessionIds = [...noThanks, ...counted].map(({ sessionId }) => sessionId);
    await lockUsersOf(executor, [...new Set(sessionIds)]);
    counted.push(...(await store(executor, snapshot, writers.noThanks, noThanks)));
  }
  await countWritten(executor, snapshot, counted);
}

type Run = { beacons: TrackedEvent[]; noThanks: NoThanks[]; clicks: Click[] };

/**
 * Splits events into runs that can be stored together. Each run stores clicks after beacons, because a click needs the
 * impressions that precede it. Any other event that follows a click in its session therefore starts a new run.
 */
function* runsOf(events: readonly LoggedEvent[]): Iterable<Run> {
  let run: Run = { beacons: [], noThanks: [], clicks: [] };
  let clicked = new Set<string>();
  for (const event of events) {
    if (event.kind !== 'click' && clicked.has(event.sessionId)) {
      yield run;
      run = { beacons: [], noThanks: [], clicks: [] };
      clicked = new Set();
    }
    if (event.kind === 'click') {
      clicked.add(event.sessionId);
      run.clicks.push({ ...event, recorded: true, wantsSession: false });
    } else if (event.optOutDays !== undefined) run.noThanks.push({ ...event, optOutDays: event.optOutDays });
    else run.beacons.push(event);
  }
  yield run;
}

/**
 * Stores a run of events.
 * @returns the events that still need to be counted
 */
async function store<Event extends TrackedEvent, Result>(
  executor: Transaction,
  snapshot: Snapshot,
  writers: Writers<Event, Result>,
  events: readonly Event[],
): Promise<CountedEvent[]> {
  const plain: Event[] = [];
  const counted: Counted<Event>[] = [];
  for (const event of events) {
    const campaign = campaignOf(snapshot, event);
    if (campaign !== undefined && needsTransaction(snapshot, event, campaign)) counted.push({ event, campaign });
    else plain.push(event);
  }
  if (plain.length > 0) await writers.write(executor, plain);
  return counted.length > 0 ? writeUncounted(executor, counted, writers) : [];
}

/** Returns the campaign of an event, or undefined if the campaign was removed after the event. */
const campaignOf = ({ offers }: Snapshot, { claims }: TrackedEvent): Campaign | undefined =>
  offers.get(claims.offerId)?.campaign;
