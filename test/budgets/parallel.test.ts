import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type ServerProcess, startServerProcess } from '../support/server-process.ts';
import { createTestApp, type TestApp } from '../support/test-app.ts';
import { browser } from '../tracking/journey.ts';

let t: TestApp;
let servers: ServerProcess[];
let campaignId: number;
beforeAll(async () => {
  t = await createTestApp();
  servers = await Promise.all([1, 2].map(() => startServerProcess({ databaseUrl: t.databaseUrl })));
});
afterAll(async () => {
  for (const server of servers ?? []) await server.stop();
  await t.close();
});
beforeEach(async () => {
  campaignId = await nextCampaign(0);
});

async function nextCampaign(index: number): Promise<number> {
  const { rows } = await t.pool.query<{ id: number }>(
    'select id from campaigns where not is_loyalty and active order by id',
  );
  return (rows[index] as { id: number }).id;
}

/** Sets the campaign's rules, and waits until both processes have loaded them. */
async function setRules(
  rules: object,
  payout: { kind: string; amount: number } = { kind: 'cpc', amount: 1 },
): Promise<void> {
  await t.pool.query(
    'update campaigns set rules = $2, payout_kind = $3, payout_amount = $4, priority = 0, active = true where id = $1',
    [campaignId, rules, payout.kind, payout.amount],
  );
  await waitForReload();
}

/**
 * Waits until both processes have loaded all changes. It makes one more change, which is visible in responses: a
 * process that shows it has also loaded the earlier ones.
 */
async function waitForReload(): Promise<void> {
  const mark = `mark ${Math.random()}`;
  await t.pool.query('update publishers set name = $1', [mark]);
  for (const server of servers) {
    for (;;) {
      const { styles } = await fetchOffers(server, { dev: 1 });
      if (styles.footer.publisher_name === mark) break;
    }
  }
}

type Data = {
  session_id: string;
  offers: { campaign_id: number; pixel: string; click_url: string }[];
  styles: { footer: { publisher_name: string } };
};

async function fetchOffers(server: ServerProcess, body: object): Promise<Data> {
  const answer = await fetch(`${server.url}/native/v4/offers.json?api_key=demo-key`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'user-agent': 'Mozilla/5.0 (X11; Linux x86_64) Chrome/147.0 Safari/537.36',
    },
    body: JSON.stringify({ placement: 'checkout', ...body }),
  });
  const text = await answer.text();
  expect(answer.status, text).toBe(200);
  return JSON.parse(text).data;
}

const fetchMany = (count: number, bodyOf: (index: number) => object): Promise<Data[]> =>
  Promise.all(
    Array.from({ length: count }, (_, index) => fetchOffers(servers[index % 2] as ServerProcess, bodyOf(index))),
  );

const showing = (answers: Data[]): Data[] =>
  answers.filter(({ offers }) => offers.some((offer) => offer.campaign_id === campaignId));

