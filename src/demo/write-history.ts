import type pg from 'pg';
import type { CatalogStore } from '../catalog/store.ts';
import type { Publisher, Snapshot } from '../catalog/types.ts';
import type { Config } from '../config.ts';
import type { SessionRecord } from '../offers/session-record.ts';
import { hasSessions, insertPastSessions } from '../offers/sessions.ts';
import { perksOf } from '../perks/confirmed-perk.ts';
import { buildUspPayload, uspSelection } from '../perks/usp-selection.ts';
import { markWrapped, type UspSession } from '../perks/usp-sessions.ts';
import { type Executor, type Transaction, transaction } from '../platform/db/pool.ts';
import { createRandom } from '../platform/lib/random.ts';
import { dayMs, dayOf, hourMs } from '../platform/lib/time.ts';
import type { TokenCodec } from '../platform/security/tracking-token.ts';
import { createUserKeys } from '../platform/security/user-key.ts';
import { insertBookings } from '../tracking/bookings.ts';
import { insertEvents, perkEvent } from '../tracking/event-rows.ts';
import type { OutboxEvent } from '../webhooks/outbox.ts';
import { recordPastDeliveries } from '../webhooks/past-deliveries.ts';
import { embeddedDemoIds } from './catalogue.ts';
import { generateActivity, type SyntheticActivity } from './history/events.ts';
import { historyDays, makeUpSessions } from './history/sessions.ts';

type HistoryDeps = { pool: pg.Pool; catalog: CatalogStore; config: Config; tokens: TokenCodec; now: () => number };
type Wrapped = { session: UspSession; selected: readonly number[]; nowMs: number };

/** Time from the fetch until the user confirms the selection, in milliseconds. */
const confirmedAfterMs = 25_000;

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

/**
 * Generates 14 days of activity for the embedded demo, unless it already has sessions. The history is stored atomically
 * as raw rows, which the rollups then process in the same way as real activity. No webhooks are sent.
 */
export async function writeHistory(deps: HistoryDeps): Promise<void> {
  const { pool, catalog, config, now } = deps;
  const [snapshot, nowMs] = [catalog.current(), now()];
  const publisher = snapshot.publishersBySdkId.get(embeddedDemoIds.sdkId);
  if (publisher === undefined) return;
  const random = createRandom(1);
  const offers = publisher.index.offers.filter(({ active, campaign }) => active && campaign.active);
  const userKeys = createUserKeys(config.userPepper);
  const endMs = nowMs - hourMs;
  if (await hasSessions(pool, publisher.id)) return;
  await createHistoryPartitions(pool, nowMs);
  // Generate the sessions before opening the transaction. On a slow machine, the transaction would otherwise sit idle
  // and time out.
  const sessions = makeUpSessions({ publisher, offers, userKeys, random }, nowMs);
  const done = sessions.map((session) => ({ session, activity: generateActivity(session, random, endMs) }));
  await transaction(pool, async (executor) => {
    await executor.query("select pg_advisory_xact_lock(hashtext('perkwire_demo'))");
    if (await hasSessions(executor, publisher.id)) return;
    await insertPastSessions(executor, sessions);
    await writeActivity(
      executor,
      done.map(({ activity }) => activity),
    );
    await writeConfirmed(executor, done.flatMap(toWrapped), { ...deps, publisher, snapshot });
  });
}

async function writeActivity(executor: Transaction, activities: readonly SyntheticActivity[]): Promise<void> {
  for (const chunk of chunksOf(activities.flatMap(({ events }) => events))) await insertEvents(executor, chunk);
  const conversions = activities.flatMap((activity) => activity.conversions);
  await insertBookings(executor, conversions);
}

type ConfirmedContext = { config: Config; tokens: TokenCodec; publisher: Publisher; snapshot: Snapshot };

async function writeConfirmed(
  executor: Transaction,
  wrapped: readonly Wrapped[],
  { config, tokens, publisher, snapshot }: ConfirmedContext,
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

function toWrapped({ session, activity }: { session: SessionRecord; activity: SyntheticActivity }): Wrapped[] {
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
