import { afterAll, beforeAll, expect, test } from 'vitest';
import { requestOver } from '../../support/request.ts';
import { createTestApp, type TestApp } from '../../support/test-app.ts';

const browser = 'Mozilla/5.0 (X11; Linux x86_64; rv:130.0) Gecko/20100101 Firefox/130.0';

let t: TestApp;
beforeAll(async () => {
  t = await createTestApp();
});
afterAll(() => t.close());

type Fetched = { session_id: string; offers: { campaign_id: number; beacons: { no_thanks_click: string } }[] };

async function fetchOffers(user: string): Promise<Fetched> {
  const answer = await t.app.inject({
    method: 'POST',
    url: '/native/v4/offers.json?api_key=demo-key',
    payload: { placement: 'checkout', ad_fp: user, pub_user_id: user, note: 'says "no" \\ and, (maybe) {yes}' },
  });
  expect(answer.statusCode).toBe(200);
  return answer.json().data;
}

const decisionOf = async (id: string) =>
  (await t.app.inject({ url: `/manage/v1/sessions/${id}/decision?api_key=demo-key` })).json().data as {
    identical: boolean;
  };

test('each of many concurrent users has one session and sees no opted-out campaigns', async () => {
  const users = Array.from({ length: 60 }, (_, index) => `user ${index}`);
  const refused = new Map<string, number>();
  for (const user of users.filter((_, index) => index % 3 === 0)) {
    const { offers } = await fetchOffers(user);
    const [first] = offers;
    if (first === undefined) throw new Error('no offers');
    const url = first.beacons.no_thanks_click;
    const response = await requestOver(t.app, { url, headers: { 'user-agent': browser } });
    expect(response.statusCode).toBe(200);
    refused.set(user, first.campaign_id);
  }
  const { rows: before } = await t.pool.query<{ count: number }>('select count(*)::int as count from sessions');
  const answers = await Promise.all(users.map(async (user) => ({ user, ...(await fetchOffers(user)) })));
  const { rows: after } = await t.pool.query<{ count: number }>('select count(*)::int as count from sessions');
  expect(after[0]?.count).toBe((before[0]?.count ?? 0) + users.length);

  const ids = answers.map(({ session_id }) => session_id);
  const { rows: sessionRows } = await t.pool.query<{ id: string; campaign_ids: number[]; custom: object }>(
    'select id, campaign_ids, custom from sessions where id = any($1)',
    [ids],
  );
  const keptById = new Map(sessionRows.map((row) => [row.id, row]));
  for (const { user, session_id, offers } of answers) {
    const campaignIds = offers.map((offer) => offer.campaign_id);
    expect(campaignIds.length).toBeGreaterThan(0);
    expect(campaignIds).not.toContain(refused.get(user));
    expect(keptById.get(session_id)).toMatchObject({
      campaign_ids: campaignIds,
      custom: { note: 'says "no" \\ and, (maybe) {yes}' },
    });
    expect(await decisionOf(session_id)).toMatchObject({ identical: true });
  }
});
