import { afterAll, beforeAll, expect, test } from 'vitest';
import { signInAs } from '../../dashboard/support.ts';
import { addCatalogue, createManagementApp, type ManagementApp } from './support.ts';

let t: ManagementApp;
beforeAll(async () => {
  t = await createManagementApp();
});
afterAll(() => t.close());

test('a campaign that pays in another currency is saved with a warning, shown on its page', async () => {
  const me = await t.caller(await t.addPublisher());
  const { campaign, advertiser } = await addCatalogue(me);
  const more = { advertiser_id: advertiser, name: 'Box', landing_url: 'https://shop.example/', payout_amount: 1000 };
  expect((await me.call('POST', '/campaigns', more)).body.warnings).toEqual([]);
  const made = await me.call('POST', '/campaigns', { ...more, payout_currency: 'JPY' });
  const warnings = [
    {
      path: '/payout_currency',
      message: 'is not that of other active campaigns (USD): amounts are compared and added as numbers',
    },
  ];
  expect([made.status, made.body.warnings]).toEqual([201, warnings]);
  const { id } = made.body.data;
  expect((await me.call('GET', `/campaigns/${id}`)).body.warnings).toEqual(warnings);
  const admin = await signInAs(t, 'admin', me.publisherId);
  expect((await admin.get(`/dashboard/p/${me.publisherId}/campaigns/${id}`)).body).toContain(
    'The currency is not that of other active',
  );
  expect((await admin.get(`/dashboard/p/${me.publisherId}/campaigns/${campaign}`)).body).toContain('(JPY)');
  await me.call('PATCH', `/campaigns/${id}`, { active: false });
  expect((await me.call('GET', `/campaigns/${campaign}`)).body.warnings).toEqual([]);
});

test('targeting a placement that no request has named is saved with a warning', async () => {
  const me = await t.caller(await t.addPublisher());
  const { campaign } = await addCatalogue(me);
  await me.call('POST', '/placements', { name: 'checkout' });
  const placements = { include: ['checkout', 'chekout'], exclude: ['Cart'] };
  const saved = await me.call('PATCH', `/campaigns/${campaign}`, { rules: { targeting: { placements } } });
  expect(saved.body.warnings).toEqual([
    {
      path: '/rules/targeting/placements/include/1',
      message: 'chekout was never seen: no request has named this placement',
    },
    {
      path: '/rules/targeting/placements/exclude/0',
      message: 'Cart was never seen: no request has named this placement',
    },
  ]);
  const admin = await signInAs(t, 'admin', me.publisherId);
  const { body } = await admin.get(`/dashboard/p/${me.publisherId}/campaigns/${campaign}`);
  expect(body).toContain('chekout was never seen');
});

test('a refused campaign names every wrong field, those inside its rules too', async () => {
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
