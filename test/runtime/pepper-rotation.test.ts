import { afterAll, beforeAll, expect, test } from 'vitest';
import { countHistoriesByMark } from '../../src/budgets/move-histories.ts';
import { countItemsByMark } from '../../src/perks/wallet-items.ts';
import { checkSecrets } from '../../src/platform/security/canary.ts';
import { pepperMark } from '../../src/platform/security/user-key.ts';
import { eraseDueUsers } from '../../src/privacy/erasure-job.ts';
import { secondSweepMs } from '../../src/privacy/erasures.ts';
import { signInAs } from '../dashboard/support.ts';
import { list, local, save, showTo } from '../perks/wallet/support.ts';
import { createTestApp, type TestApp } from '../support/test-app.ts';
import { clickIdOf, track } from '../tracking/conversions/support.ts';
import { call } from '../tracking/journey.ts';

/*
 * Three processes on one database, as in the steps of docs/operations.md#rotating-the-user-pepper: `before` and
 * `during` at work at once, `after` without the old pepper.
 */
const [oldPepper, newPepper] = ['old-pepper-'.repeat(3), 'new-pepper-'.repeat(3)];
let nowMs = Date.now();
let before: TestApp;
let during: TestApp;
let after: TestApp;

beforeAll(async () => {
  const now = () => nowMs;
  before = await createTestApp({ now, config: { userPepper: oldPepper, earlierPeppers: [newPepper] } });
  const { databaseUrl } = before;
  during = await createTestApp({ now, databaseUrl, config: { userPepper: newPepper, earlierPeppers: [oldPepper] } });
  after = await createTestApp({ now, databaseUrl, config: { userPepper: newPepper } });
});
afterAll(async () => {
  await after?.close();
  await during?.close();
  await before?.close();
});

const user = { ad_fp: 'device-1' };
const show = (t: TestApp) => showTo(t, 'user-1', user);
const campaigns = async (t: TestApp) => (await show(t)).map(({ campaign_id }) => campaign_id);
const savedIn = async (t: TestApp): Promise<number[]> =>
  (await list(t, 'user-1')).json().data.offers.map(({ id }: { id: number }) => id);

/** Returns the number of rows under the old and under the new pepper. */
async function countRows(): Promise<{ histories: (number | undefined)[]; items: (number | undefined)[] }> {
  const marks = [oldPepper, newPepper].map(pepperMark);
  const [histories, items] = [await countHistoriesByMark(before.pool), await countItemsByMark(before.pool)];
  return { histories: marks.map((mark) => histories.get(mark)), items: marks.map((mark) => items.get(mark)) };
}

test('a user seen during the rotation keeps opt-outs, wallet and conversions, and can be erased', async () => {
  const [first, second, third] = await show(before);
  if (first === undefined || second === undefined || third === undefined) throw new Error('too few offers');
  await call(before, first.beacons.no_thanks_click);
  const link = local((await save(before, second)).json().data.wallet_url);
  const clickId = await clickIdOf(before, third.click_url);
  const sale = { click_id: clickId, event: 'sale', payout: '5', currency: 'USD', txn_id: 'order-1' };
  expect((await track(before, sale)).json().message).toBe('recorded');
  await showTo(before, 'user-2', { ad_fp: 'device-2' }).then(([offer]) =>
    call(before, offer?.beacons.no_thanks_click ?? ''),
  );
  expect(await countRows()).toEqual({ histories: [2, undefined], items: [1, undefined] });

  // Two processes see the user at the same time, and a beacon of the earlier session arrives late.
  const campaignLists = await Promise.all([campaigns(during), campaigns(during), campaigns(during)]);
  for (const ids of campaignLists) expect(ids).not.toContain(first.campaign_id);
  await call(before, third.beacons.no_thanks_click);
  const next = await campaigns(during);
  expect(next.length).toBeGreaterThan(0);
  for (const refused of [first, third]) expect(next).not.toContain(refused.campaign_id);

  const page = await during.app.inject({ url: link });
  expect([page.statusCode, page.body.includes(second.title)]).toEqual([200, true]);
  expect(await savedIn(during)).toEqual([second.id]);
  expect((await during.app.inject({ url: link })).body).toContain(second.title);
  expect((await track(during, sale)).json().message).toBe('duplicate');
  expect(await countRows()).toEqual({ histories: [1, 1], items: [undefined, 1] });

  // Without the old pepper, a user who was seen during the rotation is still recognised.
  const campaignIds = await campaigns(after);
  for (const refused of [first, third]) expect(campaignIds).not.toContain(refused.campaign_id);
  expect(await savedIn(after)).toEqual([second.id]);

  // Erase the user by an ID that only the sessions contain. Both keys of the device are found.
  await showTo(during, null, user);
  const erasure = await during.app.inject({
    method: 'POST',
    url: `/manage/v1/privacy/erasure?api_key=${during.publisher.key}`,
    payload: { pub_user_id: 'user-1' },
  });
  expect(erasure.statusCode).toBe(202);
  for (const waitMs of [0, secondSweepMs + 1000]) {
    nowMs += waitMs;
    await eraseDueUsers({ ...during.deps, userData: during.contributions.userData }, () => false);
  }
  expect(await countRows()).toEqual({ histories: [1, undefined], items: [undefined, undefined] });
  const { rows } = await before.pool.query(
    'select count(*)::int as named from sessions where user_key is not null and erased_at is null',
  );
  expect(rows[0].named).toBe(1);
});

test('explanations also cover a user who has not been seen since the rotation', async () => {
  const [refused, accepted] = await showTo(before, 'user-3', { ad_fp: 'device-3' });
  if (refused === undefined || accepted === undefined) throw new Error('too few offers');
  await call(before, refused.beacons.no_thanks_click);
  await before.pool.query('update campaigns set rules = $2 where id = $1', [
    accepted.campaign_id,
    JSON.stringify({ frequency_caps: [{ scope: 'campaign', event: 'impression', limit: 1, window_minutes: 1440 }] }),
  ]);
  for (const { deps } of [before, during]) await deps.catalog.refresh();
  await call(before, accepted.pixel);
  const answer = await during.app.inject({
    method: 'POST',
    url: `/manage/v1/explain?api_key=${during.publisher.key}`,
    payload: { placement: 'checkout', ad_fp: 'device-3', pub_user_id: 'user-3' },
  });
  expect(answer.statusCode, answer.body).toBe(200);
  const lines: { campaign_id: number; rule: string | null }[] = answer.json().data.offers;
  const ruleOf = (id: number) => lines.find(({ campaign_id }) => campaign_id === id)?.rule;
  expect([refused, accepted].map(({ campaign_id }) => ruleOf(campaign_id))).toEqual(['opted_out', 'frequency_cap']);
  const support = await signInAs(during, 'analyst');
  for (const id of ['device-3', 'user-3']) {
    const { body } = await support.get(`/dashboard/p/${during.publisher.id}/why?user=${id}&offer=${refused.id}`);
    expect(body).toContain('The user declined the campaign.');
  }
});

test('the canary follows the first pepper and rejects a process that knows neither pepper', async () => {
  const { pool, deps } = before;
  await checkSecrets(pool, deps.secretBox, oldPepper, [newPepper]);
  await expect(checkSecrets(pool, deps.secretBox, newPepper)).rejects.toThrow(/^USER_PEPPER/);
  await checkSecrets(pool, deps.secretBox, newPepper, [oldPepper]);
  await checkSecrets(pool, deps.secretBox, newPepper);
  await expect(checkSecrets(pool, deps.secretBox, oldPepper)).rejects.toThrow(/^USER_PEPPER/);
});
