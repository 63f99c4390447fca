import type { PerkEvent, TrackedEvent } from '../event-log/tracked-event.ts';
import type { Executor } from '../platform/db/pool.ts';
import { eventColumns, insertReturningNew, keyOrder, type NewEvent, rowsSql, rowValues } from './event-rows.ts';

const firstEventsSql = `
insert into events (${eventColumns})
select ${eventColumns} from (${rowsSql}) as given
${keyOrder}`;

const eventsSql = `${firstEventsSql}
on conflict do nothing`;

/** Stores events that need nothing of their session; what is stored already stays unchanged. */
export async function insertEvents(executor: Executor, events: readonly (TrackedEvent | PerkEvent)[]): Promise<void> {
  await executor.query({ name: 'insert_events', text: eventsSql, values: rowValues(events) });
}

/** Stores events of which none is stored already or given twice; otherwise it fails with 23505 and stores nothing. */
export async function insertFirstEvents(executor: Executor, events: readonly TrackedEvent[]): Promise<void> {
  await executor.query({ name: 'insert_first_events', text: firstEventsSql, values: rowValues(events) });
}

/** As `insertEvents`. @returns those that are new and not suspicious */
export const insertNewEvents = (executor: Executor, events: readonly TrackedEvent[]): Promise<NewEvent[]> =>
  insertReturningNew(executor, { name: 'insert_new_events', text: eventsSql, values: rowValues(events) });
