import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { recordAlerts, recordLasting } from '../../src/alerts/record.ts';
import { sendAlertMessages } from '../../src/alerts/send.ts';
import { hourMs } from '../../src/platform/lib/time.ts';
import { type Caller, createManagementApp, type ManagementApp } from '../catalog/resources/support.ts';
import { runCommand } from '../command-line/support.ts';
import { signInAs } from '../dashboard/support.ts';
import { createParts } from '../webhooks/dispatcher/support.ts';

let t: ManagementApp;
let me: Caller;
let env: Record<string, string>;
const clock = { ms: Date.now() };
const { hook, end } = createParts(() => t);

beforeAll(async () => {
  t = await createManagementApp({ now: () => clock.ms });
  env = { PERKWIRE_URL: await t.app.listen({ port: 0, host: '127.0.0.1' }) };
});
beforeEach(async () => {
  me = await t.caller(await t.addPublisher('Corner shop'));
  env.PERKWIRE_KEY = me.key;
});
afterEach(end);
afterAll(() => t?.close());

const deps = () => ({ ...t.deps, now: () => clock.ms });
const ended = (subject: string, cause = subject) => ({
  publisherId: me.publisherId,
  kind: 'campaign.ended' as const,
  subject,
  cause,
  data: { campaign_id: Number(subject), name: `Campaign ${subject}`, ended_at: new Date(clock.ms).toISOString() },
});
const stalled = () => ({
  publisherId: me.publisherId,
  kind: 'ranking.stalled' as const,
  subject: '',
  cause: String(clock.ms),
  data: { since: null },
});

/** Adds a channel whose receiver responds with the given status, after it has accepted the first test message. */
async function addChannel(statusOf: () => number, kinds: readonly string[] = ['campaign.ended', 'ranking.stalled']) {
  const receiver = await hook((response) => void response.writeHead(statusOf()).end());
  const { body, status } = await me.call('POST', '/alert-channels', { name: '#shop', url: receiver.url, kinds });
  expect(status, JSON.stringify(body)).toBe(201);
  const texts = () => receiver.requests.map(({ body: sent }) => String(JSON.parse(sent.toString()).text));
  return { id: Number(body.data.id), texts };
}

const listAlerts = async (query = '') =>
  (await me.call('GET', `/alerts${query}`)).body as unknown as {
    data: { id: number; title: string; muted: object | null; messages: object[]; ended_at: string | null }[];
    next_cursor: string | null;
  };

test('alerts are listed with who was notified and why a message failed, page by page', async () => {
  let status = 200;
  const channel = await addChannel(() => status);
  await recordAlerts(t.pool, [ended('1')], clock.ms);
  await sendAlertMessages(deps());
  status = 404;
  await recordAlerts(t.pool, [ended('2')], clock.ms);
  for (let attempt = 0; attempt < 6; attempt++) {
    await sendAlertMessages(deps());
    clock.ms += 2 * hourMs;
  }
  expect(channel.texts().length).toBe(8);
  const { data, next_cursor: next } = await listAlerts('?limit=1');
  expect(data).toEqual([
    expect.objectContaining({
      title: 'Campaign ended: Campaign 2',
      messages: [{ channel: '#shop', state: 'failed', error: expect.stringContaining('404') }],
    }),
  ]);
  const older = await listAlerts(`?limit=1&cursor=${next}`);
  expect(older.data).toEqual([
    expect.objectContaining({
      title: 'Campaign ended: Campaign 1',
      messages: [{ channel: '#shop', state: 'sent', error: null }],
    }),
  ]);
  expect((await listAlerts('?kind=budget.100')).data).toEqual([]);
  expect((await me.call('GET', '/alerts?kind=unknown')).status).toBe(400);
  expect((await me.call('GET', '/alerts?cursor=x')).status).toBe(400);
});

