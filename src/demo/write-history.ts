import type pg from 'pg';
import { activeCapsOf } from '../budgets/caps.ts';
import { type CountedEvent, countEvents } from '../budgets/count.ts';
import type { CapEvent } from '../catalog/rules.ts';
import type { CatalogStore } from '../catalog/store.ts';
import type { Offer, Publisher, Snapshot } from '../catalog/types.ts';
import type { Config } from '../config.ts';
import { createCouponIssuer } from '../coupons/issuer.ts';
import { recordPastPoint } from '../experiments/past.ts';
import type { SessionRecord } from '../offers/session-record.ts';
import { insertPastSessions, lastSessionBefore } from '../offers/sessions.ts';
import { perksOf } from '../perks/confirmed-perk.ts';
import type { PerkMessages } from '../perks/perk-messages.ts';
import { buildUspPayload, uspSelection } from '../perks/usp-selection.ts';
import { markWrapped, type UspSession } from '../perks/usp-sessions.ts';
import { type Executor, type Transaction, transaction } from '../platform/db/pool.ts';
import { createRandom } from '../platform/lib/random.ts';
import { dayMs, dayOf, hourMs } from '../platform/lib/time.ts';
import type { SecretBox } from '../platform/security/secret-box.ts';
import type { TokenCodec } from '../platform/security/tracking-token.ts';
import { createUserKeys } from '../platform/security/user-key.ts';
import { catchUpRollups } from '../reports/catch-up.ts';
import { insertBookings } from '../tracking/bookings.ts';
import { insertEvents, perkEvent } from '../tracking/event-rows.ts';
import type { OutboxEvent } from '../webhooks/outbox.ts';
import { recordPastDeliveries } from '../webhooks/past-deliveries.ts';
import { embeddedDemoIds } from './catalogue.ts';
import { generateActivity, type SyntheticActivity } from './history/events.ts';
import { historyDays, makeUpSessions } from './history/sessions.ts';

export type HistoryDeps = {
  pool: pg.Pool;
  catalog: CatalogStore;
  config: Config;
  tokens: TokenCodec;
  secretBox: SecretBox;
  /** Outbox for perk messages, or null if messages are not available. */
  perkMessages?: PerkMessages | null;
  /** Returns the end of the history, in epoch milliseconds. */
  now: () => number;
  /** Signal that stops the generation after the current week. The next start continues it. */
  signal?: AbortSignal;
};
type HistoryContext = HistoryDeps & { publisher: Publisher; snapshot: Snapshot };
type Done = { session: SessionRecord; activity: SyntheticActivity };
type Wrapped = { session: UspSession; selected: readonly number[]; nowMs: number };

/** Time from the fetch until the user confirms the selection, in milliseconds. */
const confirmedAfterMs = 25_000;

/** Number of confirmations for each perk message. */
const messageEvery = 15;

/** Maximum number of rows per statement, which keeps statements short even on a busy machine. */
const maxRows = 500;

const chunksOf = <Row>(rows: readonly Row[]): Row[][] =>
  Array.from({ length: Math.ceil(rows.length / maxRows) }, (_, index) =>
    rows.slice(index * maxRows, (index + 1) * maxRows),
  );

/** Creates the database partitions for the days of the demo history. */
export async function createHistoryPartitions(executor: Executor, nowMs: number): Promise<void> {
  const days = [dayOf(nowMs - (historyDays + 1) * dayMs), dayOf(nowMs)];
  await executor.query('select create_day_partitions($1::date, $2::date)', days);
}

const weekMs = 7 * dayMs;

/** Returns the starts of the weeks of the history that ends at a time. */
const weeksUntil = (nowMs: number): number[] =>
  Array.from({ length: historyDays / 7 }, (_, index) => nowMs - hourMs - historyDays * dayMs + index * weekMs);

