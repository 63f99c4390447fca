import { optOutStatement } from '../../budgets/opt-outs.ts';
import type { TrackedEvent } from '../../catalog/types.ts';
import { bigints, integers } from '../../platform/db/binary-array.ts';
import type { Executor } from '../../platform/db/pool.ts';
import { daysOf, eventColumns, keyOrder, type NewEvent, rowsSql, rowValues, type Values } from '../event-rows.ts';

/** A "no thanks". `optOutDays` null opts the user out of the campaign permanently. */
export type NoThanks = TrackedEvent & { optOutDays: number | null };

const insertSql = `
insert into events (${eventColumns})
select ${eventColumns} from (${rowsSql}) as given
${keyOrder}
on conflict do nothing
returning day, session_id, offer_id, kind, publisher_id, campaign_id, at, suspicious`;

const optOutSql = optOutStatement('inserted', { campaignIds: '$12', days: '$13', sessionDays: '$14' });

const noThanksSql = `with inserted as (${insertSql}) ${optOutSql}`;

const newNoThanksSql = `
with inserted as (${insertSql}), opted_out as (${optOutSql})
select session_id, offer_id, kind from inserted where suspicious is null`;

/** Stores "no thanks" events and, for each new one, the user's opt-out from the campaign, in one statement. */
export async function insertNoThanks(executor: Executor, events: readonly NoThanks[]): Promise<void> {
  await executor.query({ name: 'insert_no_thanks', text: noThanksSql, values: valuesOf(events) });
}

/**
 * Like `insertNoThanks`.
 * @returns events that are new and not suspicious
 */
export async function insertNewNoThanks(executor: Executor, events: readonly NoThanks[]): Promise<NewEvent[]> {
  const statement = { name: 'insert_new_no_thanks', text: newNoThanksSql, values: valuesOf(events) };
  return (await executor.query<NewEvent>(statement)).rows;
}

function valuesOf(events: readonly NoThanks[]): Values {
  const optOutDays = new Map(events.map((event) => [event.claims.campaignId, event.optOutDays]));
  const rules = [...optOutDays];
  const campaignIds = integers(rules, ([campaignId]) => campaignId);
  return [...rowValues(events), campaignIds, bigints(rules, ([, days]) => days), daysOf(events)];
}
