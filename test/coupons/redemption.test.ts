import { createHmac } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { foldDigests } from '../../src/coupons/digest-job.ts';
import { createCodeDigests } from '../../src/coupons/issuer.ts';
import { uspCalls } from '../perks/usp/calls.ts';
import { createTestApp, type TestApp } from '../support/test-app.ts';
import { couponCalls } from './support.ts';

let t: TestApp;
let coupons: ReturnType<typeof couponCalls>;
let offer: { id: number; campaign_id: number };
let advertiserId: number;
let secret: string;
beforeAll(async () => {
  t = await createTestApp();
  coupons = couponCalls(t);
  const usp = uspCalls(t);
  const { id, offers } = await usp.fetch();
  offer = offers[0] as typeof offer;
  advertiserId = t.deps.catalog.current().offers.get(offer.id)?.campaign.advertiserId ?? 0;
  const headers = { authorization: `Bearer ${t.publisher.key}` };
  const url = `/manage/v1/advertisers/${advertiserId}/conversion-secret`;
  secret = (await t.app.inject({ method: 'POST', url, headers })).json().data.secret;
  await coupons.add(offer.id, { codes: ['REDEEM-ME', 'NOT-GIVEN'] });
  const body = { action: 'wrap', selected: [offer.campaign_id], pub_user_id: 'u-1' };
  await usp.call('POST', `session/${id}.json`, { body });
});
afterAll(() => t.close());

async function report(status: string, code: string, change: Record<string, unknown> = {}) {
  const text = [advertiserId, offer.id, code, status].join('\n');
  const signature = createHmac('sha256', secret).update(text).digest('hex');
  const payload = { advertiser_id: advertiserId, offer_id: offer.id, code, signature, ...change };
  const answer = await t.app.inject({ method: 'POST', url: `/coupons/v1/${status}.json`, payload });
  return { status: answer.statusCode, code: answer.json().error?.code, data: answer.json().data };
}

test('rejects a report without a valid advertiser signature, whether or not the code exists', async () => {
  for (const code of ['REDEEM-ME', 'NO-SUCH-CODE'])
    expect(await report('redeemed', code, { signature: '0'.repeat(64) })).toMatchObject({ code: 'invalid_signature' });
  expect(await report('redeemed', 'REDEEM-ME', { advertiser_id: 999 })).toMatchObject({ code: 'invalid_signature' });
  expect(await report('redeemed', 'REDEEM-ME', { code: 'OTHER' })).toMatchObject({ code: 'invalid_signature' });
});

test('a code that no user has is unknown', async () => {
  for (const code of ['NOT-GIVEN', 'NO-SUCH-CODE'])
    expect(await report('redeemed', code)).toMatchObject({ status: 404, code: 'coupon_not_found' });
});

test('redeems a code once, however often it is reported, and cancels it permanently', async () => {
  const answers = await Promise.all([report('redeemed', 'REDEEM-ME'), report('redeemed', 'REDEEM-ME')]);
  expect(answers.map(({ status }) => status)).toEqual([200, 200]);
  expect(answers.filter(({ data }) => data.changed)).toHaveLength(1);
  expect((await coupons.count(offer.id)).data).toMatchObject({ given: 1, redeemed: 1, cancelled: 0, left: 1 });
  expect((await report('cancelled', 'REDEEM-ME')).data).toMatchObject({ status: 'cancelled', changed: true });
  expect((await report('cancelled', 'REDEEM-ME')).data).toMatchObject({ changed: false });
  expect(await report('redeemed', 'REDEEM-ME')).toMatchObject({ status: 409 });
  expect((await coupons.count(offer.id)).data).toMatchObject({ given: 1, redeemed: 0, cancelled: 1, left: 1 });
});

describe('a code is found regardless of case and Unicode form if the match is unique', () => {
  const addAndIssue = async (...codes: string[]): Promise<void> => {
    await coupons.removeCodes(offer.id);
    await coupons.add(offer.id, { codes });
    for (const [index] of codes.entries()) {
      const user = `fold-${codes.join('-')}-${index}`;
      const { id } = await uspCalls(t).fetch({ pub_user_id: user });
      const body = { action: 'wrap', selected: [offer.campaign_id], pub_user_id: user };
      await uspCalls(t).call('POST', `session/${id}.json`, { body });
    }
  };

  test.each([
    ['Spring-ONE', 'spring-one'],
    ['Stra\u00DFe-1', 'STRASSE-1'],
    ['Caf\u00E9-2', 'cafe\u0301-2'],
    ['WIDE-3', '\uFF57\uFF49\uFF44\uFF45-3'],
  ])('%s as %s', async (code, reported) => {
    await addAndIssue(code);
    expect(await report('redeemed', reported)).toMatchObject({ status: 200, data: { changed: true } });
    expect(await report('redeemed', code)).toMatchObject({ status: 200, data: { changed: false } });
  });

  test('prefers the exact code, and rejects several inexact matches', async () => {
    await addAndIssue('Twin-7', 'twin-7');
    expect(await report('redeemed', 'TWIN-7')).toMatchObject({ status: 409 });
    expect(await report('redeemed', 'twin-7')).toMatchObject({ data: { changed: true } });
    expect(await report('redeemed', 'Twin-7')).toMatchObject({ data: { changed: true } });
  });

  test('finds codes assigned by an earlier version after the job has processed them', async () => {
    await addAndIssue('Early-1');
    await t.pool.query('update coupons set folded_digest = null');
    expect((await report('redeemed', 'EARLY-1')).status).toBe(404);
    const digestsOf = createCodeDigests(t.deps.config);
    expect(await foldDigests({ ...t.deps, digestsOf })).toBeGreaterThan(0);
    expect(await foldDigests({ ...t.deps, digestsOf })).toBe(0);
    expect((await report('redeemed', 'EARLY-1')).status).toBe(200);
  });
});
