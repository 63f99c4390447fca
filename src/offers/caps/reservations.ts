import type { DecidedOffer } from '../../decision/types.ts';
import { bigints, integers, smallints, texts, timestamps, uuids } from '../../platform/db/binary-array.ts';
import type { Executor } from '../../platform/db/pool.ts';
import type { ActiveCaps, LimitedTotal } from './active-caps.ts';
import { reservationMs } from './history.ts';
import { noAmounts, periodNames, type UsageDelta } from './usage.ts';

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
  /** The slice that granted it; null: it was added to the usage of the campaign. Not stored. */
  sliceId: string | null;
};

/** The session that shows an offer. */
type Shown = { sessionId: string; publisherId: number; nowMs: number };

/** What a shown offer reserves of the totals of its campaign; not granted yet. */
export const reservationsOf = (
  activeCaps: ActiveCaps,
  { offer, reserveMicros }: Pick<DecidedOffer, 'offer' | 'reserveMicros'>,
  { sessionId, publisherId, nowMs }: Shown,
): { total: LimitedTotal; reservation: Reservation }[] =>
  activeCaps.totalsOf(offer.campaign, publisherId).map((total) => ({
    total,
    reservation: {
      sessionId,
      offerId: offer.id,
      campaignId: offer.campaign.id,
      publisherId: total.publisherId,
      periods: periodNames(total.timeZone, nowMs),
      impressions: 1,
      micros: Math.ceil(reserveMicros),
      expiresAtMs: nowMs + reservationMs,
      sliceId: null,
    },
  }));

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

export const reservationColumns =
  'session_id, offer_id, publisher_id, campaign_id, periods, impressions, micros, expires_at';

/** The rows that `reservationValues` gives, with the slices that granted them, as a query. @param first parameter */
export const givenReservationsSql = (first: number): string => `
select session_id, offer_id, publisher_id, campaign_id, string_to_array(periods, ',') as periods, impressions, micros,
  expires_at, slice_id
from unnest(${['uuid', 'integer', 'integer', 'integer', 'text', 'smallint', 'bigint', 'timestamptz', 'uuid']
  .map((type, index) => `$${first + index}::${type}[]`)
  .join(', ')}) as given (${reservationColumns}, slice_id)`;

export const reservationValues = (reservations: readonly Reservation[]): Buffer[] => [
  uuids(reservations, (each) => each.sessionId),
  integers(reservations, (each) => each.offerId),
  integers(reservations, (each) => each.publisherId ?? 0),
  integers(reservations, (each) => each.campaignId),
  texts(reservations, (each) => each.periods.join(',')),
  smallints(reservations, (each) => each.impressions),
  bigints(reservations, (each) => Math.round(each.micros)),
  timestamps(reservations, (each) => each.expiresAtMs),
  uuids(reservations, (each) => each.sliceId),
];

const insertSql = `
insert into cap_reservations (${reservationColumns})
select ${reservationColumns} from (${givenReservationsSql(1)}) given`;

export async function insertReservations(executor: Executor, reservations: readonly Reservation[]): Promise<void> {
  if (reservations.length === 0) return;
  await executor.query({ name: 'insert_reservations', text: insertSql, values: reservationValues(reservations) });
}

/* Rows are locked in the order of their keys before they are deleted, which avoids deadlocks. */
const deleteSql = `
delete from cap_reservations where ctid = any(array(
  select ctid from cap_reservations where (session_id, offer_id) in (select * from unnest($1::uuid[], $2::integer[]))
  order by session_id, offer_id, publisher_id for update
)) returning ${reservationColumns}`;

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
    )) returning ${reservationColumns}`,
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
  sliceId: null,
});
