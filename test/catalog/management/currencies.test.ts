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
