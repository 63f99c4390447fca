import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { transaction } from '../../../src/platform/db/pool.ts';
import { enqueue } from '../../../src/webhooks/outbox.ts';
import { openHeaders } from '../../../src/webhooks/signature.ts';
import { startTestJobs } from '../../support/jobs.ts';
import { type Route, routesOf } from '../../support/routes.ts';
import { createTestApp, type TestApp } from '../../support/test-app.ts';
import { fetchOffers } from '../../tracking/journey.ts';
import { csrfIn, origin, signInAs, type TestUser } from '../support.ts';

let t: TestApp;
let operator: TestUser;
let admin: TestUser;
let otherId: number;
const own = (path: string) => `/dashboard/p/${t.publisher.id}${path}`;

beforeAll(async () => {
  t = await createTestApp();
  operator = await signInAs(t, 'operator');
  admin = await signInAs(t, 'admin');
  const created = await operator.post('/dashboard/operator/publishers', publisherFields('Other'));
  await admin.post(own('/settings/sequence-rules'), { effect: 'deny', 'match.tags': 'nowhere', weight: '100' });
  otherId = Number(/\/p\/(\d+)\//.exec(String(created.headers.location))?.[1]);
  expect(otherId).toBeGreaterThan(0);
});
afterAll(() => t.close());

const publisherFields = (name: string, more: Record<string, string> = {}): Record<string, string> => ({
  name,
  offers_per_response: '4',
  delivery_percentage: '100',
  unit_enabled: 'on',
  time_zone: 'Asia/Kathmandu',
  currency_name: 'points',
  currency_multiplier: '1.5',
  ...more,
});

/** Returns all routes of a publisher's pages. */
const publisherRoutes = (): Route[] =>
  routesOf(t.app).filter(
    ({ method, path }) => path.startsWith('/dashboard/p/:publisherId/') && (method === 'GET' || method === 'POST'),
  );

const call = (person: TestUser, { method, path }: Route) => (method === 'GET' ? person.get(path) : person.post(path));

describe('isolation between publishers', () => {
  test('every page and form of another publisher responds as if it did not exist', async () => {
    const routes = publisherRoutes();
    expect(routes.length).toBeGreaterThan(40);
    for (const { method, path } of routes) {
      const at = (publisherId: number) => path.replace(':publisherId', String(publisherId)).replaceAll(/:\w+/g, '1');
      const foreign = await call(admin, { method, path: at(otherId) });
      const missing = await call(admin, { method, path: at(987_654) });
      expect(foreign.statusCode, `${method} ${path}`).toBe(404);
      expect(foreign.body.replace(/Request ID: \w+-\w+/, ''), `${method} ${path}`).toBe(
        missing.body.replace(/Request ID: \w+-\w+/, ''),
      );
    }
  });

  test("rows of another publisher are not found under one's own path", async () => {
    const other = await signInAs(t, 'admin', otherId);
    for (const { method, path } of publisherRoutes().filter(({ path }) => /:(key|id|userId)/.test(path))) {
      const at = path.replace(':publisherId', String(otherId)).replace(/:(key|id|userId)/, '1');
      expect((await call(other, { method, path: at })).statusCode, `${method} ${path}`).toBe(404);
    }
  });

  test('without a session, every page and form redirects to sign-in', async () => {
    for (const { method, path } of publisherRoutes()) {
      const url = path.replace(':publisherId', String(t.publisher.id)).replaceAll(/:\w+/g, '1');
      const { statusCode, headers } = await t.app.inject({ method: method as 'GET', url });
      expect(statusCode, `${method} ${path}`).toBe(303);
      expect(headers.location).toMatch(/^\/dashboard\/sign-in/);
    }
  });

  test('an analyst gets 403 for every form except saved reports and their own alerts', async () => {
    const analyst = await signInAs(t, 'analyst');
    const isOwn = (path: string): boolean => /\/reports\/saved|\/alerts\/(read|rules|mail-test)$/.test(path);
    for (const { path } of publisherRoutes().filter(({ method, path }) => method === 'POST' && !isOwn(path))) {
      const url = path.replace(':publisherId', String(t.publisher.id)).replaceAll(/:\w+/g, '1');
      expect((await analyst.post(url)).statusCode, path).toBe(403);
    }
  });
});

test('an analyst sees the number of eligible sessions of a campaign without another request', async () => {
  const payload = { placement: 'checkout' };
  await t.app.inject({ method: 'POST', url: `/native/v4/offers.json?api_key=${t.publisher.key}`, payload });
  const { body } = await (await signInAs(t, 'analyst')).get(own('/campaigns/1'));
  expect(body).toMatch(/<strong>1<\/strong> of 1 sessions in the last 7 days match/);
  expect(body).not.toContain('/campaigns/estimate');
  expect((await admin.get(own('/campaigns/1?edit=targeting'))).body).toContain(
    `hx-post="${own('/campaigns/estimate?edit=targeting')}"`,
  );
});

test("the search finds pages by task, in the reader's language and within their role", async () => {
  const analyst = await signInAs(t, 'analyst');
  const searchFor = async (user: TestUser, text: string, language = 'en') =>
    (await user.get(own(`/find?q=${encodeURIComponent(text)}`), { 'accept-language': language })).body;
  const desk = own('/settings/privacy');
  for (const [text, language] of [
    ['erase', 'en'],
    ['GDPR', 'en'],
    ['löschen', 'de'],
  ] as const)
    expect([text, (await searchFor(admin, text, language)).includes(`"${desk}"`)]).toEqual([text, true]);
  expect(await searchFor(analyst, 'erase')).not.toContain(desk);
  expect(await searchFor(analyst, 'redeliver')).toContain(`"${own('/deliveries')}"`);
});

test('an empty list of deliveries has no redelivery button', async () => {
  const { body } = await admin.get(own('/deliveries?pub_user_id=nobody'));
  expect(body).toContain('No matches.');
  expect(body).not.toContain('Retry all matches now');
});

test('every page opens for an admin', async () => {
  await admin.post(own('/reports/saved'), { name: 'Weekly', query: '?range=last-week' });
  const { rows } = await t.pool.query('select id from saved_reports');
  await admin.post(own('/audiences'), { key: 'guests', name: 'Guests' });
  const condition = { metric: 'clicks', comparison: 'below', threshold: '1', window_hours: '24' };
  const alert = await admin.post(own('/metric-alerts'), { name: 'No clicks', ...condition });
  expect(alert.headers.location).toMatch(/\/metric-alerts\/1$/);
  await t.pool.query(
    `insert into alerts (id, publisher_id, kind, subject, cause, data, raised_at) overriding system value
    values (1, $1, 'placement.fill_rate', 'checkout', '1', $2, now())`,
    [t.publisher.id, { placement: 'checkout', now: 0.2, before: 0.8, hours: 6, currency: null, until: new Date() }],
  );
  await admin.post(own('/settings/roles'), { name: 'Support', permissions: 'offers/management' });
  const experiment = { url: '/manage/v1/experiments', payload: { key: 'hold-out', holdout: 0.1 } };
  await t.app.inject({ method: 'POST', ...experiment, headers: { authorization: `Bearer ${t.publisher.key}` } });
  await t.pool.query(
    `insert into drafts (id, publisher_id, campaign_id, resource, row_id, subject, changes, base, note, state,
      proposer_kind, proposer_id, proposed_by, created_at, updated_at) overriding system value
    select 1, publisher_id, campaign_id, 'offers', id, title, '{"title": "Other"}',
      jsonb_build_object('title', title), '',
      'waiting', 'user', 0, 'ann@advertiser.example', now(), now()
    from offers where id = 1`,
  );
  await t.pool.query("insert into draft_pictures (draft_id, bytes, type) values (1, '\\x00', 'png')");
  const { sessionId } = await fetchOffers(t);
  for (const { path } of publisherRoutes().filter(
    ({ method, path }) => method === 'GET' && !path.endsWith('/stream') && !path.includes('/deliveries/'),
  )) {
    const url = path
      .replace(':publisherId', String(t.publisher.id))
      .replace('saved/:key', `saved/${rows[0].id}`)
      .replace('webhooks/:endpoint', 'webhooks/usp.selection')
      .replace('event-types/:event', 'event-types/usp.selection')
      .replace('placements/:key', 'placements/checkout')
      .replace('audiences/:key', 'audiences/guests')
      .replace('experiments/:key', 'experiments/hold-out')
      .replace('story/:id', `story/${sessionId}`)
      .replaceAll(/:\w+/g, '1');
    const { statusCode } = await admin.get(url);
    expect([200, 303], `${url} ${statusCode}`).toContain(statusCode);
  }
});

describe('the catalogue', () => {
  const location = async (path: string, fields: Record<string, string>): Promise<string> => {
    const answer = await admin.post(own(path), fields);
    expect(answer.statusCode, answer.body.match(/class="field-error"[^<]*<|<li>.*?<\/li>/g)?.join()).toBe(303);
    return String(answer.headers.location);
  };

  test('a new advertiser, campaign with rules and offer are served at once', async () => {
    const advertiserId = /\d+$/.exec(await location('/advertisers', { name: 'Larkspur <b>& Sons' }))?.[0] ?? '';
    const campaign = await location('/campaigns', {
      advertiser_id: advertiserId,
      name: 'Autumn',
      landing_url: 'https://larkspur.example/',
      payout_amount: '0.25',
      payout_currency: 'eur',
      payout_kind: 'cpc',
    });
    const campaignId = /campaign_id=(\d+)/.exec(campaign)?.[1] ?? '';
    const storedRules = async () =>
      JSON.stringify((await t.pool.query('select rules from campaigns where id = $1', [campaignId])).rows[0].rules);
    await location(`/campaigns/${campaignId}?edit=targeting`, {
      'rules.targeting.countries.include': 'us, de',
      _stored: await storedRules(),
    });
    await location(`/campaigns/${campaignId}?edit=users`, {
      'rules.frequency_caps.0.limit': '3',
      'rules.frequency_caps.0.event': 'impression',
      'rules.frequency_caps.0.window_minutes': '1',
      'rules.frequency_caps.0.window_unit': 'day',
      'rules.frequency_caps.0.scope': 'campaign',
      'rules.without_identity': 'serve',
      'rules.conditions.groups.0.rows.0.key': 'cart',
      'rules.conditions.groups.0.rows.0.op': 'exists',
      _stored: await storedRules(),
    });
    await location('/offers', {
      campaign_id: campaignId,
      title: 'Ten off',
      cta_yes: 'Yes',
      active: 'on',
      weight: '100',
    });
    const fetched = await t.app.inject({
      method: 'POST',
      url: `/native/v4/offers.json?api_key=${t.publisher.key}&campaignId=${campaignId}`,
      payload: { placement: 'checkout', country: 'DE', cart: '1' },
    });
    expect(fetched.json().data.offers).toMatchObject([{ title: 'Ten off', advertiser_name: 'Larkspur <b>& Sons' }]);
    const page = async (section: string) => (await admin.get(own(`/campaigns/${campaignId}?edit=${section}`))).body;
    expect(await page('targeting')).toMatch(/value="us, de"/i);
    expect(await page('users')).toMatch(/name="rules.frequency_caps.0.limit" value="3"/);
    const audit = await t.pool.query(
      "select actor_kind, actor_label from audit_log where resource = 'campaigns' and resource_id = $1",
      [campaignId],
    );
    const byAdmin = { actor_kind: 'user', actor_label: expect.stringContaining('admin-') };
    expect(audit.rows).toMatchObject([byAdmin, byAdmin, byAdmin]);
  });

  test('errors are shown next to their fields, and entered values are kept', async () => {
    const answer = await admin.post(own('/offers'), {
      campaign_id: '1',
      title: 'x'.repeat(91),
      cta_yes: '"><i>',
      weight: 'much',
      adv_pixel_url: 'ftp://x',
    });
    expect(answer.statusCode).toBe(422);
    expect(answer.body).toContain(`value="${'x'.repeat(91)}"`);
    expect(answer.body).toContain('value="&quot;&gt;&lt;i&gt;"');
    for (const field of ['title', 'weight', 'adv_pixel_url'])
      expect(answer.body, field).toMatch(new RegExp(`id="f-${field}-error">\\S`));
    expect(answer.body).toContain('value="much"');
  });

  test('a new offer without a headline is not saved, because users would see an empty offer', async () => {
    const answer = await admin.post(own('/offers'), { campaign_id: '1', title: ' ', cta_yes: 'Yes', weight: '100' });
    expect(answer.statusCode).toBe(422);
    expect(answer.body).toMatch(/id="f-title-error">The value must not be empty/);
  });

  test('the second of two users who save the same offer gets 409 with the differences', async () => {
    const page = await admin.get(own('/offers/1'));
    const version = /name="_version" value="([^"]+)"/.exec(page.body)?.[1]?.replaceAll('&quot;', '"') ?? '';
    const fields = { weight: '100', active: 'on', wallet_enabled: 'on', offerwall_enabled: 'on', _version: version };
    expect((await operator.post(own('/offers/1'), { ...fields, title: 'Theirs' })).statusCode).toBe(303);
    const second = await admin.post(own('/offers/1'), { ...fields, title: 'Mine' });
    expect(second.statusCode).toBe(409);
    expect(second.body).toContain('This has changed since you opened the page');
    expect(second.body).toMatch(/<td[^>]*>Headline<\/td><td[^>]*>Theirs<\/td><td[^>]*>Mine<\/td>/);
    expect(second.body).toMatch(/name="title"[^>]* value="Mine"/);
    const newVersion = /name="_version" value="([^"]+)"/.exec(second.body)?.[1]?.replaceAll('&quot;', '"') ?? '';
    expect((await admin.post(own('/offers/1'), { ...fields, _version: newVersion, title: 'Mine' })).statusCode).toBe(
      303,
    );
  });

  test('a stored choice stays selected even if it is not in the list', async () => {
    await t.pool.query(
      `insert into advertisers (publisher_id, name) select $1, 'A' || n from generate_series(1, 120) n`,
      [t.publisher.id],
    );
    const { rows } = await t.pool.query<{ id: number }>(
      `insert into advertisers (publisher_id, name) values ($1, 'Zzz') returning id`,
      [t.publisher.id],
    );
    await t.pool.query('update campaigns set advertiser_id = $1 where id = 2', [rows[0]?.id]);
    expect((await admin.get(own('/campaigns/2?edit=basics'))).body).toContain(
      `<option value="${rows[0]?.id}" selected>Zzz</option>`,
    );
  });

  test('campaigns and offers are duplicated with their images, and the copies are paused', async () => {
    const idIn = (answer: { headers: Record<string, unknown> }) =>
      Number(/(\d+)$/.exec(String(answer.headers.location))?.[1]);
    const image = async (offer: number) =>
      (
        await t.pool.query(
          `select encode(sha256, 'hex') as sha256 from creative_images i join creatives c on c.id = i.creative_id
          where c.offer_id = $1 order by c.id`,
          [offer],
        )
      ).rows;
    const offer = idIn(await admin.post(own('/offers/1/duplicate')));
    expect((await image(offer)).length).toBeGreaterThan(0);
    expect(await image(offer)).toEqual(await image(1));
    const { offers } = t.deps.catalog.current();
    const { copy } = offers.get(1) ?? {};
    expect(offers.get(offer)).toMatchObject({ active: false, copy: { ...copy, title: `${copy?.title} (copy)` } });
    const campaign = idIn(await admin.post(own('/campaigns/3/duplicate')));
    const of = (id: number) =>
      [...t.deps.catalog.current().offers.values()].filter((candidate) => candidate.campaign.id === id);
    expect(of(campaign).map(({ copy }) => copy)).toEqual(of(3).map(({ copy }) => copy));
    expect(of(campaign)[0]?.campaign).toMatchObject({
      active: false,
      name: `${of(3)[0]?.campaign.name} (copy)`,
      rules: of(3)[0]?.campaign.rules,
    });
    await admin.post(own(`/campaigns/${campaign}/remove`));
    await admin.post(own(`/offers/${offer}/remove`));
  });

  test.each([
    ['without a boundary', 'multipart/form-data', 'x'],
    ['that is truncated', 'multipart/form-data; boundary=b', '--b\r\ncontent-disposition: form-data; name="title"'],
  ])('400: rejects a multipart form %s', async (_what, type, payload) => {
    const headers = { cookie: admin.cookie, origin, 'content-type': type };
    const answer = await t.app.inject({ method: 'POST', url: own('/offers/1/pictures'), headers, payload });
    expect(answer.statusCode, answer.body).toBe(400);
  });

  test('selected campaigns are paused, activated, tagged or removed together, or not at all', async () => {
    const bulk = (keys: string[], action: string, fields: Record<string, string> = {}) =>
      t.app.inject({
        method: 'POST',
        url: own('/campaigns/bulk'),
        headers: { origin, cookie: admin.cookie, 'content-type': 'application/x-www-form-urlencoded' },
        payload: new URLSearchParams([
          ['_csrf', csrfIn(list)],
          ['action', action],
          ...keys.map((key): [string, string] => ['key', key]),
          ...Object.entries(fields),
        ]).toString(),
      });
    const list = (await admin.get(own('/campaigns'))).body;
    const stored = async () =>
      (await t.pool.query('select active, tags, deleted_at is not null as gone from campaigns where id in (1, 2)'))
        .rows;
    const before = await stored();
    await bulk(['1', '2'], 'pause');
    expect(await stored()).toMatchObject([{ active: false }, { active: false }]);
    await bulk(['1', '2'], 'activate');
    await bulk(['1', '2'], 'tag', { typed: 'autumn' });
    expect((await stored()).every(({ tags }) => tags.includes('autumn'))).toBe(true);
    expect((await bulk(['1', '999999'], 'pause')).statusCode).toBe(404);
    await bulk(['1', '2'], 'tag', { typed: '' });
    expect(await stored()).toMatchObject([{ active: true }, { active: true }]);
    await bulk(['1', '2'], 'remove');
    expect(await stored()).toMatchObject([{ gone: true }, { gone: true }]);
    expect((await admin.get(own('/campaigns/removed'))).body).toContain(own('/campaigns/2/restore'));
    for (const id of [1, 2]) expect((await admin.post(own(`/campaigns/${id}/restore`))).statusCode).toBe(303);
    expect((await stored()).map(({ gone }) => gone)).toEqual(before.map(() => false));
  });

  test('an offer is paused and resumed', async () => {
    await admin.post(own('/offers/2/active'), { active: 'no' });
    expect(t.deps.catalog.current().offers.get(2)?.active).toBe(false);
    await admin.post(own('/offers/2/active'), { active: 'yes' });
    expect(t.deps.catalog.current().offers.get(2)?.active).toBe(true);
  });
});

