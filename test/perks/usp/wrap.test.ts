import pg from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { dayMs } from '../../../src/platform/lib/time.ts';
import { newUuid7 } from '../../../src/platform/lib/uuid7.ts';
import { endpointIdsOf } from '../../../src/webhooks/outbox.ts';
import { untilWaiting } from '../../support/locks.ts';
import { createTestApp, type TestApp } from '../../support/test-app.ts';
import { addEndpoint, deliveriesOf, insertSession, type UspCalls, uspCalls } from './calls.ts';

let t: TestApp;
let other: TestApp;
let usp: UspCalls;
let aheadMs = 0;
beforeAll(async () => {
  const now = () => Date.now() + aheadMs;
  t = await createTestApp({ now });
  other = await createTestApp({ databaseUrl: t.databaseUrl, now });
  usp = uspCalls(t);
});
afterAll(async () => {
  await other.close();
  await t.close();
});
beforeEach(async () => {
  await addEndpoint(t);
});
afterEach(async () => {
  aheadMs = 0;
  await t.pool.query('delete from webhook_endpoints');
});

type Payload = {
  body: {
    pub_user_id: string;
    selected: number;
    session_id: string;
    campaigns: (Record<string, unknown> & { campaign_id: number })[];
  };
};
const payloadOf = (delivery: { payload: Buffer } | undefined): Payload => JSON.parse(String(delivery?.payload));

/** Makes concurrent calls, alternating between two processes. */
const parallel = <T>(count: number, call: (index: number, calls: UspCalls) => Promise<T>): Promise<T[]> =>
  Promise.all(Array.from({ length: count }, (_, index) => call(index, index % 2 === 0 ? usp : uspCalls(other))));

/**
 * Counts notifications for this test's endpoint during and after `work`, and waits for the `expected` number.
 * Notifications of an earlier test may arrive late.
 * @returns number of notifications
 */
async function notifications(work: () => Promise<void>, expected = 0): Promise<number> {
  const client = new pg.Client({ connectionString: t.databaseUrl });
  await client.connect();
  const { rows } = await client.query<{ id: number }>('select id from webhook_endpoints');
  let count = 0;
  client.on('notification', ({ payload }) => {
    if (endpointIdsOf(payload ?? '').includes(Number(rows[0]?.id))) count += 1;
  });
  await client.query('listen perkwire_outbox');
  await work();
  await expect.poll(() => count).toBeGreaterThanOrEqual(expected);
  await client.query('select 1'); // earlier commits have been delivered by now
  await client.end();
  return count;
}