/**
 * Generates the six weeks of activity before `now` for the embedded demo, except for weeks that are followed by
 * sessions. The history is stored as raw rows, which the rollups then process in the same way as real activity. Each
 * week is a transaction, after which the results of the experiments are recorded. No webhooks and no messages are sent.
 */
export async function writeHistory(deps: HistoryDeps): Promise<void> {
  const { pool, catalog, config, now, signal } = deps;
  const nowMs = now();
  await catalog.ready(catalog.current().publishersBySdkId.get(embeddedDemoIds.sdkId)?.id ?? 0);
  const snapshot = catalog.current();
  const publisher = snapshot.publishersBySdkId.get(embeddedDemoIds.sdkId);
  if (publisher === undefined) return;
  const lastMs = await lastSessionBefore(pool, publisher.id, nowMs);
  const weeks = weeksUntil(nowMs).filter((fromMs) => lastMs === null || fromMs > lastMs);
  if (weeks.length === 0) return;
  const random = createRandom(1);
  const offers = activeOffers(publisher);
  const userKeys = createUserKeys(config.userPepper);
  await createHistoryPartitions(pool, nowMs);
  // Generate the sessions before opening a transaction. On a slow machine, the transaction would otherwise sit idle and
  // time out.
  const sessions = makeUpSessions({ publisher, offers, userKeys, random }, nowMs);
  const done = sessions.map((session) => ({ session, activity: generateActivity(session, random, nowMs - hourMs) }));
  for (const fromMs of weeks) {
    if (signal?.aborted === true) return;
    const untilMs = fromMs + weekMs;
    const week = done.filter(({ session: { createdAtMs: atMs } }) => atMs >= fromMs && atMs < untilMs);
    await transaction(pool, (executor) => writeWeek(executor, week, { ...deps, publisher, snapshot }));
    // Counts week by week, because a rollup of six weeks could exceed the time limit of a statement.
    await catchUpRollups(pool, nowMs);
    await recordPastPoint(pool, untilMs);
  }
}

/** Returns the publisher's offers that can be shown. */
export const activeOffers = (publisher: Publisher): Offer[] =>
  publisher.index.offers.filter(({ active, campaign }) => active && campaign.active);

async function writeWeek(executor: Transaction, week: readonly Done[], context: HistoryContext): Promise<void> {
  // The retention job may have dropped partitions again, because the history is longer than deliveries are stored. The
  // lock that this call takes keeps it from doing so before the week is written.
  await createHistoryPartitions(executor, context.now());
  await insertPastSessions(
    executor,
    week.map(({ session }) => session),
  );
  await writeActivity(
    executor,
    week.map(({ activity }) => activity),
  );
  await countActivity(executor, week, context);
  const wrapped = week.flatMap(toWrapped);
  await writeConfirmed(executor, wrapped, context);
  await writeReceived(executor, wrapped, context);
}

async function writeActivity(executor: Transaction, activities: readonly SyntheticActivity[]): Promise<void> {
  for (const chunk of chunksOf(activities.flatMap(({ events }) => events))) await insertEvents(executor, chunk);
  const conversions = activities.flatMap((activity) => activity.conversions);
  await insertBookings(executor, conversions);
}

const capEvents: readonly string[] = ['impression', 'click', 'conversion'];

/** Counts events towards budgets and caps, so that campaign pages show the same amounts as reports. */
async function countActivity(
  executor: Transaction,
  week: readonly Done[],
  { snapshot }: HistoryContext,
): Promise<void> {
  const counted = week.flatMap(({ session, activity: { events, conversions } }) => {
    const toCounted = (kind: string, offerId: number, atMs: number, revenueMicros: number): CountedEvent[] => {
      const campaign = session.offers.find(({ id }) => id === offerId)?.campaign;
      if (campaign === undefined || !capEvents.includes(kind)) return [];
      const { id: sessionId, publisherId } = session;
      return [{ kind: kind as CapEvent, sessionId, offerId, publisherId, campaign, atMs, revenueMicros }];
    };
    return [
      ...events.flatMap(({ kind, claims, atMs, revenueMicros }) =>
        toCounted(kind, claims.offerId, atMs, revenueMicros),
      ),
      ...conversions.flatMap(({ offerId, bookedAtMs, payoutMicros }) =>
        toCounted('conversion', offerId, bookedAtMs, Number(payoutMicros)),
      ),
    ];
  });
  for (const chunk of chunksOf(counted)) await countEvents(executor, activeCapsOf(snapshot), chunk);
}

