import { afterAll, beforeAll, expect, test } from 'vitest';
import { signInAs } from '../../dashboard/support.ts';
import { addCatalogue, createManagementApp, type ManagementApp } from './support.ts';

let t: ManagementApp;
beforeAll(async () => {
  t = await createManagementApp();
});
afterAll(() => t.close());

test('a campaign with a payout in another currency is saved with a warning on its page', async () => {
  const me = await t.caller(await t.addPublisher());
  const { campaign, advertiser } = await addCatalogue(me);
  const more = { advertiser_id: advertiser, name: 'Box', landing_url: 'https://shop.example/', payout_amount: 1000 };
  expect((await me.call('POST', '/campaigns', more)).body.warnings).toEqual([]);
  const created = await me.call('POST', '/campaigns', { ...more, payout_currency: 'JPY' });
  const warnings = [
    {
      path: '/payout_currency',
      message: 'Other active campaigns use USD. Without an exchange rate, this campaign is ranked below them.',
    },
  ];
  expect([created.status, created.body.warnings]).toEqual([201, warnings]);
  const { id } = created.body.data;
  expect((await me.call('GET', `/campaigns/${id}`)).body.warnings).toEqual(warnings);
  const admin = await signInAs(t, 'admin', me.publisherId);
  expect((await admin.get(`/dashboard/p/${me.publisherId}/campaigns/${id}`)).body).toContain(
    'Other active campaigns use USD',
  );
  expect((await admin.get(`/dashboard/p/${me.publisherId}/campaigns/${campaign}`)).body).toContain(
    'Other active campaigns use JPY',
  );
  const rates = [
    { currency: 'USD', rate: 1.08, valid_from: '2020-01-01' },
    { currency: 'JPY', rate: 160, valid_from: '2020-01-01' },
  ];
  await me.call('PUT', '/exchange-rates', { base: 'EUR', rates });
  expect((await me.call('GET', `/campaigns/${id}`)).body.warnings).toEqual([]);
  await me.call('PUT', '/exchange-rates', { base: 'EUR', rates: [] });
  await me.call('PATCH', `/campaigns/${id}`, { active: false });
  expect((await me.call('GET', `/campaigns/${campaign}`)).body.warnings).toEqual([]);
});

test('targeting a placement that no request has used is saved with a warning', async () => {
  const me = await t.caller(await t.addPublisher());
  const { campaign } = await addCatalogue(me);
  await me.call('POST', '/placements', { name: 'checkout' });
  const placements = { include: ['checkout', 'chekout'], exclude: ['Cart'] };
  const saved = await me.call('PATCH', `/campaigns/${campaign}`, { rules: { targeting: { placements } } });
  expect(saved.body.warnings).toEqual([
    {
      path: '/rules/targeting/placements/include/1',
      message: 'No request has used the placement chekout so far. Check its spelling.',
    },
    {
      path: '/rules/targeting/placements/exclude/0',
      message: 'No request has used the placement Cart so far. Check its spelling.',
    },
  ]);
  const admin = await signInAs(t, 'admin', me.publisherId);
  const { body } = await admin.get(`/dashboard/p/${me.publisherId}/campaigns/${campaign}`);
  expect(body).toContain('No request has used the placement chekout');
});

test('a rejected campaign reports every invalid field, including those in its rules', async () => {
  const me = await t.caller(await t.addPublisher());
  const { campaign } = await addCatalogue(me);
  const refused = await me.call('PATCH', `/campaigns/${campaign}`, {
    weight: 'much',
    landing_url: 'https://user@shop.example/',
    rules: {
      targeting: { countries: { include: ['UK'] } },
      frequency_caps: [{ scope: 'campaign', event: 'impression', limit: 0, window_minutes: 60 }],
    },
  });
  expect(refused.status).toBe(400);
  const { error } = refused.body as unknown as { error: { details: { path: string }[] } };
  expect(error.details.map(({ path }) => path).sort()).toEqual([
    '/landing_url',
    '/rules/frequency_caps/0/limit',
    '/rules/targeting/countries/include/0',
    '/weight',
  ]);
});

