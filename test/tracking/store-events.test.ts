import { afterAll, beforeAll, expect, test } from 'vitest';
import type { LoggedEvent, Offer } from '../../src/catalog/types.ts';
import { transaction } from '../../src/platform/db/pool.ts';
import type { TokenClaims } from '../../src/platform/security/tracking-token.ts';
import { storeEvents } from '../../src/tracking/store-events.ts';
import { createWriters } from '../../src/tracking/writers.ts';
import { untilWaiting } from '../support/locks.ts';
import { createTestApp, type TestApp } from '../support/test-app.ts';
import { showOffer, tokenOf, trackedEvent } from './journey.ts';

let t: TestApp;
beforeAll(async () => {
  t = await createTestApp();
  const rules = {
    total_caps: [{ metric: 'impressions', limit: 1000, per: 'lifetime' }],
    frequency_caps: [{ scope: 'campaign', event: 'impression', limit: 50, window_minutes: 60 }],
  };
  await t.pool.query('update campaigns set rules = $1', [rules]);
  await t.deps.catalog.refresh();
});
afterAll(() => t.close());

const storeAll = (events: readonly LoggedEvent[]): Promise<void> =>
  transaction(t.pool, (executor) =>
    storeEvents(executor, t.deps.catalog.current(), createWriters(t.deps.eventMeter), events),
  );

/**
 * Stores events while another transaction has locked one row. That transaction locks a later row as soon as the store
 * waits for it.
 */
async function storeBeside(events: readonly LoggedEvent[], firstRowSql: string, laterRowSql: string): Promise<void> {
  const other = await t.pool.connect();
  let storing: Promise<void> | undefined;
  try {
    await other.query('begin');
    expect((await other.query(`${firstRowSql} for update`)).rowCount).toBe(1);
    storing = storeAll(events);
    await untilWaiting(t.pool, 1);
    expect((await other.query(`${laterRowSql} for update nowait`)).rowCount).toBe(1);
  } finally {
    await other.query('rollback');
    other.release();
    await storing;
  }
}

test('one statement locks the usage of all campaigns in a batch, in campaign order', async () => {
  const offers = [...t.deps.catalog.current().offers.values()].sort((a, b) => a.campaign.id - b.campaign.id);
  const [low, high] = [offers[0] as Offer, offers.at(-1) as Offer];
  const eventOf = (kind: LoggedEvent['kind'], { id: offerId, campaign }: Offer, sessionId?: string): LoggedEvent => {
    const event = trackedEvent(sessionId, kind);
    return { ...event, claims: { ...event.claims, publisherId: t.publisher.id, offerId, campaignId: campaign.id } };
  };
  const usageOf = ({ campaign }: Offer): string =>
    `select from campaign_usage where campaign_id = ${campaign.id} and period = 'lifetime'`;
  await storeAll([eventOf('impression', low), eventOf('impression', high)]);
  const impression = eventOf('impression', high);
  const later = (kind: 'click' | 'impression', offer: Offer): LoggedEvent => ({
    ...eventOf(kind, offer, impression.sessionId),
    atMs: impression.atMs + 1000,
  });
  await storeBeside([impression, later('click', high), later('impression', low)], usageOf(low), usageOf(high));
  const { rows } = await t.pool.query<{ impressions: string; clicks: string }>(
    'select impressions, clicks from campaign_usage where campaign_id = any($1) and period = $2 order by campaign_id',
    [[low.campaign.id, high.campaign.id], 'lifetime'],
  );
  expect(rows).toEqual([
    { impressions: '2', clicks: '0' },
    { impressions: '2', clicks: '1' },
  ]);
});

test('one statement locks all users of a batch who refused or saw an offer, in key order', async () => {
  const events: LoggedEvent[] = [];
  for (const pub_user_id of ['one user', 'another user']) {
    const { sessionId, click_url } = await showOffer(t, { pub_user_id });
    const claims = t.deps.tokens.read(tokenOf(click_url)) as TokenClaims & { sessionId: string };
    events.push({ ...trackedEvent(sessionId), claims });
  }
  const { rows } = await t.pool.query<{ id: string; user_key: string }>(
    'select id, user_key from sessions where id = any($1) order by user_key',
    [events.map(({ sessionId }) => sessionId)],
  );
  const [low, high] = rows.map(({ id }) => events.find(({ sessionId }) => sessionId === id) as LoggedEvent);
  const historyOf = (row = rows[0]): string => `select from user_history where user_key = '${row?.user_key}'`;
  const refused = { ...low, kind: 'no_thanks', optOutDays: 30 } as LoggedEvent;
  await storeBeside([refused, high as LoggedEvent], historyOf(rows[0]), historyOf(rows[1]));
  const { rows: optedOut } = await t.pool.query("select user_key from user_history where opt_outs <> '{}'");
  expect(optedOut).toEqual([{ user_key: rows[0]?.user_key }]);
});