describe('sequence rules', () => {
  const rule = { effect: 'allow', placement: '', weight: '100', active: 'on' };
  const fetchOfferIds = async (): Promise<number[]> => {
    const url = '/native/v4/offers.json?api_key=demo-key';
    const fetched = await t.app.inject({ method: 'POST', url, payload: { placement: 'checkout' } });
    return fetched.json().data.offers.map(({ id }: { id: number }) => id);
  };

  test('a rule reserves a position for its offers, is listed, and can be changed', async () => {
    const last = (await fetchOfferIds()).at(-1);
    const created = await admin.post(own('/settings/sequence-rules'), {
      ...rule,
      'match.offers': String(last),
      positions: '1',
    });
    expect(created.statusCode, created.body).toBe(303);
    const path = String(created.headers.location);
    expect((await fetchOfferIds())[0]).toBe(last);
    expect((await admin.get(own('/settings/sequence-rules'))).body).toMatch(
      /Show only<\/span> offer \d+<\/td><td[^>]*>all<\/td><td[^>]*>1<\/td>/,
    );
    expect((await admin.get(path)).body).toMatch(new RegExp(`name="match.offers"[^>]* value="${last}"`));
    const changes = { 'match.offers': '', 'match.categories': 'Food, Drink' };
    expect((await admin.post(path, { ...rule, ...changes })).statusCode).toBe(303);
    expect(
      (await t.pool.query('select positions, match from sequence_rules where id = $1', [path.split('/').at(-1)])).rows,
    ).toEqual([{ positions: null, match: { categories: ['Food', 'Drink'] } }]);
    expect((await admin.post(`${path}/remove`)).statusCode).toBe(303);
  });

  test('errors are shown next to their fields', async () => {
    const answer = await admin.post(own('/settings/sequence-rules'), {
      ...rule,
      'match.offers': '5, five',
      weight: 'much',
    });
    expect(answer.statusCode).toBe(422);
    expect(answer.body).toContain('value="5, five"');
    for (const field of ['match-offers', 'weight'])
      expect(answer.body, field).toMatch(new RegExp(`id="f-${field}-error">\\S`));
    const empty = await admin.post(own('/settings/sequence-rules'), rule);
    expect(empty.body).toContain('Enter at least one offer');
  });
});

