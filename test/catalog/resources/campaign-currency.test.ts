import { afterEach, beforeEach, expect, test } from 'vitest';
import { createLearner } from '../../../src/learning/reading/learner.ts';
import { loadVersion, newestVersion } from '../../../src/learning/versions.ts';
import { hourMs, minuteMs } from '../../../src/platform/lib/time.ts';
import { csrfIn, errorsIn, postForm, signInAs } from '../../dashboard/support.ts';
import { rollUpAll } from '../../reports/support.ts';
import { untilTransactionsEnd } from '../../support/transactions.ts';
import { clickOffer, setCampaign, track } from '../../tracking/conversions/support.ts';
import { browser } from '../../tracking/journey.ts';
import { type Caller, createManagementApp, type ManagementApp } from './support.ts';

let t: ManagementApp & { clock: { ms: number } };
let me: Caller;
beforeEach(async () => {
  // Starts ten minutes into an hour, so that no hour ends while a test runs.
  const clock = { ms: Date.now() - (Date.now() % hourMs) + 10 * minuteMs };
  t = { ...(await createManagementApp({ now: () => clock.ms })), clock };
  me = await t.caller(t.publisher.id);
});
afterEach(() => t.close());

/** Creates a campaign in EUR that pays per action, and clicks one of its offers. */
async function clicked(columns: Record<string, unknown>) {
  const { clickId, campaign_id: id } = await clickOffer(t, { ua: browser });
  const payout = { payout_kind: 'cpa', payout_amount: 2, payout_currency: 'EUR' };
  await t.pool.query('update campaign_publishers set payout_amount = null, total_caps = null where campaign_id = $1', [
    id,
  ]);
  await setCampaign(t, id, { rules: {}, ...payout, ...columns });
  await t.deps.catalog.refresh();
  const convert = async (txn_id: string, more: Record<string, string> = {}) =>
    expect((await track(t, { click_id: clickId, txn_id, ...more })).statusCode).toBe(200);
  return { id, convert };
}

const budget = { rules: { total_caps: [{ metric: 'budget', per: 'lifetime', limit: 100 }] } };
const message = 'The currency cannot be changed because amounts in EUR are booked. Duplicate the campaign instead.';

const detailsOf = (body: object) => (body as { error: { details: object[] } }).error.details;

/**
 * Changes the campaign's currency.
 * @returns the error details of the response, or an empty array if the change was saved
 */
async function change(id: unknown, payout_currency: string) {
  const { status, body } = await me.call('PATCH', `/campaigns/${id}`, { payout_currency });
  return status === 200 ? [] : detailsOf(body);
}

test('a campaign with booked revenue keeps its currency, so that no budget mixes currencies', async () => {
  const { id, convert } = await clicked(budget);
  expect(await change(id, 'GBP')).toEqual([]);
  expect(await change(id, 'EUR')).toEqual([]);
  await convert('a');
  const refused = [{ path: '/payout_currency', message }];
  expect(await change(id, 'USD')).toEqual(refused);
  const { body } = await me.call('GET', `/campaigns/${id}`);
  const put = await me.call('PUT', `/campaigns/${id}`, { ...body.data, payout_currency: 'USD' });
  expect([put.status, detailsOf(put.body)]).toEqual([400, refused]);
  // Other fields can still be changed, including the payout amount.
  expect((await me.call('PATCH', `/campaigns/${id}`, { payout_amount: 3, name: 'Boxes' })).status).toBe(200);
  await convert('b');
  expect((await me.call('GET', `/campaigns/${id}`)).body.data).toMatchObject({
    payout_currency: 'EUR',
    usage: [{ metric: 'budget', spent: 5, remaining: 95 }],
  });
  const { headers } = await (await signInAs(t, 'admin')).post(
    `/dashboard/p/${t.publisher.id}/campaigns/${id}/duplicate`,
  );
  const copy = /campaigns\/(\d+)/.exec(String(headers.location))?.[1];
  expect(await change(copy, 'USD')).toEqual([]);
});

test('booked revenue fixes the currency even without a budget', async () => {
  const { id, convert } = await clicked({ rules: {} });
  await convert('a');
  await rollUpAll(t, t.clock.ms);
  expect(await change(id, 'USD')).toEqual([{ path: '/payout_currency', message }]);
  // Voided conversions don't count as booked revenue.
  await convert('a', { void: '1' });
  await rollUpAll(t, t.clock.ms);
  expect(await change(id, 'USD')).toEqual([]);
});

test('a catalogue file with another currency is rejected before any write, even in a dry run', async () => {
  const { id, convert } = await clicked(budget);
  await convert('a');
  const file = (await me.call('GET', '/catalogue/export')).body as unknown as { campaigns: { id: number }[] };
  const at = file.campaigns.findIndex((campaign) => campaign.id === id);
  const campaigns = file.campaigns.map((campaign) => ({
    ...campaign,
    priority: 7,
    ...(campaign.id === id && { payout_currency: 'USD' }),
  }));
  for (const query of ['?dry_run=true', '']) {
    const { status, body } = await me.call('POST', `/catalogue/apply${query}`, { ...file, campaigns });
    expect([status, detailsOf(body)]).toEqual([400, [{ path: `/campaigns/${at}/payout_currency`, message }]]);
  }
  expect((await me.call('GET', `/campaigns/${id}`)).body.data.priority).not.toBe(7);
});

test('the form shows the error at the field, in English and German', async () => {
  const { id, convert } = await clicked(budget);
  await convert('a');
  const admin = await signInAs(t, 'admin');
  const path = `/dashboard/p/${t.publisher.id}/campaigns/${id}?edit=payout`;
  const fields = { payout_kind: 'cpa', payout_amount: '2', payout_currency: 'usd' };
  const answer = await admin.post(path, fields);
  expect([answer.statusCode, errorsIn(answer.body)]).toEqual([422, [message]]);
  const german = await postForm(
    t,
    path,
    { _csrf: csrfIn((await admin.get(path)).body), ...fields },
    { cookie: admin.cookie, 'accept-language': 'de' },
  );
  expect(errorsIn(german.body).join()).toContain(
    'Die Währung lässt sich nicht ändern, weil Beträge in EUR verbucht sind.',
  );
  expect((await admin.get(path, { 'accept-language': 'de' })).body).toContain('Nach der ersten Buchung');
});

test('sales in other currencies are excluded from the average sale that ranking learns', async () => {
  const { id, convert } = await clicked({ payout_kind: 'cps', payout_amount: 10 });
  await convert('a', { payout: '5' });
  // Simulate bookings left behind by a currency change in an earlier release.
  await t.pool.query("update bookings set currency = 'JPY', revenue_micros = 900000000 where campaign_id = $1", [id]);
  await convert('b', { payout: '5' });
  const learner = createLearner({ ...t.deps, now: () => t.clock.ms + 2 * minuteMs });
  await untilTransactionsEnd(t.pool);
  await expect.poll(async () => (await learner.learn())?.complete).toBe(true);
  const model = await loadVersion(t.pool, await newestVersion(t.pool));
  await learner.stop();
  expect(model?.sales.get(id)).toEqual({ micros: 5_000_000, count: 1 });
});