test('the estimate for a draft counts recent sessions by targeting, hours and conditions', async () => {
  const me = await t.caller(await t.addPublisher());
  await addCatalogue(me);
  for (const body of [
    { country: 'DE', cart: '60' },
    { country: 'DE', cart: '40' },
    { country: 'FR', cart: '60' },
  ]) {
    const fetched = await t.app.inject({
      method: 'POST',
      url: `/native/v4/offers.json?api_key=${me.key}`,
      payload: { placement: 'checkout', ...body },
    });
    expect(fetched.statusCode).toBe(200);
  }
  const manager = await signInAs(t, 'manager', me.publisherId);
  const estimate = async (fields: Record<string, string>) =>
    (await manager.post(`/dashboard/p/${me.publisherId}/campaigns/estimate`, fields)).body
      .replaceAll(/<[^>]*>/g, '')
      .replaceAll(/\s+/g, ' ');
  const cart = (value: string) => ({
    'rules.conditions.groups.0.rows.0.key': 'cart',
    'rules.conditions.groups.0.rows.0.op': 'gte',
    'rules.conditions.groups.0.rows.0.value': value,
  });
  const inGermany = { 'rules.targeting.countries.include': 'DE' };
  // A later start, or a cap, does not affect the estimate.
  expect(await estimate({ 'rules.schedule.start_at': '2999-01-01T00:00' })).toContain('3 of 3 sessions');
  expect(await estimate(inGermany)).toContain('2 of 3 sessions in the last 7 days');
  expect(await estimate({ ...inGermany, ...cart('50') })).toContain('1 of 3 sessions');
  expect(await estimate({ 'rules.targeting.placements.include': 'chekout' })).toContain('No recent session matches');
  expect(await estimate(cart('much'))).toContain('Complete the marked fields');
  const options = await manager.get(`/dashboard/p/${me.publisherId}/options?kind=countries&q=germ`);
  expect(options.body).toMatch(/data-value="DE" data-text="Germany"/);
  const attributes = await manager.get(`/dashboard/p/${me.publisherId}/options?kind=attributes&q=`);
  expect(attributes.body).toContain('data-value="cart"');
});

test('a landing page with a misspelt macro is saved with a warning that suggests the right one', async () => {
  const me = await t.caller(await t.addPublisher());
  const { campaign } = await addCatalogue(me);
  const landing_url = 'https://shop.example/?c={clickid}&p=%7Bplace%7D';
  const message = '{clickid} is not a valid macro and will be removed. Did you mean {click_id}?';
  const saved = await me.call('PATCH', `/campaigns/${campaign}`, { landing_url });
  expect(saved.body).toMatchObject({ data: { landing_url }, warnings: [{ path: '/landing_url', message }] });
  const admin = await signInAs(t, 'admin', me.publisherId);
  const page = `/dashboard/p/${me.publisherId}/campaigns/${campaign}`;
  expect((await admin.get(page)).body).toContain(`Landing page: ${message}`);
  await me.call('PATCH', `/campaigns/${campaign}`, { landing_url: 'https://shop.example/?c={click_id}' });
  expect((await admin.get(page)).body).not.toContain('Did you mean');
});

test('an unsupported macro in an action URL or pixel URL is saved with a warning', async () => {
  const me = await t.caller(await t.addPublisher());
  const { offer } = await addCatalogue(me);
  const saved = await me.call('PATCH', `/offers/${offer}`, {
    title: 'Two weeks free',
    useraction_cta: 'More',
    useraction_url: 'https://shop.example/more?c={click_id}&page=%7B1%7D',
    adv_pixel_url: 'https://ads.example/p.png?ord=[CACHEBUSTER]&x={cbuster}',
  });
  expect(saved.body.warnings).toEqual([
    { path: '/useraction_url', message: '{click_id} is sent unchanged because this URL does not support macros.' },
    { path: '/adv_pixel_url', message: '[CACHEBUSTER] is not a valid macro. Did you mean {cbuster}?' },
  ]);
  const admin = await signInAs(t, 'admin', me.publisherId);
  const { body } = await admin.get(`/dashboard/p/${me.publisherId}/offers/${offer}`);
  expect(body).toContain('{click_id} is sent unchanged because this URL does not support macros.');
  expect(body).toContain('Did you mean {cbuster}?');
});
