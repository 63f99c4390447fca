import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createTestApp, type TestApp } from '../../support/test-app.ts';

let t: TestApp;
beforeAll(async () => {
  t = await createTestApp();
});
afterAll(() => t.close());

type Line = {
  offer_id: number;
  campaign_id: number;
  position: number | null;
  rank: number | null;
  score: number | null;
  rule: string | null;
  reason: string;
};

async function post(url: string, body: object, key = 'demo-key') {
  const answer = await t.app.inject({ method: 'POST', url: `${url}api_key=${key}`, payload: body });
  return { status: answer.statusCode, body: answer.json() };
}

async function explain(body: object = {}, query = ''): Promise<Line[]> {
  const { status, body: answer } = await post(`/manage/v1/explain?${query}`, { placement: 'checkout', ...body });
  expect(status, JSON.stringify(answer)).toBe(200);
  return answer.data.offers;
}

describe('an explanation', () => {
  test('states for each demo offer its rank or the rule that excludes it', async () => {
    const lines = await explain({ ip: '8.8.8.8' });
    const { rows } = await t.pool.query<{ id: number }>('select id from offers where deleted_at is null');
    expect(new Set(lines.map((line) => line.offer_id))).toEqual(new Set(rows.map((row) => row.id)));
    expect(lines.slice(0, 3).map((line) => line.position)).toEqual([1, 2, 3]);
    for (const line of lines) {
      expect(line.rule === null).toBe(line.position !== null);
      expect(line.reason).toMatch(/^[A-Z].{10,}\.$/s);
    }
  });

  test('applies the caps that a user has reached without counting an impression', async () => {
    const [first] = await explain();
    await t.pool.query('update campaigns set priority = 0, rules = $2 where id = $1', [
      first?.campaign_id,
      { frequency_caps: [{ scope: 'campaign', event: 'impression', limit: 1, window_minutes: 60 }] },
    ]);
    await t.deps.catalog.refresh();
    const lineFor = async (user: string) =>
      (await explain({ pub_user_id: user })).find((line) => line.campaign_id === first?.campaign_id);
    expect((await lineFor('ada'))?.position).toBe(1);
    expect((await lineFor('ada'))?.position).toBe(1);
    await post('/native/v4/offers.json?', { placement: 'checkout', pub_user_id: 'ada' });
    expect(await lineFor('ada')).toMatchObject({ position: null, rule: 'frequency_cap' });
    expect((await lineFor('bob'))?.position).toBe(1);
    expect(Number((await t.pool.query('select count(*) from sessions')).rows[0].count)).toBe(1);
    expect(Number((await t.pool.query('select count(*) from user_history')).rows[0].count)).toBe(1);
  });

  test('creates no placement', async () => {
    await explain({ placement: 'never seen' });
    expect((await t.pool.query("select 1 from placements where name = 'never-seen'")).rows).toEqual([]);
  });

  test('accepts and rejects the same requests as fetch-offers', async () => {
    expect((await explain({}, 'campaignId=1&')).filter((line) => line.position !== null).length).toBeLessThan(2);
    expect((await post('/manage/v1/explain?', {})).body.error.code).toBe('missing_placement');
    expect((await post('/manage/v1/explain?loyaltyboost=7&', { placement: 'checkout' })).status).toBe(400);
    expect(
      (await post('/manage/v1/explain?', { placement: 'checkout', pub_user_id: 'ada@shop.example' })).body.error.code,
    ).toBe('pub_user_id_is_pii');
  });

  test('needs a key with the configurations permission', async () => {
    expect((await post('/manage/v1/explain?', { placement: 'checkout' }, t.publisher.sdkId)).status).toBe(403);
  });
});