describe('with 64 concurrent requests to two processes', () => {
  test.each([
    ['without history', 'new-user'],
    ['with history', 'known-user'],
  ])('a user %s sees an offer with a cap of one impression in exactly one session', async (_name, user) => {
    await setRules({ frequency_caps: [{ scope: 'campaign', event: 'impression', limit: 1, window_minutes: 60 }] });
    if (user === 'known-user')
      await fetchOffers(servers[0] as ServerProcess, { pub_user_id: user, campaignId: 1, dev: 1 });
    expect(showing(await fetchMany(64, () => ({ pub_user_id: user })))).toHaveLength(1);
    expect(showing(await fetchMany(8, () => ({ pub_user_id: user })))).toHaveLength(0);
    expect(showing(await fetchMany(2, () => ({ pub_user_id: `another ${user}` })))).toHaveLength(1);
  });

  test('each of several users sees it in exactly one session, in any batch', async () => {
    await setRules({ frequency_caps: [{ scope: 'offer', event: 'impression', limit: 1, window_minutes: 60 }] });
    const users = Array.from({ length: 16 }, (_, index) => `crowd ${index}`);
    const answers = await fetchMany(64, (index) => ({ pub_user_id: users[(index * 7) % 16] }));
    expect(showing(answers)).toHaveLength(16);
  });

  test('dev requests always see it and do not count against the cap', async () => {
    await setRules({ frequency_caps: [{ scope: 'campaign', event: 'impression', limit: 1, window_minutes: 60 }] });
    expect(showing(await fetchMany(8, () => ({ pub_user_id: 'developer', dev: 1 })))).toHaveLength(8);
    expect(showing(await fetchMany(8, () => ({ pub_user_id: 'developer' })))).toHaveLength(1);
  });

  test('a campaign with ten daily impressions left is shown ten times', async () => {
    await setRules({ total_caps: [{ metric: 'impressions', per: 'day', limit: 10 }] });
    expect(showing(await fetchMany(64, (index) => ({ pub_user_id: `many ${index}` })))).toHaveLength(10);
  });

  test('a campaign whose budget pays for five more impressions is shown five times', async () => {
    await setRules({});
    campaignId = await nextCampaign(1);
    // The payout ranks this campaign first.
    await setRules({ total_caps: [{ metric: 'budget', per: 'day', limit: 10 }] }, { kind: 'cpm', amount: 2000 });
    const responses = showing(await fetchMany(64, () => ({})));
    expect(responses).toHaveLength(5);
    for (const { offers } of responses) await fetch((offers[0] as { pixel: string }).pixel);
    expect(showing(await fetchMany(8, () => ({})))).toHaveLength(0);
  });

  test('clicks are booked up to the daily and lifetime budgets, to the micro-unit', async () => {
    await setRules({});
    campaignId = await nextCampaign(2);
    await setRules({}, { kind: 'cpc', amount: 0.333333 });
    const shownOffers = showing(await fetchMany(64, () => ({}))).map(
      ({ offers }) => offers.find((offer) => offer.campaign_id === campaignId) as Data['offers'][number],
    );
    expect(shownOffers).toHaveLength(64);
    await Promise.all(shownOffers.map(({ pixel }) => fetch(pixel)));
    await t.pool.query("update events set at = at - interval '1 second' where kind = 'impression'");
    const caps = [
      { metric: 'budget', per: 'day', limit: 7.000001 },
      { metric: 'budget', per: 'lifetime', limit: 5.5 },
    ];
    await setRules({ total_caps: caps }, { kind: 'cpc', amount: 0.333333 });
    const clicks = await Promise.all(
      shownOffers.map(({ click_url }, index) =>
        fetch(click_url.replace(/^http:\/\/[^/]+/, servers[index % 2]?.url ?? ''), {
          headers: { 'user-agent': browser },
          redirect: 'manual',
        }),
      ),
    );
    expect(new Set(clicks.map(({ status }) => status))).toEqual(new Set([302]));
    const { rows } = await t.pool.query(
      `select sum(revenue_micros)::int as revenue, sum(unbilled_micros)::int as unbilled, count(*)::int as clicks
      from events where campaign_id = $1 and kind = 'click' and suspicious is null`,
      [campaignId],
    );
    expect(rows).toEqual([{ revenue: 16 * 333_333, unbilled: 48 * 333_333, clicks: 64 }]);
    const used = await t.pool.query(
      `select distinct spent_micros::int as spent, unbilled_micros::int as unbilled, clicks::int from campaign_usage
      where campaign_id = $1 and period not like 'hour%'`,
      [campaignId],
    );
    expect(used.rows).toEqual([{ spent: 16 * 333_333, unbilled: 48 * 333_333, clicks: 64 }]);
  });
});

test('a paused campaign is shown by no process until it is resumed', async () => {
  await setRules({});
  for (let round = 0; round < 4; round += 1) {
    for (const active of [false, true]) {
      await t.pool.query('update campaigns set active = $2 where id = $1', [campaignId, active]);
      await waitForReload();
      const responses = showing(await fetchMany(4, () => ({ pub_user_id: `pause ${round}` })));
      expect(responses).toHaveLength(active ? 4 : 0);
    }
  }
});
