import { type PayingEvent, payingEventOf, payingEvents } from '../../catalog/rules.ts';
import type { Offer } from '../../catalog/types.ts';
import { texts, uuids } from '../../platform/db/binary-array.ts';
import type { Executor } from '../../platform/db/pool.ts';
import { getOrInsert } from '../../platform/lib/get-or-insert.ts';
import { dayOfUuid7, firstUuid7After, timeOfUuid7 } from '../../platform/lib/uuid7.ts';
import type { ActiveCaps, LimitedTotal } from '../caps.ts';
import { periodNames, takenDeltas, type UsageDelta } from '../usage/usage.ts';

/**
 * The part of a campaign's totals that is reserved for an answer until the paying event; it shrinks with the age of the
 * session (`release.ts`).
 */
export type Reservation = {
  sessionId: string;
  offerId: number;
  campaignId: number;
  /** null: the campaign's own total. */
  publisherId: number | null;
  /** With the time of the session it gives the periods. */
  timeZone: string;
  /** The periods it is counted in. */
  periods: readonly string[];
  impressions: number;
  micros: number;
  /** What its money waits for. */
  paidBy: PayingEvent;
  /** What `micros` is of all that would be paid: the chance that it is, taken high. */
  chance: number;
  /** The slice that granted it; null: it was added to the usage of the campaign. Not stored. */
  sliceId: string | null;
};

/** A session and the offers that it shows. */
type ShowingSession = {
  session: { id: string; publisherId: number; createdAtMs: number };
  decided: readonly { offer: Offer; reserveMicros: number; reserveChance: number }[];
};

/** What the offers of a session reserve of the totals of their campaigns; not granted yet. */
export const reservationsOf = (
  activeCaps: ActiveCaps,
  { session: { id: sessionId, publisherId, createdAtMs }, decided }: ShowingSession,
): { total: LimitedTotal; reservation: Reservation }[] =>
  decided.flatMap(({ offer, reserveMicros, reserveChance }) =>
    activeCaps
      .totalsOf(offer.campaign, publisherId)
      .filter(({ caps }) => caps.length > 0) // nothing is reserved for a goal alone
      .map((total) => ({
        total,
        reservation: {
          sessionId,
          offerId: offer.id,
          campaignId: offer.campaign.id,
          publisherId: total.publisherId,
          timeZone: total.timeZone,
          periods: periodNames(total.timeZone, createdAtMs),
          impressions: 1,
          micros: Math.ceil(reserveMicros),
          paidBy: payingEventOf(offer.campaign.payout.kind),
          chance: reserveChance,
          sliceId: null,
        },
      })),
  );

/*
 * A session has one row with all that it reserves: with a row for each offer, a fetch that showed five capped offers
 * cost the database three times one without caps (docs/adr/0005-caps-by-reservation.md#figures).
 */

/** As stored, by time zone: [offer, campaign, publisher or 0, impressions, micros, place in `payingEvents`, chance]. */
type Stored = [timeZone: string, [number, number, number, number, number, number, number?][]][];

/** Chances are stored in parts of this, and those of the release before this one, which stored none, taken for low. */
const chanceParts = 100_000;
const unknownChance = 0.1;

type Row = { session_id: string; reserved: string };

/** What a session reserves, as its row has it. */
function writeReserved(reservations: readonly Reservation[]): string {
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

function readReserved({ session_id: sessionId, reserved }: Row): Reservation[] {
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
      sliceId: null,
      paidBy: payingEvents[paidById] ?? 'click', // as the release before this one stored it
      chance: parts === undefined ? unknownChance : parts / chanceParts,
    }));
  });
}

/** Rows of `cap_reservations`, by session. */
export function reservedBySession(reservations: readonly Reservation[]): Map<string, string> {
  const bySession = new Map<string, Reservation[]>();
  for (const each of reservations) getOrInsert(bySession, each.sessionId, () => []).push(each);
  return new Map([...bySession].map(([sessionId, reserved]) => [sessionId, writeReserved(reserved)]));
}

const insertSql = `
insert into cap_reservations (session_id, reserved) select unnest($1::uuid[]), unnest($2::text[])`;

