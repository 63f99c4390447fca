import type { Executor } from '../platform/db/pool.ts';
import type { UserKeys } from '../platform/security/user-key.ts';
import { findTraces, type Subject } from './traces.ts';

/** Sessions of one export, and deliveries of it (count each); with more, the export says that it is cut. */
const maxSessions = 2000;

/** All that is kept about a user, as it is kept. Times in ISO 8601; amounts in millionths of their currency. */
export async function exportUser(executor: Executor, userKeys: UserKeys, subject: Subject, now: Date) {
  const traces = await findTraces(executor, subject, now, maxSessions);
  const ids = traces.map(({ id }) => id);
  const days = [...new Set(traces.map(({ day }) => day))];
  const ofSessions = [days, ids];
  const keys = [...new Set([subject.userKey, ...traces.flatMap(({ userKey }) => userKey ?? [])])];
  const named = traces.flatMap(({ pubUserId }) => pubUserId ?? []);
  const pubUserIds = [...new Set(subject.namedBy === 'pub_user_id' ? [subject.identifier, ...named] : named)];
  const read = async (text: string, values: unknown[]): Promise<Record<string, unknown>[]> =>
    (await executor.query(text, values)).rows;
  return {
    complete: traces.length < maxSessions,
    sessions: await read(sessionsSql, ofSessions),
    events: await read(eventsSql, ofSessions),
    selections: await read(selectionsSql, ofSessions),
    conversions: await read(conversionsSql, ofSessions),
    saved_offers: await read(savedSql, [
      pubUserIds.map((id) => userKeys.of(subject.publisherId, id)),
      ids,
      subject.namedBy === 'ad_fp',
    ]),
    history: await read(historySql, [keys]),
    webhooks: await read(webhooksSql, [
      subject.publisherId,
      ids,
      subject.namedBy === 'pub_user_id' ? subject.identifier : null,
    ]),
  };
}

const inSessions = (id: string): string => `day = any($1::date[]) and ${id} = any($2::uuid[])`;

const sessionsSql = `
select id as session_id, created_at, placement, pub_user_id, country, region, city, device, os, browser, offer_ids, campaign_ids,
  coalesce(custom, '{}') as custom, coalesce(macros, '{}') as macros
from sessions where ${inSessions('id')} order by id`;

const eventsSql = `
select session_id, offer_id, campaign_id, kind, at, suspicious from events where ${inSessions('session_id')} order by session_id, at`;

const selectionsSql = `
select session_id, selected as campaign_ids, wrapped_at from usp_sessions where ${inSessions('session_id')} order by session_id`;

const conversionsSql = `
select session_id, offer_id, campaign_id, event, txn_id, void, payout_micros::text, currency, loyalty_micros::text, booked_at
from conversions where ${inSessions('session_id')} order by session_id, booked_at`;

const savedSql = `
select offer_id, campaign_id, session_id, saved_at from wallet_items
where user_key = any($1::uuid[]) and (not $3 or session_id = any($2::uuid[])) order by saved_at`;

const historySql = `
select to_jsonb(h) - 'user_key' - 'publisher_id' as entry from user_history h where user_key = any($1::uuid[])`;

const webhooksSql = `
select id, event, session_id, status, created_at, convert_from(payload, 'UTF8')::json as payload from deliveries
where publisher_id = $1 and erased_at is null and (session_id = any($2::uuid[]) or pub_user_id = $3) order by id limit ${maxSessions}`;