describe('wrap', () => {
  test('closes the session and queues a webhook that is due immediately', async () => {
    const { id, ids } = await usp.fetch();
    await usp.select(id, ids[2]);
    await usp.select(id, ids[0]);
    const { status, data } = await usp.wrap(id);
    expect(status).toBe(200);
    expect(data).toMatchObject({ session_id: id, status: 'wrapped', selected: [ids[0], ids[2]], unselected: [ids[1]] });
    expect(new Date(data.wrapped_at ?? '').toISOString()).toBe(data.wrapped_at);
    const deliveries = await deliveriesOf(t, id);
    expect(deliveries).toMatchObject([{ status: 'pending', dev: false, queued: true, pub_user_id: 'u-1' }]);
    const { body } = payloadOf(deliveries[0]);
    expect(body).toMatchObject({ pub_user_id: 'u-1', selected: 1, session_id: id });
    expect(body.campaigns.map((campaign) => campaign.campaign_id)).toEqual([ids[0], ids[2]]);
  });

  test('applies the last changes once, and rejects unknown and contradictory ones first', async () => {
    const { id, ids } = await usp.fetch();
    await usp.put(id, { selected: [ids[0]] });
    const wrapWith = (change: object) => usp.wrap(id, { body: { action: 'wrap', ...change } });
    expect((await wrapWith({ selected: [999_999] })).status).toBe(404);
    expect((await wrapWith({ selected: [ids[1]], unselected: [ids[1]] })).status).toBe(400);
    const change = { selected: [ids[1], ids[2]], unselected: [ids[0]] };
    expect((await wrapWith(change)).data).toMatchObject({ status: 'wrapped', selected: [ids[1], ids[2]] });
    expect((await wrapWith({ selected: [ids[0]] })).data).toMatchObject({ selected: [ids[1], ids[2]] });
    const { body } = payloadOf((await deliveriesOf(t, id))[0]);
    expect(body.campaigns.map((campaign) => campaign.campaign_id)).toEqual([ids[1], ids[2]]);
  });

  test('sends the same texts and URLs as the fetch response', async () => {
    const { id, offers } = await usp.fetch();
    await usp.put(id, { selected: offers.map((offer) => offer.campaign_id) });
    await usp.wrap(id);
    const { campaigns } = payloadOf((await deliveriesOf(t, id))[0]).body;
    for (const [index, campaign] of campaigns.entries()) {
      const { loyalty_requirements, loyaltyboost_requirements, offer_description, ...same } = campaign;
      const offer = offers[index] as (typeof offers)[number];
      expect(offer).toMatchObject(same);
      expect(offer_description).toBe((offer.campaign as { offer_description: string }).offer_description);
      expect(loyalty_requirements).toEqual(
        offer.loyalty_requirements === '' ? {} : { text: offer.loyalty_requirements },
      );
      expect(loyaltyboost_requirements).toEqual(loyalty_requirements);
    }
    expect(campaigns).toHaveLength(3);
  });

  test('fills macros as the fetch does', async () => {
    await t.pool.query("update offers set title = 'Thanks, {{first_name|friend}}!' where publisher_id = $1", [
      t.publisher.id,
    ]);
    await t.deps.catalog.refresh();
    const { id, offers, ids } = await usp.fetch({ first_name: 'Ann <b>' });
    await usp.select(id, ids[1]);
    await usp.wrap(id);
    const [campaign] = payloadOf((await deliveriesOf(t, id))[0]).body.campaigns;
    expect(campaign?.title).toBe('Thanks, Ann &lt;b&gt;!');
    expect(campaign?.title).toBe(offers[1]?.title);
  });

  test('sends selected 0 and no campaigns if nothing was selected', async () => {
    const { id } = await usp.fetch();
    await usp.wrap(id, { user: 'u-1' });
    expect(payloadOf((await deliveriesOf(t, id))[0])).toEqual({
      body: { pub_user_id: 'u-1', selected: 0, session_id: id, campaigns: [] },
    });
  });

  test('wraps offers that were preselected', async () => {
    await t.pool.query("update themes set usp_check_all = (unit = 'mou')");
    await t.deps.catalog.refresh();
    const { id, ids } = await usp.fetch();
    await t.pool.query('update themes set usp_check_all = false');
    await t.deps.catalog.refresh();
    expect((await usp.wrap(id)).data.selected).toEqual(ids);
    expect(payloadOf((await deliveriesOf(t, id))[0]).body.campaigns.map((campaign) => campaign.campaign_id)).toEqual(
      ids,
    );
  });

  test('returns the same response when repeated, even days later, and sends nothing new', async () => {
    const { id, ids } = await usp.fetch();
    await usp.select(id, ids[1]);
    const first = await usp.wrap(id);
    const again = await usp.wrap(id);
    aheadMs = 2 * dayMs;
    const late = await usp.wrap(id);
    expect([again.status, late.status]).toEqual([200, 200]);
    expect(again.body).toEqual(first.body);
    expect(late.body).toEqual(first.body);
    expect(await deliveriesOf(t, id)).toHaveLength(1);
  });

  test('wakes the workers once the delivery is committed', async () => {
    const { id } = await usp.fetch();
    expect(await notifications(() => usp.wrap(id).then(() => {}), 1)).toBe(1);
    expect(await notifications(() => usp.wrap(id).then(() => {}))).toBe(0);
  });

  test('holds the delivery if the endpoint is disabled', async () => {
    await t.pool.query('update webhook_endpoints set enabled = false');
    const { id } = await usp.fetch();
    expect((await usp.wrap(id)).status).toBe(200);
    expect(await deliveriesOf(t, id)).toMatchObject([{ status: 'held', queued: false }]);
  });

  test('holds the delivery if the endpoint is being disabled concurrently', async () => {
    const { id } = await usp.fetch();
    const client = await t.pool.connect();
    await client.query('begin');
    await client.query('update webhook_endpoints set enabled = false');
    const wrapping = usp.wrap(id);
    await untilWaiting(other.pool, 1);
    await client.query('commit');
    client.release();
    expect((await wrapping).status).toBe(200);
    expect(await deliveriesOf(t, id)).toMatchObject([{ status: 'held', queued: false }]);
  });

  test('sends each wrap to the endpoints that exist at that time', async () => {
    const wrapped = async () => {
      const { id } = await usp.fetch();
      await usp.wrap(id);
      return deliveriesOf(t, id);
    };
    expect(await wrapped()).toHaveLength(1);
    const { rows } = await t.pool.query<{ id: number }>(
      `insert into webhook_endpoints (publisher_id, events, url, method, secret_sealed)
      select publisher_id, '{usp.selection}', url, method, secret_sealed from webhook_endpoints returning id`,
    );
    expect(await wrapped()).toHaveLength(2);
    await t.pool.query(
      `update webhook_endpoints set filter = '{"key":"body.selected","op":"equals","value":7}' where id = $1`,
      [rows[0]?.id],
    );
    expect(await wrapped()).toHaveLength(1);
    await t.pool.query('delete from webhook_endpoints where id <> $1', [rows[0]?.id]);
    expect(await wrapped()).toHaveLength(0);
  });

  test('works without an endpoint and queues nothing', async () => {
    await t.pool.query('delete from webhook_endpoints');
    const { id } = await usp.fetch();
    expect(await usp.wrap(id)).toMatchObject({ status: 200, data: { status: 'wrapped' } });
    expect(await deliveriesOf(t, id)).toEqual([]);
  });

  test("sends nothing to other publishers' endpoints", async () => {
    await t.pool.query(
      "insert into publishers (name, sdk_id) values ('Other', 'aaaaaaaaaaaaaaaa') on conflict do nothing",
    );
    await t.pool.query("update webhook_endpoints set publisher_id = (select id from publishers where name = 'Other')");
    const { id } = await usp.fetch();
    await usp.wrap(id);
    expect(await deliveriesOf(t, id)).toEqual([]);
  });

  test('marks the delivery of a dev session', async () => {
    const { id, ids } = await usp.fetch({ dev: '1' });
    await usp.select(id, ids[0]);
    await usp.wrap(id);
    const deliveries = await deliveriesOf(t, id);
    expect(deliveries).toMatchObject([{ status: 'pending', dev: true, queued: true }]);
    const url = new URL(String(payloadOf(deliveries[0]).body.campaigns[0]?.click_url));
    expect(t.deps.tokens.read(url.searchParams.get('t') ?? '')).toMatchObject({
      dev: true,
      sessionId: id,
      position: 1,
    });
  });

  test('sends a selected offer that has left the catalogue', async () => {
    const id = newUuid7(Date.now());
    await insertSession(t, { id, offerIds: [888_888], campaignIds: [777_777], pubUserId: 'u-1', usp: true });
    await usp.select(id, 777_777);
    await usp.wrap(id);
    expect(payloadOf((await deliveriesOf(t, id))[0]).body).toMatchObject({
      selected: 1,
      campaigns: [{ campaign_id: 777_777, title: '' }],
    });
  });

  test('leaves the session open and sends nothing if it fails, and succeeds when retried', async () => {
    const { id, ids } = await usp.fetch();
    await usp.select(id, ids[0]);
    await t.pool.query(`create function refuse() returns trigger language plpgsql
      as 'begin raise exception ''refused''; end';
      create trigger refuse before insert on delivery_queue for each row execute function refuse()`);
    const notified = await notifications(async () => {
      expect(await usp.wrap(id)).toMatchObject({ status: 500, code: 'internal' });
    });
    await t.pool.query('drop trigger refuse on delivery_queue; drop function refuse()');
    expect(notified).toBe(0);
    expect(await deliveriesOf(t, id)).toEqual([]);
    expect((await usp.get(id)).data).toMatchObject({ status: 'open', selected: [ids[0]], wrapped_at: null });
    expect(await usp.wrap(id)).toMatchObject({ status: 200, data: { status: 'wrapped', selected: [ids[0]] } });
    expect(await deliveriesOf(t, id)).toHaveLength(1);
  });
});