/** Stores all that sessions reserve. */
export async function insertReservations(executor: Executor, reservations: readonly Reservation[]): Promise<void> {
  if (reservations.length === 0) return;
  const rows = [...reservedBySession(reservations)];
  const values = [uuids(rows, ([sessionId]) => sessionId), texts(rows, ([, reserved]) => reserved)];
  await executor.query({ name: 'insert_reservations', text: insertSql, values });
}

/* Rows are locked in the order of their keys, which avoids deadlocks. */
const lockSql = `
select session_id, reserved from cap_reservations where session_id = any($1::uuid[]) order by session_id for update`;

const settleSql = `
with settled as (delete from cap_reservations where session_id = any($1::uuid[]))
update cap_reservations set reserved = given.reserved
from unnest($2::uuid[], $3::text[]) as given (session_id, reserved)
where cap_reservations.session_id = given.session_id`;

/** What stays of a reservation: itself, another one, or null. */
type RemainderOf = (reservation: Reservation) => Reservation | null;

type Session = { id: string; reservations: readonly Reservation[] };

const readSession = (row: Row): Session => ({ id: row.session_id, reservations: readReserved(row) });

/** Sessions after they were settled: those that ended, those that stay, and the usage that is released. */
function settleSessions(sessions: readonly Session[], remainderOf: RemainderOf) {
  const released: UsageDelta[] = [];
  const ended: string[] = [];
  const kept: [sessionId: string, reserved: string][] = [];
  for (const { id, reservations } of sessions) {
    const after = reservations.flatMap((reservation) => {
      const remainder = remainderOf(reservation);
      if (remainder === reservation) return remainder;
      released.push(...takenDeltas(reservation, -1));
      if (remainder !== null) released.push(...takenDeltas(remainder, 1));
      return remainder ?? [];
    });
    if (after.length === 0) ended.push(id);
    else kept.push([id, writeReserved(after)]);
  }
  const values = [
    uuids(ended, (id) => id),
    uuids(kept, ([sessionId]) => sessionId),
    texts(kept, ([, reserved]) => reserved),
  ];
  return { released, values };
}

/** Settles reservations of sessions. @returns the usage that this releases */
export async function settleReservations(
  executor: Executor,
  sessionIds: readonly string[],
  remainderOf: RemainderOf,
): Promise<UsageDelta[]> {
  const locked = [uuids(sessionIds, (id) => id)];
  const { rows } = await executor.query<Row>({ name: 'lock_reservations', text: lockSql, values: locked });
  const { released, values } = settleSessions(rows.map(readSession), remainderOf);
  if (released.length > 0) await executor.query({ name: 'settle_reservations', text: settleSql, values });
  return released;
}

/* Ids of sessions are in the order of their time, so the index finds what is due. */
const dueSql = `
select session_id, reserved from cap_reservations where step = $1 and session_id < $2::uuid
order by session_id limit $3 for update skip locked`;

const stepSql = `
with ended as (delete from cap_reservations where session_id = any($1::uuid[]))
update cap_reservations set reserved = given.reserved, step = $4
from unnest($2::uuid[], $3::text[]) as given (session_id, reserved)
where cap_reservations.session_id = given.session_id`;

/* Offers that were clicked, of sessions that wait for conversions. */
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

/** A step of sessions that began before `beforeMs`, at most `limit` of them; `seesClicks`: clicks are looked up. */
type Step = { step: number; beforeMs: number; limit: number; seesClicks: boolean };

/**
 * Takes reservations through a step of their release, except those that another process is changing.
 * @returns the usage that this releases, and of how many sessions
 */
export async function releaseStep(
  executor: Executor,
  { step, beforeMs, limit, seesClicks }: Step,
  remainderOf: (reservation: Reservation, isClicked: boolean) => Reservation | null,
): Promise<{ sessions: number; released: UsageDelta[] }> {
  const values = [step, firstUuid7After(new Date(beforeMs)), limit];
  const { rows } = await executor.query<Row>({ name: 'due_reservations', text: dueSql, values });
  if (rows.length === 0) return { sessions: 0, released: [] };
  const due = rows.map(readSession);
  const clicks = seesClicks ? await clicksOf(executor, due) : new Set<string>();
  const { released, values: settled } = settleSessions(due, (one) =>
    remainderOf(one, clicks.has(`${one.sessionId} ${one.offerId}`)),
  );
  await executor.query({ name: 'step_reservations', text: stepSql, values: [...settled, step + 1] });
  return { sessions: rows.length, released };
}
