import { type PayingEvent, payingEventOf, payingEvents } from '../../catalog/rules.ts';
import type { Offer } from '../../catalog/types.ts';
import { texts, uuids } from '../../platform/db/binary-array.ts';
import type { Executor } from '../../platform/db/pool.ts';
import { getOrInsert } from '../../platform/lib/get-or-insert.ts';
import { dayOfUuid7, firstUuid7After, timeOfUuid7 } from '../../platform/lib/uuid7.ts';
import type { ActiveCaps, LimitedTotal } from '../caps.ts';
import { allocationDeltas, periodNames, type UsageDelta } from '../usage/usage.ts';

/** Slices that a process leases together and that have the same periods. */
export type Lease = { id: string; size: number };

/** Leased slice. `slot` is its index in the lease. */
export type SliceRef = { lease: Lease; slot: number };

/**
 * Part of a campaign total that is reserved for a served offer until its paying event occurs. The reserved part
 * decreases with the session's age (`release.ts`).
 */
export type Reservation = {
  sessionId: string;
  offerId: number;
  campaignId: number;
  /** Publisher at which the campaign total is counted, or null for the total across all publishers. */
  publisherId: number | null;
  /** Time zone of the campaign total. Together with the session time, it determines the cap periods. */
  timeZone: string;
  /** Periods in which the reservation is counted. */
  periods: readonly string[];
  impressions: number;
  micros: number;
  /** Event that the reserved amount is waiting for. */
  paidBy: PayingEvent;
  /**
   * Upper estimate of the probability that the event will be paid. `micros` is the full price times this probability.
   */
  chance: number;
  /**
   * Leased slice that granted the reservation. Null if the reservation was added to the campaign's usage instead. Not
   * stored.
   */
  slice: SliceRef | null;
};

/** Session with the offers shown in it. */
type ShowingSession = {
  session: { id: string; publisherId: number; createdAtMs: number };
  decided: readonly { offer: Offer; reserveMicros: number; reserveChance: number }[];
};

/**
 * Returns the campaign total reservations that a session's offers need.
 * @param grant returns the leased slice that grants a reservation, or null
 */
export function reservationsOf(
  activeCaps: ActiveCaps,
  { session: { id: sessionId, publisherId, createdAtMs }, decided }: ShowingSession,
  grant: (total: LimitedTotal, reservation: Reservation) => SliceRef | null,
): Reservation[] {
  const reservations: Reservation[] = [];
  for (const { offer, reserveMicros, reserveChance } of decided) {
    const { campaign } = offer;
    for (const total of activeCaps.totalsOf(campaign, publisherId)) {
      if (total.caps.length === 0) continue; // nothing is reserved for a goal alone
      const reservation: Reservation = {
        sessionId,
        offerId: offer.id,
        campaignId: campaign.id,
        publisherId: total.publisherId,
        timeZone: total.timeZone,
        periods: periodNames(total.timeZone, createdAtMs),
        impressions: 1,
        micros: Math.ceil(reserveMicros),
        paidBy: payingEventOf(campaign.payout.kind),
        chance: reserveChance,
        slice: null,
      };
      reservation.slice = grant(total, reservation);
      reservations.push(reservation);
    }
  }
  return reservations;
}

/*
 * A session has one row with all its reservations. With one row per offer, a fetch that showed five capped offers took
 * three times as much database time as a fetch without caps (docs/adr/0005-caps-by-reservation.md#figures).
 */

/**
 * Stored reservations by time zone: [offer, campaign, publisher or 0, impressions, micros, index in `payingEvents`,
 * chance].
 */
type Stored = [timeZone: string, [number, number, number, number, number, number, number?][]][];

/**
 * Chances are stored as integers, in units of 1/100,000. The previous release stored no chances, so a low chance is
 * assumed for its rows.
 */
const chanceParts = 100_000;
const unknownChance = 0.1;

type ReservationRow = { session_id: string; reserved: string };

/** Serialises the reservations of a session for its row. */
export function writeReserved(reservations: readonly Reservation[]): string {
  const byZone = new Map<string, Stored[number][1]>();
  for (const { timeZone, offerId, campaignId, publisherId, impressions, micros, paidBy, chance } of reservations) {
    const paidById = payingEvents.indexOf(paidBy);
    getOrInsert(byZone, timeZone, () => []).push([
      offerId,
      campaignId,
      publisherId ?? 0,
      impressions,
      micros,
      paidById,
      Math.ceil(chance * chanceParts),
    ]);
  }
  return JSON.stringify([...byZone] satisfies Stored);
}

function readReserved({ session_id: sessionId, reserved }: ReservationRow): Reservation[] {
  const atMs = timeOfUuid7(sessionId);
  return (JSON.parse(reserved) as Stored).flatMap(([timeZone, ofZone]) => {
    const periods = periodNames(timeZone, atMs);
    return ofZone.map(([offerId, campaignId, publisherId, impressions, micros, paidById, parts]) => ({
      sessionId,
      offerId,
      campaignId,
      publisherId: publisherId === 0 ? null : publisherId,
      timeZone,
      periods,
      impressions,
      micros,
      slice: null,
      paidBy: payingEvents[paidById] ?? 'click', // rows of the previous release
      chance: parts === undefined ? unknownChance : parts / chanceParts,
    }));
  });
}

const insertSql = `
insert into cap_reservations (session_id, reserved) select unnest($1::uuid[]), unnest($2::text[])`;