test('a publisher without users has no empty user table', async () => {
  const created = await operator.post('/dashboard/operator/publishers', publisherFields('Nobody yet'));
  const id = /\/p\/(\d+)\//.exec(String(created.headers.location))?.[1];
  const { body } = await operator.get(`/dashboard/p/${id}/settings/users`);
  expect(body).toContain('Invite user');
  expect(body).not.toContain('<table');
});

describe('the publishers of a campaign', () => {
  const path = '/dashboard/p/1/campaigns/3/publishers';
  const form = {
    active: 'on',
    payout_amount: '2.5',
    priority: '',
    'frequency_caps.0.limit': '1',
    'frequency_caps.0.event': 'impression',
  };
  const provisions = async () =>
    (await t.pool.query('select * from campaign_publishers where campaign_id = 3 and publisher_id = $1', [otherId]))
      .rows;

  test('are set by operators with overrides and removed, and the form shows stored values', async () => {
    const caps = {
      'frequency_caps.0.window_minutes': '24',
      'frequency_caps.0.window_unit': 'hour',
      'frequency_caps.0.scope': 'campaign',
    };
    const saved = await operator.post(path, { ...form, ...caps, publisher_id: String(otherId) });
    expect(saved.statusCode, saved.body).toBe(303);
    expect(await provisions()).toMatchObject([
      {
        active: true,
        priority: null,
        frequency_caps: [{ scope: 'campaign', event: 'impression', limit: 1, window_minutes: 1440 }],
        total_caps: null,
      },
    ]);
    const { body } = await operator.get(`${path}?to=${otherId}`);
    expect(body).toMatch(/name="payout_amount"[^>]* value="2.5"/);
    expect(body).toMatch(/name="frequency_caps.0.limit" value="1"|value="1"[^>]*name="frequency_caps.0.limit"/);
    const version = /name="_version" value="([^"]+)"/.exec(body)?.[1]?.replaceAll('&quot;', '"') ?? '';
    const ended = { payout_amount: '', priority: '7', publisher_id: String(otherId), _version: version };
    expect((await operator.post(path, ended)).statusCode).toBe(303);
    expect(await provisions()).toMatchObject([
      { active: false, payout_amount: null, priority: 7, frequency_caps: null },
    ]);
    expect((await operator.post(path, { ...ended, active: 'on' })).statusCode).toBe(422);
    expect((await operator.get(path)).body).toContain('Paused');
  });

  test('can be added from the publishers that do not show the campaign yet', async () => {
    const at = '/dashboard/p/1/campaigns/4/publishers';
    const choices = async (): Promise<(string | undefined)[]> =>
      [...(await operator.get(at)).body.matchAll(/<option value="(\d+)"/g)].map(([, id]) => id);
    const before = await choices();
    expect(before).toContain(String(otherId));
    expect(before).not.toContain(String(t.publisher.id));
    const caps = { 'frequency_caps.0.scope': 'campaign', 'frequency_caps.0.window_minutes': '24' };
    const saved = { ...form, ...caps, 'frequency_caps.0.window_unit': 'hour', publisher_id: String(otherId) };
    expect((await operator.post(at, saved)).statusCode).toBe(303);
    expect(await choices()).toEqual(before.filter((id) => id !== String(otherId)));
  });

  test('show payouts in the same format as campaign lists, and an empty list of caps', async () => {
    const pageWith = async (campaignId: number, fields: string, values: unknown[]): Promise<string> => {
      await t.pool.query(
        `insert into campaign_publishers (campaign_id, publisher_id, ${fields})
        values ($1, $2, ${values.map((_, at) => `$${at + 3}`)})`,
        [campaignId, otherId, ...values],
      );
      const { body } = await operator.get(`/dashboard/p/1/campaigns/${campaignId}/publishers`, {
        'accept-language': 'de',
      });
      const row = /<tr>(?:(?!<tr>).)*>Other<.*?<\/tr>/s.exec(body)?.[0] ?? '';
      return row.replace(/<[^>]+>/g, ' ').replace(/\s+/g, ' ');
    };
    await t.pool.query("update campaigns set payout_kind = 'cps', payout_amount = 8 where id = 10");
    expect(await pageWith(10, 'payout_amount', [12.5])).toContain('12,5 % CPS');
    expect(await pageWith(2, 'payout_amount, frequency_caps', [1.5, '[]'])).toMatch(
      /1,50 \$ CPC.* Keine Häufigkeitsbegrenzung/,
    );
    const { body } = await operator.get(`/dashboard/p/1/campaigns/10/publishers?to=${otherId}`);
    expect(body).toContain('Percentage of the sale. Leave empty to use');
  });

  test('show errors next to fields, and a publisher sees only itself and cannot change anything', async () => {
    const wrong = await operator.post(path, {
      ...form,
      'frequency_caps.0.scope': 'offer',
      'frequency_caps.0.window_unit': 'lifetime',
      payout_amount: 'much',
      'frequency_caps.0.limit': '0.5',
      publisher_id: String(otherId),
    });
    expect([wrong.statusCode, wrong.body.match(/class="field-error"/g)?.length]).toEqual([422, 2]);
    expect(wrong.body).toContain('value="much"');
    const pageText = (await admin.get(path)).body;
    expect(pageText).not.toContain('>Other<');
    expect((await admin.post(path, { ...form, publisher_id: String(otherId) })).statusCode).toBe(403);
  });
});

