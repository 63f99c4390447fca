import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Counter, Registry } from 'prom-client';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { recordOperationalEvents } from '../../src/alerts/record.ts';
import { campaigns } from '../../src/catalog/resources/campaigns.ts';
import { lookAtDuePages, type WatchDeps } from '../../src/landing-pages/watch.ts';
import { parseNets } from '../../src/platform/lib/nets.ts';
import { dayMs, hourMs } from '../../src/platform/lib/time.ts';
import { sendOperationalEvents } from '../../src/webhooks/send-operational.ts';
import { createSender, type Sender } from '../../src/webhooks/sender.ts';
import { addCatalogue, type Caller, createManagementApp, type ManagementApp } from '../catalog/resources/support.ts';
import { runCommand } from '../command-line/support.ts';
import { signInAs } from '../dashboard/support.ts';

type Handler = (request: IncomingMessage, response: ServerResponse) => void;

let t: ManagementApp;
let server: Server;
let sender: Sender;
let deps: WatchDeps;
let port: number;
let handle: Handler;
let calls: string[] = [];
const clock = { ms: Date.now() };
const ok: Handler = (_request, response) => void response.end('hello');
const status =
  (code: number): Handler =>
  (_request, response) =>
    void response.writeHead(code).end();

beforeAll(async () => {
  t = await createManagementApp({ now: () => clock.ms });
  await t.pool.query('alter table campaigns drop constraint campaigns_landing_url_check');
  server = createServer((request, response) => {
    calls.push(`${request.method} ${request.headers.host?.split(':')[0]}${request.url}`);
    handle(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  port = (server.address() as AddressInfo).port;
  sender = createSender({
    ...{ allowNets: parseNets('127.0.0.0/8'), allowHttp: true, userAgent: 'test' },
    lookup: async (name) => {
      if (name.startsWith('gone.')) throw Object.assign(new Error('unknown'), { code: 'ENOTFOUND' });
      return [{ address: name.startsWith('private.') ? '10.0.0.1' : '127.0.0.1', family: 4 }];
    },
  });
  const looks = new Counter({ name: 'looks', help: 'looks', labelNames: ['result'], registers: [new Registry()] });
  deps = {
    ...{ pool: t.pool, management: t.deps.management, campaigns, sender, looks },
    ...{ callMs: 5000, logger: t.deps.logger, now: () => clock.ms, random: () => 0.5 },
  };
});
afterAll(async () => {
  await t?.close();
  await sender?.close();
  server?.closeAllConnections();
  await new Promise((resolve) => server?.close(resolve));
});

let me: Caller;
let campaign: number;
let offer: number;
beforeEach(async () => {
  clock.ms = Date.now();
  await t.pool.query('update campaigns set active = false');
  me = await t.caller(await t.addPublisher());
  const rows = await addCatalogue(me);
  [campaign, offer] = [rows.campaign as number, rows.offer as number];
  [calls, handle] = [[], ok];
});

/** Where a campaign leads: https alone is saved, but this server speaks http. */
const lead = async (host: string, path = '/', id = campaign) => {
  await t.pool.query('update campaigns set landing_url = $2 where id = $1', [id, `http://${host}:${port}${path}`]);
  await t.deps.catalog.refresh();
};
const look = async (passedMs = dayMs * 1.2): Promise<number> => {
  clock.ms += passedMs;
  return lookAtDuePages(deps);
};
/** A page of another host that answers. */
const answeringElsewhere = async (): Promise<void> => {
  const { body } = await me.call('GET', `/campaigns/${campaign}`);
  const { advertiser_id } = body.data;
  const other = { advertiser_id, name: 'Other', landing_url: 'https://x.example/' };
  const id = (await me.call('POST', '/campaigns', other)).body.data.id as number;
  await me.call('POST', '/offers', { campaign_id: id, title: 'Other' });
  await lead('up.com', '/', id);
  await look();
  await t.pool.query('update campaigns set active = false where id = $1', [id]);
};
const shown = async (id = campaign) => (await me.call('GET', `/campaigns/${id}`)).body.data;
const page = async (id = campaign) => (await shown(id)).landing_page as Record<string, unknown> | null;
const offersShown = async (): Promise<number[]> => {
  const payload = { placement: 'checkout', ip: '203.0.113.9' };
  const url = `/native/v4/offers.json?api_key=${me.key}`;
  const answer = await t.app.inject({ method: 'POST', url, payload });
  return answer.json().data.offers.map(({ id }: { id: number }) => id);
};

test('a page that answers is found, after redirects that are counted, and looked at again a day later', async () => {
  await lead('shop.com', '/sale?c={click_id}');
  handle = ({ url, headers: { host } }, response) =>
    host?.startsWith('shop.') && url?.startsWith('/sale')
      ? void response.writeHead(302, { location: `http://www.shop.com:${port}/new` }).end()
      : void response.end('hello');
  expect(await page()).toBeNull();
  expect(await look()).toBe(1);
  expect(calls).toEqual(['HEAD shop.com/sale?c=perkwire-check', 'HEAD www.shop.com/new']);
  expect(await page()).toMatchObject({
    ...{ result: 'found', status: 200, redirects: 1, leads_to: 'www.shop.com', led_to: 'www.shop.com' },
    ...{ looked_at: new Date(clock.ms).toISOString(), problem: null, paused_at: null },
  });
  expect(await look(dayMs / 2)).toBe(0);
  expect(await look(dayMs / 2)).toBe(1);
});

test('HEAD that is refused is asked again with GET', async () => {
  await lead('shop.com');
  handle = ({ method }, response) => void response.writeHead(method === 'HEAD' ? 404 : 200).end();
  await look();
  expect([calls, (await page())?.result]).toEqual([['HEAD shop.com/', 'GET shop.com/'], 'found']);
});

test.each([
  ['is answered 404', 'shop.com', status(404), 404],
  ['is answered 410', 'shop.com', status(410), 410],
  ['has a host that nobody knows', 'gone.shop.com', ok, null],
] as const)(
  'a page that %s pauses its offers once that was seen three times, with an alert',
  async (_, host, answer, code) => {
    await answeringElsewhere();
    await lead(host);
    handle = answer;
    await look();
    await look(hourMs);
    expect([(await shown()).active, await offersShown()]).toEqual([true, [offer]]);
    expect((await page())?.result).toBe('gone');
    await look(hourMs);
    expect([(await shown()).active, await offersShown()]).toEqual([false, []]);
    expect(await page()).toMatchObject({ result: 'gone', status: code, paused_at: new Date(clock.ms).toISOString() });
    const { rows: log } = await t.pool.query(
      `select actor_label, resource_id, changes from audit_log where publisher_id = $1 and action = 'update'`,
      [me.publisherId],
    );
    const changes = { active: { old: true, new: false } };
    expect(log).toEqual([{ actor_label: 'landing pages', resource_id: String(campaign), changes }]);
    await sendOperationalEvents(t.pool, clock.ms, recordOperationalEvents(clock.ms));
    const { rows: alerts } = await t.pool.query('select kind, data from alerts where publisher_id = $1', [
      me.publisherId,
    ]);
    expect(alerts).toMatchObject([
      { kind: 'campaign.landing_page_lost', data: { campaign_id: campaign, reason: 'gone', status: code } },
    ]);
    expect(await look()).toBe(0);
  },
);

test.each([
  ['one that is gone once', status(404)],
  ['one that fails', status(503)],
  ['one that breaks the connection', (({ socket }) => void socket.destroy()) satisfies Handler],
])('a page pauses nothing: %s', async (_, broken) => {
  await lead('shop.com');
  await look();
  for (const answer of [broken, ok, broken, ok, broken]) {
    handle = answer;
    await look();
  }
  expect((await shown()).active).toBe(true);
  handle = ok;
  await look();
  expect(await page()).toMatchObject({ result: 'found', failing_since: null });
});

test('where no page answers at all, an unknown host may be for want of a connection, and pauses nothing', async () => {
  await t.pool.query('delete from landing_pages');
  await lead('gone.shop.com');
  for (let times = 0; times < 4; times += 1) await look();
  expect(await page()).toMatchObject({ result: 'unreachable', problem: 'dns', paused_at: null });
  expect((await shown()).active).toBe(true);
});

test.each(['shop.example', 'example.test', 'a.invalid', 'shop.localhost'])(
  'a name that is reserved for examples is not looked at: %s',
  async (host) => {
    await lead(host);
    expect([await look(), calls, await page()]).toEqual([0, [], null]);
  },
);

test('a page that has no end, loops or is private is shown as not reachable, and pauses nothing', async () => {
  deps = { ...deps, callMs: 300 };
  const drip: Handler = (_request, response) => void response.writeHead(404).write('x');
  const loop: Handler = (_request, response) => void response.writeHead(301, { location: '/' }).end();
  const toPrivate: Handler = ({ headers: { host } }, response) =>
    void response.writeHead(302, { location: host?.startsWith('shop') ? 'http://private.com/' : '/' }).end();
  await lead('shop.com');
  for (const [answer, problem] of [
    [loop, 'redirects'],
    [toPrivate, 'blocked'],
    [drip, 'timeout'],
  ] as const)
    for (let times = 0; times < 3; times += 1) {
      calls = [];
      handle = answer;
      await look();
      expect(await page()).toMatchObject({ result: 'unreachable', problem });
      expect(calls.length).toBeLessThanOrEqual(11);
    }
  expect((await shown()).active).toBe(true);
  deps = { ...deps, callMs: 5000 };
});

test('of a page of gigabytes no more is taken than is kept', async () => {
  let sent = 0;
  handle = ({ method }, response) => {
    if (method === 'HEAD') return void response.writeHead(405).end();
    const chunk = Buffer.alloc(65_536);
    const more = (): void => {
      while (!response.destroyed && response.write(chunk)) sent += chunk.length;
    };
    response.writeHead(200, { 'content-length': 10 * 2 ** 30 }).on('drain', more);
    more();
  };
  await lead('shop.com');
  await look();
  expect((await page())?.result).toBe('found');
  expect(sent).toBeLessThan(64 * 2 ** 20);
});

test('a page that moves to another domain pauses its offers; who resumes them accepts where it leads', async () => {
  await lead('www.shop.com');
  await look();
  const to =
    (host: string): Handler =>
    ({ headers }, response) =>
      headers.host?.startsWith('www.shop.com')
        ? void response.writeHead(301, { location: `http://${host}:${port}/` }).end()
        : void response.end('hello');
  handle = to('m.shop.com');
  for (let times = 0; times < 4; times += 1) await look();
  expect(await page()).toMatchObject({ result: 'found', leads_to: 'm.shop.com' });
  handle = to('parking.com');
  for (let times = 0; times < 3; times += 1) await look();
  expect((await shown()).active).toBe(false);
  expect(await page()).toMatchObject({ result: 'moved', leads_to: 'parking.com', led_to: 'm.shop.com' });
  await t.pool.query('update campaigns set active = true where id = $1', [campaign]);
  for (let times = 0; times < 4; times += 1) await look();
  expect((await shown()).active).toBe(true);
  expect(await page()).toMatchObject({ result: 'found', led_to: 'parking.com', paused_at: null });
});

test('another URL of a campaign begins anew', async () => {
  await lead('shop.com');
  await look();
  await lead('other.com');
  expect(await look(1000)).toBe(1);
  expect(await page()).toMatchObject({ result: 'found', led_to: 'other.com', failing_since: null });
});

test('a host is called for one page at a time, by several processes together', async () => {
  const { advertiser_id } = await shown();
  for (let at = 0; at < 4; at += 1) {
    const body = { advertiser_id, name: `More ${at}`, landing_url: 'https://x.example/' };
    const id = (await me.call('POST', '/campaigns', body)).body.data.id as number;
    await me.call('POST', '/offers', { campaign_id: id, title: 'More' });
    await lead('shop.com', `/${at}`, id);
  }
  await lead('shop.com');
  let open = 0;
  let most = 0;
  handle = (_request, response) => {
    most = Math.max(most, ++open);
    setImmediate(() => {
      open -= 1;
      response.end();
    });
  };
  clock.ms += dayMs;
  let looked = 0;
  for (let times = 0; looked < 5 && times < 20; times += 1)
    looked += (await Promise.all([lookAtDuePages(deps), lookAtDuePages(deps)])).reduce((sum, one) => sum + one, 0);
  expect([looked, most]).toEqual([5, 1]);
});

test('nothing is looked at where it is switched off, paused, stopped, over or without an offer', async () => {
  await lead('shop.com');
  const none = async (path: string, off: object, on: object): Promise<void> => {
    await me.call('PATCH', path, off);
    expect([await look(), calls]).toEqual([expect.any(Number), []]);
    await me.call('PATCH', path, on);
  };
  await none(`/publishers/${me.publisherId}`, { landing_pages_checked: false }, { landing_pages_checked: true });
  await none(`/offers/${offer}`, { active: false }, { active: true });
  const end_at = new Date(clock.ms + 1000).toISOString();
  await t.pool.query('update campaigns set rules = $2 where id = $1', [campaign, { schedule: { end_at } }]);
  await none(`/offers/${offer}`, {}, {});
  await t.pool.query("update campaigns set rules = '{}' where id = $1", [campaign]);
  await me.call('POST', `/campaigns/${campaign}/stop`);
  await none(`/offers/${offer}`, {}, {});
  await me.call('POST', `/campaigns/${campaign}/resume`);
  expect([await look(), calls.length]).toEqual([1, 1]);
});

test('what came is shown on the pages of campaign and offer, and listed on the command line', async () => {
  const env = { PERKWIRE_URL: await t.app.listen({ port: 0, host: '127.0.0.1' }), PERKWIRE_KEY: me.key };
  await lead('shop.com');
  const text = async (path: string) => {
    const user = await signInAs(t, 'admin', me.publisherId);
    return (await user.get(`/dashboard/p/${me.publisherId}${path}`)).body;
  };
  expect(await text(`/campaigns/${campaign}`)).toContain('It was not looked at yet.');
  expect((await runCommand(['landing-pages'], env)).out).toContain('not looked at yet');
  handle = status(404);
  for (let times = 0; times < 3; times += 1) await look();
  for (const path of [`/campaigns/${campaign}`, `/offers/${offer}`])
    expect(await text(path)).toMatch(/The campaign was paused at .*: its landing page is gone/);
  await sendOperationalEvents(t.pool, clock.ms, recordOperationalEvents(clock.ms));
  expect(await text('/alerts')).toMatch(/Paused, its landing page is lost: Boxes/);
  const listed = await runCommand(['landing-pages', '--problems'], env);
  expect([listed.code, listed.out]).toEqual([1, expect.stringContaining(`${campaign}  Boxes  paused  gone`)]);
});
