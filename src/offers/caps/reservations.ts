import { bigints, integers, smallints, texts, timestamps, uuids } from '../../platform/db/binary-array.ts';
import type { Executor } from '../../platform/db/pool.ts';
import { noAmounts, type UsageDelta } from './usage.ts';

/** The part of a campaign's totals that is reserved for an answer until the paying event, or until it expires. */
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

/** The usage that a reservation takes (1), or releases (-1). */
export const reservationDeltas = (reservation: Reservation, sign: 1 | -1): UsageDelta[] =>
  reservation.periods.map((period) => ({
    ...noAmounts,
    campaignId: reservation.campaignId,
    publisherId: reservation.publisherId,
    period,
    impressions: sign * reservation.impressions,
    micros: sign * reservation.micros,
  }));

const columns = 'session_id, offer_id, publisher_id, campaign_id, periods, impressions, micros, expires_at';

const insertSql = `
insert into cap_reservations (${columns})
select session_id, offer_id, publisher_id, campaign_id, string_to_array(periods, ','), impressions, micros, expires_at
from unnest($1::uuid[], $2::integer[], $3::integer[], $4::integer[], $5::text[], $6::smallint[], $7::bigint[],
    $8::timestamptz[])
  as given (${columns})`;

export async function insertReservations(executor: Executor, reservations: readonly Reservation[]): Promise<void> {
  if (reservations.length === 0) return;
  await executor.query({
    name: 'insert_reservations',
    text: insertSql,
    values: [
      uuids(reservations, (each) => each.sessionId),
      integers(reservations, (each) => each.offerId),
      integers(reservations, (each) => each.publisherId ?? 0),
      integers(reservations, (each) => each.campaignId),
      texts(reservations, (each) => each.periods.join(',')),
      smallints(reservations, (each) => each.impressions),
      bigints(reservations, (each) => Math.round(each.micros)),
      timestamps(reservations, (each) => each.expiresAtMs),
    ],
  });
}

/* Rows are locked in the order of their keys before they are deleted, which avoids deadlocks. */
const deleteSql = `
delete from cap_reservations where ctid = any(array(
  select ctid from cap_reservations where (session_id, offer_id) in (select * from unnest($1::uuid[], $2::integer[]))
  order by session_id, offer_id, publisher_id for update
)) returning ${columns}`;

/** Deletes the reservations of offers of sessions. @returns those that were still there */
export async function deleteReservations(
  executor: Executor,
  shown: readonly { sessionId: string; offerId: number }[],
): Promise<Reservation[]> {
  const values = [uuids(shown, (each) => each.sessionId), integers(shown, (each) => each.offerId)];
  const { rows } = await executor.query<Row>({ name: 'delete_reservations', text: deleteSql, values });
  return rows.map(toReservation);
}

/** Deletes expired reservations, except those that another process is deleting. @returns those it deleted */
export async function deleteExpiredReservations(
  executor: Executor,
  nowMs: number,
  limit: number,
): Promise<Reservation[]> {
  const { rows } = await executor.query<Row>({
    name: 'delete_expired_reservations',
    text: `delete from cap_reservations where ctid = any(array(
      select ctid from cap_reservations where expires_at <= to_timestamp($1::float8)
      order by expires_at limit $2 for update skip locked
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