describe('concurrent calls in two processes', () => {
  const campaigns = Array.from({ length: 32 }, (_, index) => 5001 + index);
  const manyCampaigns = async (): Promise<string> => {
    const id = newUuid7(Date.now());
    await insertSession(t, { id, offerIds: campaigns, campaignIds: campaigns, pubUserId: 'u-1', usp: true });
    return id;
  };

  test('store all of 32 changes', async () => {
    const id = await manyCampaigns();
    const answers = await parallel(32, (index, calls) => calls.select(id, campaigns[index] as number));
    expect(answers.map((answer) => answer.status)).toEqual(Array(32).fill(200));
    expect((await usp.get(id)).data.selected).toEqual(campaigns);
  });

  test('keep changes to different campaigns', async () => {
    const id = await manyCampaigns();
    await usp.put(id, { selected: campaigns.slice(0, 16) });
    await parallel(32, (index, calls) => (index < 16 ? calls.unselect : calls.select)(id, campaigns[index] as number));
    expect((await usp.get(id)).data.selected).toEqual(campaigns.slice(16));
  });

  test('queue exactly one delivery for 32 wraps, which get the same response', async () => {
    const { id, ids } = await usp.fetch();
    await usp.select(id, ids[1]);
    const answers = await parallel(32, (_index, calls) => calls.wrap(id));
    expect(answers.map((answer) => answer.status)).toEqual(Array(32).fill(200));
    expect(new Set(answers.map((answer) => JSON.stringify(answer.body))).size).toBe(1);
    expect(await deliveriesOf(t, id)).toHaveLength(1);
  });

  test('queue one delivery per session with its own selection, even for repeated wraps', async () => {
    const sessions = await Promise.all(Array.from({ length: 24 }, () => usp.fetch()));
    await Promise.all(sessions.map(({ id, ids }, index) => usp.select(id, ids[index % 3] as number)));
    const calls = [...sessions, ...sessions.slice(0, 8)];
    const answers = await Promise.all(calls.map(({ id }) => usp.wrap(id)));
    for (const [index, { id, ids }] of sessions.entries()) {
      const selected = [ids[index % 3]];
      expect(answers[index]).toMatchObject({ status: 200, data: { session_id: id, status: 'wrapped', selected } });
      const deliveries = await deliveriesOf(t, id);
      expect(deliveries).toHaveLength(1);
      expect(payloadOf(deliveries[0]).body).toMatchObject({ session_id: id, selected: 1 });
    }
    expect(answers.slice(24).map(({ body }) => body)).toEqual(answers.slice(0, 8).map(({ body }) => body));
  });

  test('queue exactly one delivery for 32 wraps of a session without changes', async () => {
    const { id } = await usp.fetch();
    await parallel(32, (_index, calls) => calls.wrap(id));
    expect(await deliveriesOf(t, id)).toHaveLength(1);
  });

  test.each(['select', 'unselect'] as const)('%s during a wrap gets 409 and changes nothing', async (name) => {
    const { id, ids } = await usp.fetch();
    await usp.select(id, ids[0]);
    const client = await t.pool.connect();
    await client.query('begin');
    await client.query('update usp_sessions set wrapped_at = now() where session_id = $1', [id]);
    const tick = usp[name](id, name === 'select' ? ids[1] : ids[0]);
    await untilWaiting(other.pool, 1);
    await client.query('commit');
    client.release();
    expect(await tick).toMatchObject({ status: 409, code: 'session_wrapped' });
    expect((await usp.get(id)).data).toMatchObject({ status: 'wrapped', selected: [ids[0]] });
  });

  test('sends the last selection if it changes while the wrap waits', async () => {
    const { id, ids } = await usp.fetch();
    await usp.select(id, ids[0]);
    const client = await t.pool.connect();
    await client.query('begin');
    await client.query('update usp_sessions set selected = $2 where session_id = $1', [id, [ids[1], ids[2]]]);
    const wrapping = usp.wrap(id);
    await untilWaiting(other.pool, 1);
    await client.query('commit');
    client.release();
    expect((await wrapping).data).toMatchObject({ status: 'wrapped', selected: [ids[1], ids[2]] });
    const deliveries = await deliveriesOf(t, id);
    expect(deliveries).toHaveLength(1);
    expect(payloadOf(deliveries[0]).body.campaigns.map((campaign) => campaign.campaign_id)).toEqual([ids[1], ids[2]]);
    const { rows } = await t.pool.query(
      "select campaign_id from events where session_id = $1 and kind = 'selection' order by campaign_id",
      [id],
    );
    expect(rows.map(({ campaign_id }) => campaign_id)).toEqual([ids[1], ids[2]].toSorted());
  });

  test('send in the webhook every change that got 200, and reject late ones with 409', async () => {
    for (let round = 0; round < 10; round += 1) {
      const id = await manyCampaigns();
      const answers = await parallel(16, (index, calls) =>
        index === 8 ? calls.wrap(id) : calls.select(id, campaigns[index] as number),
      );
      const acceptedIds = campaigns.filter((_campaign, index) => index !== 8 && answers[index]?.status === 200);
      const refused = answers.filter((answer) => answer.status !== 200);
      expect(refused.every((answer) => answer.code === 'session_wrapped')).toBe(true);
      const { body } = payloadOf((await deliveriesOf(t, id))[0]);
      expect(body.campaigns.map((campaign) => campaign.campaign_id)).toEqual(acceptedIds);
    }
  });
});