describe('settings', () => {
  test('a key is shown once, works, and is rejected after it was revoked', async () => {
    const created = await admin.post(own('/settings/keys'), { name: 'server', permissions: 'ads/offers' });
    const key = /<code>(pk_[\w-]+)<\/code>/.exec(created.body)?.[1] ?? '';
    const call = () =>
      t.app.inject({
        method: 'POST',
        url: `/native/v4/offers.json?api_key=${key}`,
        payload: { placement: 'checkout' },
      });
    expect((await call()).statusCode).toBe(200);
    const list = await admin.get(own('/settings/keys'));
    expect(list.body).not.toContain(key);
    const revoke = [...list.body.matchAll(/action="([^"]+\/revoke)"/g)][0]?.[1] ?? '';
    await admin.post(revoke);
    expect((await call()).statusCode).toBe(401);
  });

  test('every key can be found and revoked, however many there are', async () => {
    await t.pool.query(
      `insert into api_keys (publisher_id, name, key_hash, hint, permissions)
      select $1, 'till ' || n, sha256(n::text::bytea), 'pk_', '{ads/offers}' from generate_series(1, 120) as n`,
      [t.publisher.id],
    );
    const names: string[] = [];
    for (let path: string | undefined = own('/settings/keys'); path !== undefined; ) {
      const { body } = await admin.get(path);
      names.push(...[...body.matchAll(/<strong>(till \d+)<\/strong>/g)].map(([, name = '']) => name));
      path = /rel="next" href="([^"]+)"/.exec(body)?.[1];
    }
    expect(names.sort()).toEqual(Array.from({ length: 120 }, (_, index) => `till ${index + 1}`).sort());
  });

  test('a combobox offers all names, even beyond the first hundred', async () => {
    await t.pool.query(
      `insert into advertisers (name, publisher_id)
      select 'Advertiser ' || lpad(n::text, 3, '0'), $1 from generate_series(1, 120) as n`,
      [t.publisher.id],
    );
    expect((await admin.get(own('/campaigns/new'))).body).toContain('>Advertiser 120</option>');
  });

  test('only an operator enables User Selected Perks', async () => {
    const at = (id: number) => `/dashboard/p/${id}/settings`;
    const other = await signInAs(t, 'admin', otherId);
    await other.post(at(otherId), publisherFields('Other', { usp_enabled: 'on' }));
    expect(t.deps.catalog.current().publishers.get(otherId)?.uspEnabled).toBe(false);
    await operator.post(at(otherId), publisherFields('Other', { usp_enabled: 'on' }));
    expect(t.deps.catalog.current().publishers.get(otherId)?.uspEnabled).toBe(true);
  });

  test('settings with a time zone from an earlier release can be saved', async () => {
    const setZone = 'update publishers set time_zone = $2 where id = $1';
    await t.pool.query(setZone, [t.publisher.id, 'IST']);
    const saved = await admin.post(own('/settings'), publisherFields('Shop', { time_zone: 'IST' }));
    expect(saved.statusCode).toBe(303);
    const refused = await admin.post(own('/settings'), publisherFields('Shop', { time_zone: 'BST' }));
    expect([refused.statusCode, refused.body.includes('Europe/London')]).toEqual([422, true]);
    await t.pool.query(setZone, [t.publisher.id, 'UTC']);
  });

  test('a default placement can be set and removed in the settings', async () => {
    const current = () => t.deps.catalog.current().publishers.get(t.publisher.id)?.defaultPlacement;
    for (const [typedName, storedName] of [
      ['Order Receipt', 'order-receipt'],
      ['', null],
    ] as const) {
      const saved = await admin.post(own('/settings'), publisherFields('Shop', { default_placement: typedName }));
      expect([saved.statusCode, current()]).toEqual([303, storedName]);
      const page = (await admin.get(own('/settings'))).body;
      const field = /<input[^>]*name="default_placement"[^>]*>/.exec(page)?.[0];
      expect(field).toContain(`value="${storedName ?? ''}"`);
    }
    const german = await admin.get(own('/settings'), { 'accept-language': 'de' });
    expect(german.body).toContain('Standard-Anzeigenplatz');
  });

  test('a theme stores only overrides, and rejects User Selected Perks on a single offer unit', async () => {
    const created = await admin.post(own('/settings/themes'), {
      name: 'Plain',
      unit: 'mou',
      usp_enabled: 'on',
      'styles.header.text': 'Hello',
      'settings.delay': '0',
      'settings.show_close': 'on',
      'settings.darken_bg': 'on',
      'styles.popup.showImage': 'on',
      rest: '{"styles":{"popup":{"shadow":"none"}}}',
    });
    const id = Number(/\d+$/.exec(String(created.headers.location))?.[0]);
    expect(t.deps.catalog.current().publishers.get(t.publisher.id)?.themes.get(id)).toMatchObject({
      uspEnabled: true,
      settings: {},
      styles: { header: { text: 'Hello' }, popup: { shadow: 'none' } },
    });
    const refused = await admin.post(own('/settings/themes'), { name: 'Single', unit: 'sou', usp_enabled: 'on' });
    expect(refused.statusCode).toBe(422);
    expect(refused.body).toContain('multi-offer unit');
  });

  test("a theme's key is shown, can be edited, and has its errors at the field", async () => {
    const path = own('/settings/themes');
    const created = await admin.post(path, { name: 'Evening', key: 'Evening Look', unit: 'sou' });
    const page = String(created.headers.location).replace(/\?.*/, '');
    expect((await admin.get(path)).body).toContain('<code>evening-look</code>');
    expect((await admin.get(page)).body).toMatch(/name="key"[^>]*value="evening-look"/);
    const changed = await admin.post(page, { name: 'Evening', key: 'dusk', unit: 'sou' });
    expect(changed.statusCode).toBe(303);
    for (const [key, text] of [
      ['77', 'The key must not be a number'],
      ['perks-grid', 'This value is already in use'],
    ] as const) {
      const refused = await admin.post(page, { name: 'Evening', key, unit: 'sou' });
      expect(refused.statusCode).toBe(422);
      expect(refused.body).toMatch(new RegExp(`id="[^"]*key-error">${text}`));
    }
  });

  test('a webhook endpoint is saved with its secret shown once, tested, paused and resumed', async () => {
    const path = own('/settings/webhooks/usp.selection');
    const fields = {
      url: 'http://127.0.0.1:9/hook',
      method: 'POST',
      enabled: 'on',
      deadline_s: '5',
      max_in_flight: '4',
    };
    const created = await admin.post(path, fields);
    expect(created.body).toMatch(/<code>whsec_[\w+/=]+<\/code>/);
    expect((await admin.get(path)).body).not.toContain('whsec_');
    const tested = await admin.post(`${path}/test`, fields);
    expect(tested.body).toContain('Test failed.');
    expect((await admin.post(path, { ...fields, url: 'http://10.0.0.1/' })).statusCode).toBe(422);
    expect((await admin.post(path, { ...fields, deadline_s: '1.005' })).statusCode).toBe(303);
    await admin.post(`${path}/pause`);
    expect((await admin.get(path)).body).toContain('>paused<');
    await admin.post(`${path}/resume`);
    expect((await admin.get(path)).body).toContain('>active<');
  });

  test('several endpoints are added, listed, changed, used to filter deliveries, and removed', async () => {
    const list = own('/settings/webhooks/all');
    const filter = '{"key":"body.selected","op":"equals","value":1}';
    const fields = {
      url: 'http://127.0.0.1:9/warehouse',
      method: 'POST',
      enabled: 'on',
      deadline_s: '5',
      max_in_flight: '4',
      events: 'conversion',
      description: 'Warehouse',
      filter,
    };
    for (const [field, text] of [
      [{ events: '' }, 'Unknown event type'],
      [{ filter: '{' }, 'The filter must be valid JSON'],
    ] as const) {
      const refused = await admin.post(own('/settings/webhooks/new'), { ...fields, ...field });
      expect([refused.statusCode, refused.body]).toEqual([422, expect.stringContaining(text)]);
    }
    const created = await admin.post(own('/settings/webhooks/new'), fields);
    expect(created.body).toMatch(/<code>whsec_[\w+/=]+<\/code>/);
    const id = /settings\/webhooks\/(\d+)/.exec((await admin.get(list)).body)?.[1];
    const page = own(`/settings/webhooks/${id}`);
    expect((await admin.get(page)).body).toMatch(/value="conversion" checked/);
    const more = { events: 'usp.selection', description: 'Lake', headers: 'X-Team: perks\nx-key: s3cret:1' };
    const changed = await admin.post(page, { ...fields, ...more, retry_steps_s: '0, 60 600' });
    expect(changed.statusCode).toBe(303);
    const savedFields = { ...fields, ...more, headers: 'x-key:', retry_steps_s: '0 60' };
    expect((await admin.post(page, savedFields)).statusCode).toBe(303);
    const stored = await t.pool.query('select headers, retry_steps_s from webhook_endpoints where id = $1', [id]);
    expect(openHeaders(t.deps.secretBox, stored.rows[0]?.headers)).toEqual({ 'x-key': 's3cret:1' });
    expect(stored.rows[0]?.retry_steps_s).toEqual([0, 60]);
    const pageText = (await admin.get(page)).body;
    expect(pageText).toContain('x-key:</textarea>');
    expect(pageText).not.toContain('s3cret');
    expect(pageText).toContain('Sample payload: ');
    for (const [field, value, text] of [
      ['headers', 'host: evil', 'host: This header name is invalid or reserved'],
      ['headers', 'nonsense', 'must be in the format'],
      ['retry_steps_s', '5 60', 'The first delay must be 0'],
      ['retry_steps_s', '0 soon', 'whole numbers'],
    ] as const) {
      const refused = await admin.post(page, { ...fields, ...more, [field]: value });
      expect([refused.statusCode, refused.body]).toEqual([422, expect.stringContaining(text)]);
    }
    expect((await admin.get(list)).body).toMatch(/Lake.*127\.0\.0\.1:9\/warehouse.*usp\.selection/s);
    expect((await admin.get(own(`/deliveries?endpoint=${id}`))).body).toContain(`Lake (${id})`);
    const payload = () => Buffer.from('{"body":{"selected":1,"note":"it\'s"}}');
    const event = { publisherId: t.publisher.id, event: 'usp.selection', sessionId: null, pubUserId: null, dev: false };
    const made2 = await transaction(t.pool, (executor) =>
      enqueue(executor, [{ ...event, payload, nowMs: t.deps.now() }]),
    );
    const { rows } = await t.pool.query('select id from deliveries where id = any($1) and endpoint_id = $2', [
      made2,
      id,
    ]);
    const delivery = own(`/deliveries/${rows[0]?.id}`);
    expect((await admin.get(delivery)).body).toContain(`href="${page}"`);
    expect((await admin.post(`${delivery}/replay`)).statusCode).toBe(303);
    expect((await admin.post(`${page}/pause`)).headers['set-cookie']).toBeDefined();
    expect((await admin.get(page)).body).toMatch(/Paused since .*resume the endpoint: 1 delivery\./s);
    await admin.post(`${page}/remove`);
    expect((await admin.get(page)).statusCode).toBe(404);
    const { body } = await admin.get(delivery);
    expect(body).toMatch(/Lake\s+<span class="badge bad">removed/);
    expect(body).not.toContain(`href="${page}"`);
  });
});

