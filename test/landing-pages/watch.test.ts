import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Counter, Registry } from 'prom-client';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { recordOperationalEvents } from '../../src/alerts/record.ts';
import type { PublisherContext } from '../../src/catalog/pages.ts';
import { campaigns } from '../../src/catalog-admin/resources/campaigns.ts';
import { offers } from '../../src/catalog-admin/resources/offers.ts';
import { parseNets } from '../../src/config/nets.ts';
import { createLandingCheck } from '../../src/landing-pages/pages/landing-check.ts';
import { checkDuePages, type WatchDeps } from '../../src/landing-pages/watch.ts';
import { dayMs, hourMs } from '../../src/platform/lib/time.ts';
import { raiseFacts } from '../../src/webhooks/raise-events.ts';
import { sendOperationalEvents } from '../../src/webhooks/send-operational.ts';
import { createSender, type Sender } from '../../src/webhooks/sender.ts';
import { addCatalogue, type Caller, createManagementApp, type ManagementApp } from '../catalog/resources/support.ts';
import { runCommand } from '../command-line/support.ts';
import { signInAs } from '../dashboard/support.ts';

type Handler = (request: IncomingMessage, response: ServerResponse) => void;

let t: ManagementApp;
let origin: string;
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
  origin = await t.app.listen({ port: 0, host: '127.0.0.1' });
  await t.pool.query('alter table campaigns drop constraint campaigns_landing_url_check');
  await t.pool.query('alter table offers drop constraint offers_useraction_url_check');
  server = createServer((request, response) => {
    calls.push(`${request.method} ${request.headers.host?.split(':')[0]}${request.url}`);
    handle(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  port = (server.address() as AddressInfo).port;
  sender = createSender({
    allowNets: parseNets('127.0.0.0/8'),
    allowHttp: true,
    userAgent: 'test',
    lookup: async (name) => {
      if (name.startsWith('gone.')) throw Object.assign(new Error('unknown'), { code: 'ENOTFOUND' });
      return [{ address: name.startsWith('private.') ? '10.0.0.1' : '127.0.0.1', family: 4 }];
    },
  });
  const checks = new Counter({ name: 'looks', help: 'looks', labelNames: ['result'], registers: [new Registry()] });
  deps = {
    pool: t.pool,
    management: t.deps.management,
    raiseFacts,
    kinds: { campaigns, offers },
    sender,
    checks,
    callMs: 5000,
    logger: t.deps.logger,
    now: () => clock.ms,
    random: () => 0.5,
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

/** Sets a campaign's landing page with SQL, because the API accepts https only and this server uses http. */
const lead = async (host: string, path = '/', id = campaign) => {
  await t.pool.query('update campaigns set landing_url = $2 where id = $1', [id, `http://${host}:${port}${path}`]);
  await t.deps.catalog.refresh();
};
const runChecks = async (passedMs = dayMs * 1.2): Promise<number> => {
  clock.ms += passedMs;
  return checkDuePages(deps);
};
/** Adds a page on another host that responds. */
const answeringElsewhere = async (): Promise<void> => {
  const { body } = await me.call('GET', `/campaigns/${campaign}`);
  const { advertiser_id } = body.data;
  const other = { advertiser_id, name: 'Other', landing_url: 'https://x.example/' };
  const id = (await me.call('POST', '/campaigns', other)).body.data.id as number;
  await me.call('POST', '/offers', { campaign_id: id, title: 'Other' });
  await lead('up.com', '/', id);
  await runChecks();
  await t.pool.query('update campaigns set active = false where id = $1', [id]);
};
const loadCampaign = async (id = campaign) => (await me.call('GET', `/campaigns/${id}`)).body.data;
const page = async (id = campaign) => (await loadCampaign(id)).landing_page as Record<string, unknown> | null;
const offersShown = async (): Promise<number[]> => {
  const payload = { placement: 'checkout', ip: '203.0.113.9' };
  const url = `/native/v4/offers.json?api_key=${me.key}`;
  const answer = await t.app.inject({ method: 'POST', url, payload });
  return answer.json().data.offers.map(({ id }: { id: number }) => id);
};

test('a page that responds counts as found with its redirects, and is checked again a day later', async () => {
  await lead('shop.com', '/sale?c={click_id}');
  handle = ({ url, headers: { host } }, response) =>
    host?.startsWith('shop.') && url?.startsWith('/sale')
      ? void response.writeHead(302, { location: `http://www.shop.com:${port}/new` }).end()
      : void response.end('hello');
  expect(await page()).toBeNull();
  expect(await runChecks()).toBe(1);
  expect(calls).toEqual(['HEAD shop.com/sale?c=perkwire-check', 'HEAD www.shop.com/new']);
  expect(await page()).toMatchObject({
    result: 'found',
    status: 200,
    redirects: 1,
    leads_to: 'www.shop.com',
    led_to: 'www.shop.com',
    looked_at: new Date(clock.ms).toISOString(),
    problem: null,
    paused_at: null,
  });
  expect(await runChecks(dayMs / 2)).toBe(0);
  expect(await runChecks(dayMs / 2)).toBe(1);
});

test('a rejected HEAD is retried with GET', async () => {
  await lead('shop.com');
  handle = ({ method }, response) => void response.writeHead(method === 'HEAD' ? 404 : 200).end();
  await runChecks();
  expect([calls, (await page())?.result]).toEqual([['HEAD shop.com/', 'GET shop.com/'], 'found']);
});

test.each([
  ['responds with 404', 'shop.com', status(404), 404],
  ['responds with 410', 'shop.com', status(410), 410],
  ['has an unknown host', 'gone.shop.com', ok, null],
] as const)('a page that %s pauses its offers with an alert after three checks', async (_, host, answer, code) => {
  await answeringElsewhere();
  await lead(host);
  handle = answer;
  await runChecks();
  await runChecks(hourMs);
  expect([(await loadCampaign()).active, await offersShown()]).toEqual([true, [offer]]);
  expect((await page())?.result).toBe('gone');
  await runChecks(hourMs);
  expect([(await loadCampaign()).active, await offersShown()]).toEqual([false, []]);
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
  expect(await runChecks()).toBe(0);
});

test.each([
  ['responds with 404 now and then', status(404)],
  ['responds with 503 now and then', status(503)],
  ['closes the connection now and then', (({ socket }) => void socket.destroy()) satisfies Handler],
])('no offer is paused if its page %s', async (_, broken) => {
  await lead('shop.com');
  await runChecks();
  for (const answer of [broken, ok, broken, ok, broken]) {
    handle = answer;
    await runChecks();
  }
  expect((await loadCampaign()).active).toBe(true);
  handle = ok;
  await runChecks();
  expect(await page()).toMatchObject({ result: 'found', failing_since: null });
});

test('an unknown host pauses nothing if no page responds, because the connection may be down', async () => {
  await t.pool.query('delete from landing_pages');
  await lead('gone.shop.com');
  for (let times = 0; times < 4; times += 1) await runChecks();
  expect(await page()).toMatchObject({ result: 'unreachable', problem: 'dns', paused_at: null });
  expect((await loadCampaign()).active).toBe(true);
});

test.each(['shop.example', 'example.test', 'a.invalid', 'shop.localhost'])(
  'a domain reserved for examples is not checked: %s',
  async (host) => {
    await lead(host);
    expect([await runChecks(), calls, await page()]).toEqual([0, [], null]);
  },
);

test('a page that never ends, loops or is private is shown as unreachable, and pauses nothing', async () => {
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
      await runChecks();
      expect(await page()).toMatchObject({ result: 'unreachable', problem });
      expect(calls.length).toBeLessThanOrEqual(11);
    }
  expect((await loadCampaign()).active).toBe(true);
  deps = { ...deps, callMs: 5000 };
});

test('a page of many gigabytes is read only up to the limit', async () => {
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
  await runChecks();
  expect((await page())?.result).toBe('found');
  expect(sent).toBeLessThan(64 * 2 ** 20);
});

test('a page that moves to another domain pauses its offers, and resuming them accepts the new domain', async () => {
  await lead('www.shop.com');
  await runChecks();
  const to =
    (host: string): Handler =>
    ({ headers }, response) =>
      headers.host?.startsWith('www.shop.com')
        ? void response.writeHead(301, { location: `http://${host}:${port}/` }).end()
        : void response.end('hello');
  handle = to('m.shop.com');
  for (let times = 0; times < 4; times += 1) await runChecks();
  expect(await page()).toMatchObject({ result: 'found', leads_to: 'm.shop.com' });
  handle = to('parking.com');
  for (let times = 0; times < 3; times += 1) await runChecks();
  expect((await loadCampaign()).active).toBe(false);
  expect(await page()).toMatchObject({ result: 'moved', leads_to: 'parking.com', led_to: 'm.shop.com' });
  await t.pool.query('update campaigns set active = true where id = $1', [campaign]);
  for (let times = 0; times < 4; times += 1) await runChecks();
  expect((await loadCampaign()).active).toBe(true);
  expect(await page()).toMatchObject({ result: 'found', led_to: 'parking.com', paused_at: null });
});

test('a new campaign URL starts new checks', async () => {
  await lead('shop.com');
  await runChecks();
  await lead('other.com');
  expect(await runChecks(1000)).toBe(1);
  expect(await page()).toMatchObject({ result: 'found', led_to: 'other.com', failing_since: null });
});

test('several processes together request only one page per host at a time', async () => {
  const { advertiser_id } = await loadCampaign();
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
    looked += (await Promise.all([checkDuePages(deps), checkDuePages(deps)])).reduce((sum, count) => sum + count, 0);
  expect([looked, most]).toEqual([5, 1]);
});

test('nothing is checked if checks are off, or the campaign is paused, stopped, ended or has no offer', async () => {
  await lead('shop.com');
  const none = async (path: string, off: object, on: object): Promise<void> => {
    await me.call('PATCH', path, off);
    expect([await runChecks(), calls]).toEqual([expect.any(Number), []]);
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
  expect([await runChecks(), calls.length]).toEqual([1, 1]);
});

test('the result is shown on the campaign and offer pages, and listed on the command line', async () => {
  const env = { PERKWIRE_URL: origin, PERKWIRE_KEY: me.key };
  await lead('shop.com');
  const text = async (path: string) => {
    const user = await signInAs(t, 'admin', me.publisherId);
    return (await user.get(`/dashboard/p/${me.publisherId}${path}`)).body;
  };
  expect(await text(`/campaigns/${campaign}`)).toContain('Not checked yet.');
  expect((await runCommand(['landing-pages'], env)).out).toContain('not checked yet');
  handle = status(404);
  for (let times = 0; times < 3; times += 1) await runChecks();
  for (const path of [`/campaigns/${campaign}`, `/offers/${offer}`])
    expect(await text(path)).toMatch(/This campaign was paused on .* because its landing page was not found/);
  await sendOperationalEvents(t.pool, clock.ms, recordOperationalEvents(clock.ms));
  expect(await text('/alerts')).toMatch(/Campaign paused, landing page unavailable: Boxes/);
  const listed = await runCommand(['landing-pages', '--problems'], env);
  expect([listed.code, listed.out]).toEqual([1, expect.stringContaining(`campaign ${campaign}  Boxes  paused  gone`)]);
});

describe('a landing page that is being entered', () => {
  /** Checks a URL as the form does. The receiver has no certificate, so calls go to its http port. */
  const check = async (url: string): Promise<string> => {
    const plain: Sender = {
      ...sender,
      send: (request) => sender.send({ ...request, url: request.url.replace(/^https:/, 'http:') }),
    };
    const publisher = t.deps.catalog.current().publishers.get(me.publisherId);
    const run = createLandingCheck({
      pool: t.pool,
      sender: plain,
      now: () => clock.ms,
      elapsedMs: () => performance.now(),
    });
    const path = (rest: string) => rest;
    const { markup } = await run({ publisher, path } as PublisherContext, url);
    return markup
      .replaceAll(/<[^>]*>/g, ' ')
      .replaceAll(/\s+/g, ' ')
      .trim();
  };

  test('is opened, and the response is shown', async () => {
    expect(await check(`https://shop.com:${port}/boxes?c={click_id}`)).toBe('Working Response: 200');
    expect(calls).toEqual(['HEAD shop.com/boxes?c=perkwire-check']);
    handle = status(404);
    expect(await check(`https://shop.com:${port}/`)).toBe('Not found Response: 404');
    handle = ({ url }, response) => void response.writeHead(url === '/' ? 302 : 200, { location: '/b' }).end();
    expect(await check(`https://shop.com:${port}/`)).toBe('Working Response: 200 · shop.com, 1 redirect');
    expect(await check(`https://gone.com:${port}/`)).toBe('Not found Response: host name not found');
  });

  test('is opened at most 20 times per minute for each publisher, in all processes together', async () => {
    await t.pool.query('delete from landing_check_buckets');
    const results: string[] = [];
    for (let count = 0; count < 25; count += 1) results.push(await check(`https://shop.com:${port}/`));
    expect(results.filter((result) => result.startsWith('Working'))).toHaveLength(20);
    expect(results.at(-1)).toContain('Too many pages were checked in the last minute.');
    expect(calls).toHaveLength(20);
    clock.ms += 6000;
    expect(await check(`https://shop.com:${port}/`)).toContain('Working');
    await t.pool.query('delete from landing_check_buckets');
  });

  test('is never opened at a private address, in an incomplete URL, or if the checks are off', async () => {
    expect(await check(`https://private.com:${port}/`)).toBe('Unreachable Response: address is not public');
    handle = (_request, response) => void response.writeHead(302, { location: 'http://private.com/' }).end();
    expect(await check(`https://shop.com:${port}/`)).toContain('address is not public');
    calls = [];
    for (const url of [
      '',
      'https://',
      'http://shop.com/',
      'https://shop',
      'https://shop.example/',
      'https://localhost/',
    ])
      expect(await check(url), url).toBe('');
    await t.pool.query('update publishers set landing_pages_checked = false where id = $1', [me.publisherId]);
    expect(await check(`https://shop.com:${port}/`)).toBe('');
    expect(calls).toEqual([]);
  });
});

describe('the page of a secondary action', () => {
  /** Sets the link of an offer's secondary action. */
  const act = async (host: string, id = offer): Promise<void> => {
    await t.pool.query('update offers set useraction_url = $2 where id = $1', [id, `http://${host}:${port}/more`]);
    await t.deps.catalog.refresh();
  };
  const another = async (title: string): Promise<number> =>
    (await me.call('POST', '/offers', { campaign_id: campaign, title })).body.data.id as number;
  const offerShown = async (id = offer) => {
    const { active, action_page } = (await me.call('GET', `/offers/${id}`)).body.data;
    return { active, page: action_page as Record<string, unknown> | null };
  };
  const goneAtMore: Handler = ({ url }, response) => void response.writeHead(url === '/more' ? 404 : 200).end();

  test('pauses only its offer with an alert if it is gone, and is not checked until the offer is resumed', async () => {
    const other = await another('Other');
    await lead('shop.com');
    await act('more.com');
    expect(await offerShown()).toEqual({ active: true, page: null });
    handle = goneAtMore;
    for (let times = 0; times < 3; times += 1) await runChecks();
    expect(await offerShown()).toMatchObject({
      active: false,
      page: { result: 'gone', status: 404, url: `http://more.com:${port}/more`, paused_at: expect.any(String) },
    });
    expect([(await loadCampaign()).active, await offersShown()]).toEqual([true, [other]]);
    const { rows: log } = await t.pool.query(
      `select actor_label, resource, resource_id, changes from audit_log where publisher_id = $1 and action = 'update'`,
      [me.publisherId],
    );
    const changes = { active: { old: true, new: false } };
    expect(log).toEqual([{ actor_label: 'landing pages', resource: 'offers', resource_id: String(offer), changes }]);
    await sendOperationalEvents(t.pool, clock.ms, recordOperationalEvents(clock.ms));
    const { rows: alerts } = await t.pool.query('select kind, subject, data from alerts where publisher_id = $1', [
      me.publisherId,
    ]);
    const kind = 'offer.action_page_lost';
    const data = { offer_id: offer, campaign_id: campaign, reason: 'gone', status: 404, leads_to: 'more.com' };
    expect(alerts).toMatchObject([{ kind, subject: String(offer), data }]);
    calls = [];
    await runChecks();
    expect(calls).toEqual(['HEAD shop.com/']);
    // Resuming the offer accepts the result until the page has been found once.
    await t.pool.query('update offers set active = true where id = $1', [offer]);
    for (let times = 0; times < 4; times += 1) await runChecks();
    expect(await offerShown()).toMatchObject({ active: true, page: { result: 'gone' } });
    handle = ok;
    await runChecks();
    expect(await offerShown()).toMatchObject({ active: true, page: { result: 'found', paused_at: null } });
  });

  test('pauses the offer if it moves to another domain, even under the same public suffix', async () => {
    await lead('shop.com');
    await act('one.github.io');
    await runChecks();
    handle = ({ headers: { host } }, response) =>
      host?.startsWith('one.')
        ? void response.writeHead(301, { location: `http://two.github.io:${port}/` }).end()
        : void response.end('hello');
    for (let times = 0; times < 3; times += 1) await runChecks();
    expect(await offerShown()).toMatchObject({
      active: false,
      page: { result: 'moved', leads_to: 'two.github.io', led_to: 'one.github.io' },
    });
    expect((await loadCampaign()).active).toBe(true);
  });

  test('is checked once a day however many offers share it, and pauses all of them', async () => {
    await lead('shop.com');
    await act('more.com');
    const second = await another('Second');
    await act('more.com', second);
    const checks = async (): Promise<number> => {
      calls = [];
      await runChecks();
      return calls.filter((call) => call === 'HEAD more.com/more').length;
    };
    expect(await checks()).toBe(1);
    // A page that is added later waits for the next check.
    const third = await another('Third');
    await act('more.com', third);
    expect([await runChecks(hourMs), (await offerShown(third)).page]).toEqual([0, null]);
    expect(await checks()).toBe(1);
    expect((await offerShown(third)).page).toMatchObject({ result: 'found' });
    handle = goneAtMore;
    for (let times = 0; times < 3; times += 1) expect(await checks()).toBe(1);
    for (const id of [offer, second, third]) expect((await offerShown(id)).active).toBe(false);
    const { rows } = await t.pool.query(
      "select count(*)::int from operational_events where publisher_id = $1 and event = 'offer.action_page_lost'",
      [me.publisherId],
    );
    expect([rows, (await loadCampaign()).active]).toEqual([[{ count: 3 }], true]);
  });

  test('pauses nothing if its host is unknown and no other page responds, however many offers share it', async () => {
    await t.pool.query('delete from landing_pages');
    await lead('shop.example');
    await act('gone.more.com');
    await act('gone.more.com', await another('Second'));
    for (let times = 0; times < 4; times += 1) await runChecks();
    expect(await offerShown()).toMatchObject({ active: true, page: { result: 'unreachable', problem: 'dns' } });
  });

  test('is not checked if it is reserved, or if the offer is stopped, paused or has no URL', async () => {
    await lead('shop.example');
    for (const setting of [
      { useraction_url: 'https://more.example/' },
      { useraction_url: '' },
      { useraction_url: null },
    ]) {
      await me.call('PATCH', `/offers/${offer}`, setting);
      expect([await runChecks(), calls, (await offerShown()).page]).toEqual([0, [], null]);
    }
    await act('more.com');
    await me.call('POST', `/offers/${offer}/stop`);
    expect([await runChecks(), calls]).toEqual([0, []]);
  });

  test('is shown on its offer page, and listed on the command line', async () => {
    const env = { PERKWIRE_URL: origin, PERKWIRE_KEY: me.key };
    const text = async (path: string) => {
      const user = await signInAs(t, 'admin', me.publisherId);
      return (await user.get(`/dashboard/p/${me.publisherId}${path}`)).body;
    };
    const title = 'Secondary action page';
    await lead('shop.com');
    expect(await text(`/offers/${offer}`)).not.toContain(title);
    await act('more.com');
    expect(await text(`/offers/${offer}`)).toContain(title);
    handle = goneAtMore;
    for (let times = 0; times < 3; times += 1) await runChecks();
    expect(await text(`/offers/${offer}`)).toMatch(
      /This offer was paused on .* because its secondary action page was not found/,
    );
    await sendOperationalEvents(t.pool, clock.ms, recordOperationalEvents(clock.ms));
    expect(await text('/alerts')).toMatch(/Offer paused, secondary action page unavailable: /);
    const listed = await runCommand(['landing-pages', '--problems'], env);
    expect([listed.code, listed.out]).toEqual([1, expect.stringMatching(`^offer ${offer}  .*  paused  gone`)]);
  });
});
