import { afterAll, beforeAll, expect, test } from 'vitest';
import { signInAs } from '../../dashboard/support.ts';
import { addCatalogue, type Caller, createManagementApp, type ManagementApp } from './support.ts';

let t: ManagementApp;
let me: Caller;
let ids: Record<string, number>;
beforeAll(async () => {
  t = await createManagementApp();
  me = await t.caller(await t.addPublisher());
  ids = (await addCatalogue(me)) as Record<string, number>;
});
afterAll(() => t?.close());

/** Stores a publisher's time zone as an earlier release did, without validation. */
const storePublisherZone = (zone: string) =>
  t.pool.query('update publishers set time_zone = $2 where id = $1', [me.publisherId, zone]);
const hours = [{ days: [1, 2, 3, 4, 5, 6, 7], from: '00:00', to: '24:00' }];
const storeScheduleZone = async (zone: string) => {
  const rules = { schedule: { time_zone: zone, hours } };
  await t.pool.query('update campaigns set rules = $2 where id = $1', [ids.campaign, rules]);
  await t.deps.catalog.refresh();
};
const details = ({ body }: { body: Record<string, unknown> }) =>
  (body.error as { details?: { path: string }[] } | undefined)?.details?.map(({ path }) => path);

test.each([
  ['GMT', 'UTC, Europe/London, Africa/Abidjan'],
  ['IST', 'Asia/Kolkata, Europe/Dublin, Asia/Jerusalem'],
  ['CET', 'Europe/Berlin, Europe/Paris, Europe/Warsaw'],
])('a publisher with the stored time zone %s can save other fields, with a warning', async (zone, names) => {
  await storePublisherZone(zone);
  const path = `/publishers/${me.publisherId}`;
  const message = `The time zone name ${zone} is ambiguous. Use another name, such as ${names}.`;
  const saved = await me.call('PATCH', path, { offers_per_response: 2 });
  expect([saved.status, saved.body.warnings]).toEqual([200, [{ path: '/time_zone', message }]]);
  expect((await me.call('PATCH', path, { time_zone: zone })).status).toBe(200);
  for (const other of ['BST', zone.toLowerCase()])
    expect(details(await me.call('PATCH', path, { time_zone: other }))).toEqual(['/time_zone']);
  const settings = `/dashboard/p/${me.publisherId}/settings`;
  const admin = await signInAs(t, 'admin', me.publisherId);
  expect((await admin.get(settings)).body).toContain(message);
  const german = (await admin.get(settings, { 'accept-language': 'de' })).body;
  expect(german).toContain(`Programme verstehen die Zeitzone ${zone} unterschiedlich`);
  const changed = await me.call('PATCH', path, { time_zone: 'Europe/Berlin' });
  expect([changed.status, changed.body.warnings]).toEqual([200, []]);
  expect(details(await me.call('PATCH', path, { time_zone: zone }))).toEqual(['/time_zone']);
  expect((await admin.get(settings)).body).not.toContain('is ambiguous');
});

test('a campaign whose stored schedule has an abbreviated time zone is delivered and can be saved', async () => {
  const isShown = async (): Promise<boolean> => {
    const answer = await t.app.inject({
      method: 'POST',
      url: `/native/v4/offers.json?api_key=${me.key}`,
      payload: { placement: 'checkout', ip: '203.0.113.9' },
    });
    return answer.json().data.offers.some(({ id }: { id: number }) => id === ids.offer);
  };
  expect(await isShown()).toBe(true);
  await storeScheduleZone('CET');
  expect(await isShown()).toBe(true);
  const path = `/campaigns/${ids.campaign}`;
  const saved = await me.call('PATCH', path, { name: 'Renamed' });
  expect([saved.status, saved.body.warnings]).toEqual([
    200,
    [
      {
        path: '/rules/schedule/time_zone',
        message: expect.stringMatching(/^The time zone name CET is ambiguous.*Europe\/Berlin/),
      },
    ],
  ]);
  expect((await me.call('PATCH', path, { rules: { schedule: { time_zone: 'CET', hours } } })).status).toBe(200);
  const refused = await me.call('PATCH', path, { rules: { schedule: { time_zone: 'IST', hours } } });
  expect(details(refused)).toEqual(['/rules/schedule/time_zone']);
  const fields = { advertiser_id: ids.advertiser, name: 'New', landing_url: 'https://shop.example/' };
  const refusedNew = await me.call('POST', '/campaigns', {
    ...fields,
    rules: { schedule: { time_zone: 'CET', hours } },
  });
  expect(details(refusedNew)).toEqual(['/rules/schedule/time_zone']);
  const admin = await signInAs(t, 'admin', me.publisherId);
  const page = await admin.get(`/dashboard/p/${me.publisherId}${path}`);
  expect(page.body).toContain('The time zone name CET is ambiguous');
});