/** Inserts the reservations of sessions. */
export async function insertReservations(executor: Executor, reservations: readonly Reservation[]): Promise<void> {
  if (reservations.length === 0) return;
  const bySession = new Map<string, Reservation[]>();
  for (const reservation of reservations) getOrInsert(bySession, reservation.sessionId, () => []).push(reservation);
  const rows = [...bySession];
  const values = [uuids(rows, ([sessionId]) => sessionId), texts(rows, ([, reserved]) => writeReserved(reserved))];
  await executor.query({ name: 'insert_reservations', text: insertSql, values });
}

/* Rows are locked in key order, which avoids deadlocks. */
const lockSql = `
select session_id, reserved from cap_reservations where session_id = any($1::uuid[]) order by session_id for update`;

const settleSql = `
with settled as (delete from cap_reservations where session_id = any($1::uuid[]))
update cap_reservations set reserved = given.reserved
from unnest($2::uuid[], $3::text[]) as given (session_id, reserved)
where cap_reservations.session_id = given.session_id`;

/** Returns what remains of a reservation: the same object if unchanged, a smaller reservation, or null. */
type RemainderOf = (reservation: Reservation) => Reservation | null;

type Session = { id: string; reservations: readonly Reservation[] };

const readSession = (row: ReservationRow): Session => ({ id: row.session_id, reservations: readReserved(row) });

/**
 * Splits settled sessions into those without reservations and those with some left, and computes the usage to release.
 */
function settleSessions(sessions: readonly Session[], remainderOf: RemainderOf) {
  const released: UsageDelta[] = [];
  const ended: string[] = [];
  const remainingRows: [sessionId: string, reserved: string][] = [];
  for (const { id, reservations } of sessions) {
    const after = reservations.flatMap((reservation) => {
      const remainder = remainderOf(reservation);
      if (remainder === reservation) return remainder;
      released.push(...allocationDeltas(reservation, -1));
      if (remainder !== null) released.push(...allocationDeltas(remainder, 1));
      return remainder ?? [];
    });
    if (after.length === 0) ended.push(id);
    else remainingRows.push([id, writeReserved(after)]);
  }
  const values = [
    uuids(ended, (id) => id),
    uuids(remainingRows, ([sessionId]) => sessionId),
    texts(remainingRows, ([, reserved]) => reserved),
  ];
  return { released, values };
}

/**
 * Settles the reservations of sessions.
 * @returns the released usage
 */
export async function settleReservations(
  executor: Executor,
  sessionIds: readonly string[],
  remainderOf: RemainderOf,
): Promise<UsageDelta[]> {
  const locked = [uuids(sessionIds, (id) => id)];
  const { rows } = await executor.query<ReservationRow>({ name: 'lock_reservations', text: lockSql, values: locked });
  const { released, values } = settleSessions(rows.map(readSession), remainderOf);
  if (released.length > 0) await executor.query({ name: 'settle_reservations', text: settleSql, values });
  return released;
}

/* Session IDs are sorted by time, so the index finds the reservations that are due. */
const dueSql = `
select session_id, reserved from cap_reservations where step = $1 and session_id < $2::uuid
order by session_id limit $3 for update skip locked`;

const stepSql = `
with ended as (delete from cap_reservations where session_id = any($1::uuid[]))
update cap_reservations set reserved = given.reserved, step = $4
from unnest($2::uuid[], $3::text[]) as given (session_id, reserved)
where cap_reservations.session_id = given.session_id`;

/* Selects the clicked offers in sessions whose reservations wait for conversions. */
const clicksSql = `
select session_id, offer_id from events
where kind = 'click' and session_id = any($1::uuid[]) and day = any($2::date[])`;

async function clicksOf(executor: Executor, sessions: readonly Session[]): Promise<Set<string>> {
  const ids = sessions.flatMap(({ id, reservations }) =>
    reservations.some(({ paidBy }) => paidBy === 'conversion') ? [id] : [],
  );
  if (ids.length === 0) return new Set();
  const days = [...new Set(ids.map(dayOfUuid7))];
  const values = [uuids(ids, (id) => id), days];
  const { rows } = await executor.query<{ session_id: string; offer_id: number }>({
    name: 'clicks_of_reserved',
    text: clicksSql,
    values,
  });
  return new Set(rows.map(({ session_id: sessionId, offer_id: offerId }) => `${sessionId} ${offerId}`));
}

/**
 * Release step for at most `limit` sessions that started before `beforeMs`. If `seesClicks` is set, the step also looks
 * up the sessions' clicks.
 */
type Step = { step: number; beforeMs: number; limit: number; seesClicks: boolean };

/**
 * Applies one release step to due reservations, skipping those that another process has locked.
 * @returns the released usage and the number of sessions
 */
export async function releaseStep(
  executor: Executor,
  { step, beforeMs, limit, seesClicks }: Step,
  remainderOf: (reservation: Reservation, isClicked: boolean) => Reservation | null,
): Promise<{ sessions: number; released: UsageDelta[] }> {
  const values = [step, firstUuid7After(new Date(beforeMs)), limit];
  const { rows } = await executor.query<ReservationRow>({ name: 'due_reservations', text: dueSql, values });
  if (rows.length === 0) return { sessions: 0, released: [] };
  const sessions = rows.map(readSession);
  const clicks = seesClicks ? await clicksOf(executor, sessions) : new Set<string>();
  const { released, values: settled } = settleSessions(sessions, (reservation) =>
    remainderOf(reservation, clicks.has(`${reservation.sessionId} ${reservation.offerId}`)),
  );
  await executor.query({ name: 'step_reservations', text: stepSql, values: [...settled, step + 1] });
  return { sessions: rows.length, released };
}
