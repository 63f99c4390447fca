import { afterAll, beforeAll, expect, test } from 'vitest';
import { rollUpAll } from '../reports/support.ts';
import { createTestApp, type TestApp } from '../support/test-app.ts';
import { signInAs } from './support.ts';

let t: TestApp;
beforeAll(async () => {
  t = await createTestApp();
});
afterAll(() => t.close());

const textOf = (body: string): string => body.replaceAll(/<[^>]*>/g, ' ').replaceAll(/\s+/g, ' ');

test('an operator who has not opened a publisher yet sees the only publisher, or else the list', async () => {
  const operator = await signInAs(t, 'operator');
  const start = async () => (await operator.get('/dashboard')).headers.location;
  expect([...t.deps.catalog.current().publishers.keys()]).toEqual([t.publisher.id]);
  expect(await start()).toBe(`/dashboard/p/${t.publisher.id}/overview`);
  await addPublisher('Second');
  await t.deps.catalog.refresh();
  expect(await start()).toBe('/dashboard/operator/publishers');
});

async function addPublisher(name: string): Promise<string> {
  const operator = await signInAs(t, 'operator');
  const created = await operator.post('/dashboard/operator/publishers', {
    name,
    time_zone: 'berlin',
    offers_per_response: '3',
    delivery_percentage: '100',
    currency_name: 'points',
    currency_multiplier: '1',
    unit_enabled: 'on',
  });
  expect(textOf(created.body)).toBe('');
  return /^\/dashboard\/p\/\d+/.exec(String(created.headers.location))?.[0] ?? '';
}

test('the first steps for a publisher without offers begin with advertiser, campaign and offer', async () => {
  const operator = await signInAs(t, 'operator');
  const base = await addPublisher('Newcomer');
  const steps = async () => {
    await t.deps.catalog.refresh();
    return (await operator.get(`${base}/setup`)).body;
  };
  const before = textOf(await steps());
  expect(before.indexOf('Add an advertiser')).toBeLessThan(before.indexOf('Add a campaign'));
  expect(before.indexOf('Add the first offer')).toBeLessThan(before.indexOf('Create an API key, or use the SDK ID'));
  expect(before).toContain('0 of ');
  const advertiser = await operator.post(`${base}/advertisers`, { name: 'Bramble' });
  const toCampaign = String(advertiser.headers.location);
  expect(toCampaign).toMatch(/\/campaigns\/new\?advertiser_id=\d+$/);
  expect(textOf(await steps())).toContain('1 of ');
  const advertiserId = toCampaign.split('=')[1] ?? '';
  const form = await operator.get(toCampaign);
  expect(form.body).toContain(`<option value="${advertiserId}" selected>`);
  const campaign = await operator.post(`${base}/campaigns`, {
    name: 'Loaves',
    advertiser_id: advertiserId,
    landing_url: 'https://bramble.example/',
    payout_kind: 'cpc',
    payout_amount: '1',
    payout_currency: 'EUR',
  });
  const toOffer = String(campaign.headers.location);
  expect(toOffer).toMatch(/\/offers\/new\?campaign_id=\d+$/);
  const offer = await operator.post(`${base}/offers`, {
    campaign_id: toOffer.split('=')[1] ?? '',
    title: 'A loaf',
    cta_yes: 'Yes',
    cta_no: 'No',
    weight: '0',
    active: 'on',
  });
  expect(offer.statusCode).toBe(303);
  expect(textOf(await steps())).toContain('3 of ');
});

test('the first steps lead through theme and perks to a webhook, and count calls with the SDK ID', async () => {
  const operator = await signInAs(t, 'operator');
  const base = await addPublisher('SDK only');
  const id = Number(base.split('/').at(-1));
  await t.deps.catalog.refresh();
  const stateOf = async (step: string): Promise<string> => {
    const text = textOf((await operator.get(`${base}/setup`)).body);
    return /(Done:|To do:) *$/.exec(text.slice(0, text.indexOf(step)))?.[1] ?? 'missing';
  };
  const order = textOf((await operator.get(`${base}/setup`)).body);
  const steps = ['Choose a theme', 'Fetch offers', 'Turn on perks', 'Add a webhook endpoint', 'Receive the webhook'];
  const places = steps.map((step) => order.indexOf(step));
  expect(places).toEqual(places.toSorted((a, b) => a - b));
  expect(await stateOf('Create an API key, or use the SDK ID')).toBe('To do:');
  const sdkId = t.deps.catalog.current().publishers.get(id)?.sdkId;
  const fetched = await t.app.inject({
    method: 'POST',
    url: `/native/v4/offers.json?api_key=${sdkId}`,
    payload: { placement: 'checkout' },
  });
  expect(fetched.statusCode).toBe(200);
  await rollUpAll(t, t.deps.now());
  expect(await stateOf('Create an API key, or use the SDK ID')).toBe('Done:');
  expect(await stateOf('Fetch offers')).toBe('Done:');

  // The secret of an endpoint is shown once, so the last step leads to where it can be rotated.
  const endpoint = {
    url: 'https://shop.example/hooks',
    method: 'POST',
    enabled: 'on',
    deadline_s: '5',
    max_in_flight: '4',
  };
  await operator.post(`${base}/settings/webhooks/usp.selection`, endpoint);
  const body = (await operator.get(`${base}/setup`)).body;
  expect(body).toContain(`href="${base}/settings/webhooks/usp.selection#secret"`);
  const page = (await operator.get(`${base}/settings/webhooks/usp.selection`)).body;
  expect(page).toContain('id="secret"');
  expect(page).toContain('Rotate secret');
});