async function writeConfirmed(
  executor: Transaction,
  wrapped: readonly Wrapped[],
  { config, tokens, publisher, snapshot }: HistoryContext,
): Promise<void> {
  await markWrapped(executor, wrapped);
  for (const chunk of chunksOf(wrapped.flatMap(selectionEvents))) await insertEvents(executor, chunk);
  const context = { publisher, offers: snapshot.offers, tokens, publicUrl: config.publicUrl };
  const toDelivery = ({ session, selected, nowMs }: Wrapped): OutboxEvent => ({
    publisherId: publisher.id,
    event: uspSelection.name,
    sessionId: session.id,
    pubUserId: session.pubUserId,
    dev: false,
    payload: () => buildUspPayload(session, perksOf(session, selected, context)),
    nowMs,
  });
  for (const chunk of chunksOf(wrapped.map(toDelivery))) await recordPastDeliveries(executor, chunk);
}

/** Users receive a coupon code for each confirmed perk with a pool, and some get the perks by e-mail. */
async function writeReceived(
  executor: Transaction,
  wrapped: readonly Wrapped[],
  { secretBox, config, publisher, snapshot, perkMessages }: HistoryContext,
): Promise<void> {
  const issuer = createCouponIssuer({ secretBox, config });
  // One call per confirmation, because a call stores the same time for all of its codes.
  for (const { session, selected, nowMs } of wrapped) {
    const { pubUserId, id: sessionId } = session;
    const wants = session.offerIds.flatMap((id, index) => {
      const offer = snapshot.offers.get(id);
      return offer?.coupon == null || !selected.includes(session.campaignIds[index] as number)
        ? []
        : { offer, publisherId: publisher.id, pubUserId: pubUserId ?? '', sessionId, dev: false };
    });
    if (wants.length > 0) await issuer.issue(executor, wants, nowMs);
  }
  const messages = wrapped
    .filter((_wrapped, index) => index % messageEvery === 0)
    .map(({ session, nowMs }) => ({
      sessionId: session.id,
      publisherId: publisher.id,
      pubUserId: session.pubUserId ?? '',
      recipient: { email: `${session.pubUserId}@mail.example`, language: 'en' },
      nowMs,
    }));
  await perkMessages?.addSent(executor, messages);
}

function toWrapped({ session, activity }: Done): Wrapped[] {
  const { confirmed } = activity;
  if (confirmed === null) return [];
  const wrapped = {
    id: session.id,
    publisherId: session.publisherId,
    placement: session.placement,
    pubUserId: session.pubUserId,
    offerIds: session.offers.map(({ id }) => id),
    campaignIds: session.offers.map(({ campaign }) => campaign.id),
    macros: {},
    language: null,
    dev: false,
    usp: true,
    experiments: [],
    initial: confirmed,
    selected: confirmed,
    wrappedAt: null,
  };
  return [{ session: wrapped, selected: confirmed, nowMs: session.createdAtMs + confirmedAfterMs }];
}

const selectionEvents = ({ session, selected, nowMs }: Wrapped) =>
  selected.map((campaignId) => {
    const index = session.campaignIds.indexOf(campaignId);
    const { id: sessionId, publisherId } = session;
    const offerId = session.offerIds[index] as number;
    return perkEvent(
      'selection',
      { publisherId, sessionId, offerId, campaignId, position: index + 1, dev: false },
      nowMs,
    );
  });
