import { plainArray, quoted } from '../../platform/db/array-literal.ts';
import type { Executor } from '../../platform/db/pool.ts';
import { type Delta, nothingUsed } from './use.ts';

/** What an answer holds of a campaign's totals until the event that pays comes, or time is up. */
export type Reservation = {
  sessionId: string;
  offerId: number;
  campaignId: number;
  /** null: the campaign's own total. */
  publisherId: number | null;
  /** The periods it is counted in. */
  periods: readonly string[];
  impressions: number;
  micros: number;
  expiresAtMs: number;
};

/** The changes that take a reservation, or give it back. */
export const heldBy = (held: Reservation, sign: 1 | -1): Delta[] =>
  held.periods.map((period) => ({
    ...nothingUsed,
    campaignId: held.campaignId,
    publisherId: held.publisherId,
    period,
    impressions: sign * held.impressions,
    micros: sign * held.micros,
  }));

const columns = 'session_id, offer_id, publisher_id, campaign_id, periods, impressions, micros, expires_at';

const insertSql = `
insert into cap_reservations (${columns})
select session_id, offer_id, publisher_id, campaign_id, periods::text[], impressions, micros, to_timestamp(expires_at)
from unnest($1::uuid[], $2::integer[], $3::integer[], $4::integer[], $5::text[], $6::smallint[], $7::bigint[], $8::float8[])
  as given (${columns})`;

export async function insertReservations(executor: Executor, held: readonly Reservation[]): Promise<void> {
  if (held.length === 0) return;
  await executor.query({
    name: 'insert_reservations',
    text: insertSql,
    values: [
      plainArray(held.map((each) => each.sessionId)),
      plainArray(held.map((each) => each.offerId)),
      plainArray(held.map((each) => each.publisherId ?? 0)),
      plainArray(held.map((each) => each.campaignId)),
      `{${held.map((each) => quoted(`{${each.periods.map(quoted).join(',')}}`)).join(',')}}`,
      plainArray(held.map((each) => each.impressions)),
      plainArray(held.map((each) => Math.round(each.micros))),
      plainArray(held.map((each) => each.expiresAtMs / 1000)),
    ],
  });
}

/* Rows are locked in the order of their keys before they go. */
const takeSql = `
delete from cap_reservations where ctid = any(array(
  select ctid from cap_reservations where (session_id, offer_id) in (select * from unnest($1::uuid[], $2::integer[]))
  order by session_id, offer_id, publisher_id for update
)) returning ${columns}`;

/** Removes the reservations of these offers of sessions. Those that are gone already answer nothing. */
export async function takeReservations(
  executor: Executor,
  shown: readonly { sessionId: string; offerId: number }[],
): Promise<Reservation[]> {
  const values = [plainArray(shown.map((each) => each.sessionId)), plainArray(shown.map((each) => each.offerId))];
  const { rows } = await executor.query<Row>({ name: 'take_reservations', text: takeSql, values });
  return rows.map(toReservation);
}

/** Removes reservations whose time is up; what another process removes meanwhile is left to it. */
export async function takeExpired(executor: Executor, nowMs: number, limit: number): Promise<Reservation[]> {
  const { rows } = await executor.query<Row>({
    name: 'take_expired',
    text: `delete from cap_reservations where ctid = any(array(
      select ctid from cap_reservations where expires_at <= to_timestamp($1::float8) order by expires_at limit $2 for update skip locked
    )) returning ${columns}`,
    values: [nowMs / 1000, limit],
  });
  return rows.map(toReservation);
}

type Row = {
  session_id: string;
  offer_id: number;
  publisher_id: number;
  campaign_id: number;
  periods: string[];
  impressions: number;
  micros: string;
  expires_at: Date;
};

const toReservation = (row: Row): Reservation => ({
  sessionId: row.session_id,
  offerId: row.offer_id,
  campaignId: row.campaign_id,
  publisherId: row.publisher_id === 0 ? null : row.publisher_id,
  periods: row.periods,
  impressions: row.impressions,
  micros: Number(row.micros),
  expiresAtMs: row.expires_at.getTime(),
});