test('the explanation of a decision names the rule that excluded the offer', async () => {
  await admin.post(own('/offers/3/active'), { active: 'no' });
  expect((await admin.get(own('/why?user=a%00b'))).statusCode).toBe(200);
  const why = await admin.get(own('/why?offer=3&placement=checkout&country=US'));
  expect(why.body).toMatch(/Not shown.*paused/is);
  await admin.post(own('/offers/3/active'), { active: 'yes' });
});

test('the system page shows processes, queue and partitions to operators only', async () => {
  const heartbeat = await startTestJobs(t, 'heartbeat');
  await expect.poll(async () => (await operator.get('/dashboard/operator/system')).body.includes('4242')).toBe(true);
  const { body } = await operator.get('/dashboard/operator/system');
  expect(body).toContain('<code>sessions</code>');
  expect(body).toContain('>Running<');
  expect((await admin.get('/dashboard/operator/system')).statusCode).toBe(403);
  await heartbeat.stop();
  expect((await operator.get('/dashboard/operator/system')).body).not.toContain('4242');
});

test('the dashboard is in the language that the user has set, or else in that of the browser', async () => {
  const reader = await signInAs(t, 'admin');
  const account = (language: string) => reader.get('/dashboard/account', { 'accept-language': language });
  const german = await account('fr, de-AT;q=0.9, en;q=0.5');
  expect(german.body).toContain('<html lang="de" data-locale="de-AT"');
  expect(german.body).toContain('Passwort ändern');
  expect(String(german.headers.vary)).toContain('accept-language');
  expect((await account('fr')).body).toContain('<html lang="en" data-locale="en-GB"');
  await reader.post('/dashboard/account/language', { language: 'de' });
  expect((await account('en-US')).body).toContain('<html lang="de" data-locale="de-DE"');
  const refused = await reader.post('/dashboard/account/password', { current: 'x', password: 'short', again: 'short' });
  expect(refused.body).toContain('Verwenden Sie mindestens 10 Zeichen.');
  const advertiser = await reader.post(`/dashboard/p/${t.publisher.id}/advertisers`, { name: 'x'.repeat(2000) });
  expect(advertiser.statusCode).toBe(422);
  expect(advertiser.body).toMatch(/Der Text darf höchstens [\d.]+ Zeichen lang sein, hat aber 2\.000\./);
  await reader.post('/dashboard/account/language', { language: '' });
  expect((await account('en-US')).body).toContain('<html lang="en" data-locale="en-US"');
});
