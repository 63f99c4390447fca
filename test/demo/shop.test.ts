import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createTestApp } from '../support/test-app.ts';
import { type DemoServer, startDemoServer } from './support.ts';

type Activity = {
  beacons: { kind: string; offer_id: number; title: string; suspicious: string | null }[];
  webhooks: { verified: boolean | null; pub_user_id: string; selected: number; titles: string[] }[];
};

let demo: DemoServer;
beforeAll(async () => {
  demo = await startDemoServer();
});
afterAll(() => demo.close());

const get = (path: string) => fetch(demo.url + path);
const activity = async () => (await get('/demo/activity.json')).json() as Promise<Activity>;
const post = async (path: string, body: unknown) =>
  (
    await fetch(`${demo.url}${path}?api_key=${demo.t.publisher.key}`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'user-agent': 'Mozilla/5.0 (X11; Linux x86_64) Chrome/147.0.0.0 Safari/537.36',
      },
      body: JSON.stringify(body),
    })
  ).json();

const pages = [
  '/demo',
  '/demo/shop.css',
  '/demo/shop.js',
  '/demo/panel.js',
  '/demo/receiver.js',
  '/demo/phone',
  '/demo/phone.css',
  '/demo/phone.js',
];

describe('the shop pages', () => {
  test.each([...pages, '/demo/bridge.js', '/demo/activity.json'])(
    '%s is served, is not cached, and has no inline scripts',
    async (path) => {
      const answer = await get(path);
      expect(answer.status).toBe(200);
      expect(answer.headers.get('cache-control')).toBe('no-store');
      const csp = answer.headers.get('content-security-policy') ?? '';
      expect(csp).toContain("default-src 'none'; script-src 'self'; style-src 'self';");
      expect(await answer.text()).not.toMatch(/<script(?![^>]*\ssrc=)|<style|\sstyle="|\son\w+="/);
    },
  );

  test.each(['/demo', '/demo/phone'])('%s contains the demo account', async (path) => {
    expect(await (await get(path)).text()).toContain(`data-account="${demo.t.publisher.sdkId}"`);
  });

  test('are not available without the embedded demo', async () => {
    const without = await createTestApp();
    for (const url of [...pages, '/demo/activity.json']) expect((await without.app.inject(url)).statusCode).toBe(404);
    await without.close();
  });
});

describe('the web views of the phone', () => {
  test('are the shipped templates with the user filled in, and no value can break out of its string', async () => {
    const page = await (await get('/demo/phone/checkout.html?user=app-1&placement=order-status&mode=api&dev=1')).text();
    expect(page).toContain('window.AdUser = { "placement": "order-status", "pub_user_id": "app-1", "dev": "1" };');
    expect(page).toContain('autoLoad: false, prefetch: false');
    expect(page).not.toContain('%%');
    const hidden = await get('/demo/phone/prefetch.html?user=%3C/script%3E&placement=a&placement=b');
    expect(hidden.status).toBe(200);
    expect(await hidden.text()).toContain('window.AdUser = { "placement": "checkout", "pub_user_id": "app-user" };');
  });
});

test('a beacon and a confirmation webhook appear in the activity, with a verified signature', async () => {
  const user = { placement: 'checkout', pub_user_id: 'activity-1', first_name: 'Ada' };
  type Offers = {
    data: { session_id: string; offers: { id: number; campaign_id: number; title: string; pixel: string }[] };
  };
  const { data } = (await post('/native/v4/offers.json', user)) as Offers;
  const { session_id, offers } = data;
  const offer = offers[0] as Offers['data']['offers'][number];
  const headers = { 'user-agent': 'Mozilla/5.0 (X11; Linux x86_64) Chrome/147.0.0.0 Safari/537.36' };
  for (const { pixel } of offers) await fetch(pixel, { headers });
  const { beacons } = await activity();
  expect(beacons).toHaveLength(offers.length);
  for (const { id, title } of offers)
    expect(beacons).toContainEqual(
      expect.objectContaining({ kind: 'impression', offer_id: id, title, suspicious: null }),
    );
  await post(`/sdk/v4/usp/${session_id}/${offer.campaign_id}/select.json`, { pub_user_id: user.pub_user_id });
  await post(`/sdk/v4/usp/session/${session_id}.json`, { action: 'wrap' });
  await expect.poll(async () => (await activity()).webhooks.length).toBe(1);
  const [webhook] = (await activity()).webhooks;
  expect(webhook).toMatchObject({ verified: true, pub_user_id: 'activity-1', selected: 1, titles: [offer.title] });
});

test('a forged call to the receiver is shown as not verified, and a body that is not JSON as received', async () => {
  const headers = { 'webhook-id': 'msg_1', 'webhook-timestamp': '1700000000', 'webhook-signature': 'v1,AAAA' };
  const before = (await activity()).webhooks.length;
  const bodies = [
    'null',
    '[]',
    '{"body":{"campaigns":[null,{}],"selected":"x"}}',
    '{"body":null}',
    '<script>x</script>',
  ];
  for (const body of bodies) await fetch(`${demo.url}/demo/receiver`, { method: 'POST', headers, body });
  const { webhooks } = await activity();
  expect(webhooks).toHaveLength(before + bodies.length);
  for (const webhook of webhooks.slice(0, bodies.length))
    expect(webhook).toMatchObject({ verified: false, selected: null });
  const page = await (await fetch(`${demo.url}/demo/receiver`, { headers: { accept: 'text/html' } })).text();
  expect(page).toContain('signature wrong');
  expect(page).not.toContain('<script>x');
});

test("a verified webhook stays verified after its endpoint's secret is rotated, on the page and in JSON", async () => {
  const rotated = await fetch(
    `${demo.url}/manage/v1/webhook-endpoints/usp.selection/rotate-secret?api_key=${demo.t.publisher.key}`,
    {
      method: 'POST',
    },
  );
  expect(rotated.status).toBe(200);
  const isVerified = ({ pub_user_id, verified }: Activity['webhooks'][number]) =>
    pub_user_id === 'activity-1' && verified;
  expect((await activity()).webhooks.some(isVerified)).toBe(true);
  const list = (await (await get('/demo/receiver')).json()) as { webhooks: { verified: boolean }[] };
  expect(list.webhooks.some(({ verified }) => verified)).toBe(true);
  const page = await (await fetch(`${demo.url}/demo/receiver`, { headers: { accept: 'text/html,*/*' } })).text();
  expect(page).toContain('signature verified');
});