test('a muted alert notifies nobody until the mute ends, and says who muted it and why', async () => {
  const channel = await addChannel(() => 200);
  await recordAlerts(t.pool, [ended('1', 'first')], clock.ms);
  const id = (await listAlerts()).data[0]?.id ?? 0;
  const muted = await me.call('POST', `/alerts/${id}/mute`, { hours: 4, note: 'Maintenance' });
  expect(muted.status).toBe(200);
  expect((await listAlerts()).data[0]?.muted).toEqual({
    until: new Date(clock.ms + 4 * hourMs).toISOString(),
    by: 'Test key',
    note: 'Maintenance',
  });
  await recordAlerts(t.pool, [ended('1', 'second')], clock.ms);
  expect((await listAlerts()).data[0]?.messages).toEqual([]);
  const admin = await signInAs(t, 'admin', me.publisherId);
  const page = await admin.get(`/dashboard/p/${me.publisherId}/alerts`);
  expect(page.body).toContain('Nobody was notified.');
  expect(page.body).toContain('by Test key.');
  expect(page.body).toContain('Maintenance');
  clock.ms += 4 * hourMs;
  await recordAlerts(t.pool, [ended('1', 'third')], clock.ms);
  expect((await listAlerts()).data[0]).toMatchObject({ muted: null, messages: [{ state: 'waiting' }] });
  await me.call('POST', `/alerts/${id}/mute`, {});
  expect((await me.call('POST', `/alerts/${id}/unmute`)).status).toBe(200);
  expect((await listAlerts()).data[0]?.muted).toBeNull();
  expect((await me.call('POST', `/alerts/${id}/mute`, { hours: 0 })).status).toBe(400);
  expect((await me.call('POST', `/alerts/${id}/mute`, { note: 'x'.repeat(201) })).status).toBe(400);
  expect(channel.texts().length).toBe(1);
});

test('all alerts can be muted at once, and notify again when the mute ends', async () => {
  const channel = await addChannel(() => 200);
  expect((await me.call('POST', '/alerts/all/mute', { hours: 1, note: 'Maintenance <b>' })).status).toBe(200);
  expect(await listAlerts()).toMatchObject({
    all_muted: { until: new Date(clock.ms + hourMs).toISOString(), by: 'Test key', note: 'Maintenance <b>' },
  });
  await recordAlerts(t.pool, [ended('1', 'muted'), stalled()], clock.ms);
  await sendAlertMessages(deps());
  expect(channel.texts()).toHaveLength(1); // the test message
  const admin = await signInAs(t, 'admin', me.publisherId);
  const page = `/dashboard/p/${me.publisherId}/alerts`;
  expect((await admin.get(page)).body).toMatch(/Test key muted all alerts until .*\..* Maintenance &lt;b&gt;/);
  // Other publishers are not affected.
  const other = await t.caller(await t.addPublisher());
  expect((await other.call('GET', '/alerts')).body).toMatchObject({ all_muted: null });
  expect((await admin.post(`${page}/all/mute`, { mute: 'no' })).statusCode).toBe(303);
  expect(await listAlerts()).toMatchObject({ all_muted: null });
  await recordAlerts(t.pool, [ended('1', 'again')], clock.ms);
  await sendAlertMessages(deps());
  expect(channel.texts()).toHaveLength(2);
  const muted = { mute: 'yes', 'hours.all': '4', 'note.all': 'Move' };
  expect((await admin.post(`${page}/all/mute`, muted)).statusCode).toBe(303);
  expect((await admin.get(page)).body).toContain('Move');
  clock.ms += 4 * hourMs;
  expect((await admin.get(page)).body).toContain('Mute all alerts');
});

test('the alerts page shows the latest three, and the list of all alerts can be filtered by kind', async () => {
  await recordAlerts(
    t.pool,
    [1, 2, 3, 4, 5, 6, 7].map((id) => ended(String(id))),
    clock.ms,
  );
  await recordAlerts(t.pool, [stalled()], clock.ms);
  const admin = await signInAs(t, 'admin', me.publisherId);
  const page = `/dashboard/p/${me.publisherId}/alerts`;
  const countOn = async (path: string) => (await admin.get(path)).body.match(/<li class="alert"/g)?.length ?? 0;
  const { body } = await admin.get(page);
  expect(body).toContain('8 new');
  expect(body).toContain(`href="${page}/all"`);
  expect([await countOn(page), await countOn(`${page}/all`)]).toEqual([3, 8]);
  expect(await countOn(`${page}/all?kind=campaign.ended`)).toBe(7);
  expect((await admin.get(`${page}/all?kind=budget.100`)).body).toContain('No matches.');
  expect((await admin.post(`${page}/read`, { until: String((await listAlerts()).data[0]?.id) })).statusCode).toBe(303);
  expect((await admin.get(page)).body).toContain('No new alerts.');
});

