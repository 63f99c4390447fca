import type { Campaign, Snapshot } from '../../catalog/snapshot/types.ts';
import type { Transaction } from '../../platform/db/pool.ts';
import type { NoThanks } from '../beacons/insert-no-thanks.ts';
import type { Click } from '../clicks/insert-clicks.ts';
import type { TrackedEvent } from '../tracked-event.ts';
import { type Counted, type EventWriters, needsCount, type Writers, writeCounted } from '../writers.ts';
import type { LoggedEvent } from './message.ts';

/**
 * Stores events of the log in the transaction of `executor`, with the counts and checks that they would have without a
 * log. Events of a session are stored in the order in which they came.
 */
export async function storeEvents(
  executor: Transaction,
  snapshot: Snapshot,
  writers: EventWriters,
  events: readonly LoggedEvent[],
): Promise<void> {
  for (const run of runsOf(events)) {
    await store(executor, snapshot, writers.beacons, run.beacons);
    await store(executor, snapshot, writers.noThanks, run.noThanks);
    await store(executor, snapshot, writers.clicks, run.clicks);
  }
}

type Run = { beacons: TrackedEvent[]; noThanks: NoThanks[]; clicks: Click[] };

/** Clicks need the impressions before them, and only those: after a click, the session's events start a new run. */
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

async function store<Event extends TrackedEvent, Result>(
  executor: Transaction,
  snapshot: Snapshot,
  writers: Writers<Event, Result>,
  events: readonly Event[],
): Promise<void> {
  const plain: Event[] = [];
  const counted: Counted<Event>[] = [];
  for (const event of events) {
    const campaign = campaignOf(snapshot, event);
    if (campaign !== undefined && needsCount(snapshot, event, campaign)) counted.push({ event, campaign });
    else plain.push(event);
  }
  if (plain.length > 0) {
    await writers.write(executor, plain);
    executor.onCommit(() => writers.count?.(plain));
  }
  if (counted.length > 0) await writeCounted(executor, snapshot, counted, writers);
}

/** undefined: the campaign was removed after its event. */
const campaignOf = ({ offers }: Snapshot, { claims }: TrackedEvent): Campaign | undefined =>
  offers.get(claims.offerId)?.campaign;