test('the recipients of an alert are told once that its problem has ended, unless the alert is muted', async () => {
  const channel = await addChannel(() => 200);
  const check = (facts: Parameters<typeof recordLasting>[2]['facts']) =>
    recordLasting(t.pool, ['ranking.stalled'], { facts }, clock.ms);
  const send = () => sendAlertMessages(deps());
  await check([stalled()]);
  await send();
  clock.ms += hourMs;
  await check([]);
  await check([]);
  await send();
  expect(await send()).toBe(0);
  const [, start, over] = channel.texts();
  expect(start).toContain('Corner shop: Ranking has stopped learning');
  expect(over).toContain('Resolved: Ranking has stopped learning');
  expect(channel.texts()).toHaveLength(3);

  await check([stalled()]);
  await send();
  const id = (await listAlerts()).data[0]?.id ?? 0;
  await me.call('POST', `/alerts/${id}/mute`, {});
  await check([]);
  expect([await send(), channel.texts().length]).toEqual([0, 4]);

  // This one ends before its first message is sent, so there is no message at all.
  await me.call('POST', `/alerts/${id}/unmute`);
  await check([stalled()]);
  await check([]);
  expect([await send(), channel.texts().length]).toEqual([0, 4]);
});

test('a channel is tested before it is added, can be tested again, and its alert kinds can be changed', async () => {
  let status = 500;
  const receiver = await hook((response) => void response.writeHead(status).end());
  const create = () => me.call('POST', '/alert-channels', { name: '#shop', url: receiver.url });
  expect((await create()).status).toBe(400);
  expect((await me.call('GET', '/alert-channels')).body.data).toEqual([]);
  status = 200;
  const { data } = (await create()).body;
  expect(data).toMatchObject({ name: '#shop', error: null, kinds: expect.arrayContaining(['budget.100']) });
  expect(JSON.stringify(data)).not.toContain(receiver.url);
  const path = `/alert-channels/${data.id}`;
  const changed = await me.call('PATCH', path, { kinds: ['key.expires'] });
  expect(changed.body.data).toMatchObject({ kinds: ['key.expires'] });
  expect((await me.call('PATCH', path, { kinds: ['unknown'] })).status).toBe(400);
  expect((await me.call('POST', `${path}/test`)).status).toBe(200);
  expect(String(JSON.parse(receiver.requests.at(-1)?.body.toString() ?? '{}').text)).toContain('Test message');
  status = 403;
  const failed = await runCommand(['alerts', 'test', String(data.id)], env);
  expect([failed.code, failed.err]).toEqual([3, expect.stringContaining('403')]);
  status = 200;
  const admin = await signInAs(t, 'admin', me.publisherId);
  const tested = await admin.post(`/dashboard/p/${me.publisherId}/alerts/channels/${data.id}/test`);
  expect(tested.statusCode).toBe(303);
  expect((await runCommand(['alerts', 'test', String(data.id), '--json'], env)).out).toContain('accepted');
  expect((await me.call('DELETE', path)).status).toBe(200);
  expect((await me.call('DELETE', path)).status).toBe(404);
});

test('the list of alerts can be limited to a kind, and shows how often each kind occurred', async () => {
  await recordAlerts(t.pool, [ended('1'), ended('2'), stalled()], clock.ms);
  const admin = await signInAs(t, 'admin', me.publisherId);
  const pages = `/dashboard/p/${me.publisherId}/alerts`;
  const all = (await admin.get(pages)).body;
  expect(all).toMatch(/<a href="[^"]*\/alerts\/all\?kind=campaign\.ended">2<\/a>/);
  const some = (await admin.get(`${pages}/all?kind=ranking.stalled`)).body;
  expect([some.includes('Ranking has stopped learning'), some.includes('Campaign ended: Campaign 1')]).toEqual([
    true,
    false,
  ]);
  // Links from before the list had its own page.
  const { headers } = await admin.get(`${pages}?kind=ranking.stalled`);
  expect(headers.location).toBe(`${pages}/all?kind=ranking.stalled`);
  for (const before of ['Infinity', '1e400', '1.5', '-1', '9'.repeat(20)])
    expect((await admin.get(`${pages}/all?before=${before}`)).statusCode, before).toBe(200);
});
