import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readApiDescription } from '../support/api-description.ts';
import { createTestApp, type TestApp } from '../support/test-app.ts';
import { addTenant, callAs, type Tenant, unknownIds } from './tenant.ts';

const description = readApiDescription<{ paths: Record<string, Record<string, unknown>> }>();
const operations = Object.entries(description.paths).flatMap(([path, methods]) =>
  Object.keys(methods).map((method) => ({ method, path, name: `${method} ${path}` })),
);

/**
 * Routes without an authenticated caller. Their data is public, identified by a signed token, an unguessable click ID
 * or a public SDK ID, or signed by an advertiser.
 */
const open = new RegExp(
  [
    '^(get|post) /(health/|sdk/v2/|event/|sdk/offer-click|track|wallet/v1/save|images/|privacy/',
    'webhooks/v1/payload|offerwall|coupons/v1/)',
  ].join('|'),
);

/**
 * Calls without an ID in the path, which only write or search the caller's own data. IDs in their bodies are tested
 * below.
 */
const ownOnly = new Set([
  'post /native/v1/offers.json',
  'post /native/v2/offers.json',
  'post /native/v4/offers.json',
  'post /native/v4/any.json',
  'post /native/v4/offerwall.json',
  'post /native/v4/perkswall.json',
  'post /native/v2/perkswall.json',
  'post /manage/v1/publishers',
  'post /manage/v1/keys',
  'post /manage/v1/themes',
  'post /manage/v1/fonts',
  'post /manage/v1/placements',
  'post /manage/v1/advertisers',
  'post /manage/v1/campaigns',
  'post /manage/v1/campaigns/forecast',
  'post /manage/v1/campaigns/targeting',
  'post /manage/v1/offers',
  'post /manage/v1/creatives',
  'post /manage/v1/translations',
  'post /manage/v1/catalogue/import',
  'post /manage/v1/catalogue/apply',
  'post /manage/v1/roles',
  'post /manage/v1/sequence-rules',
  'post /manage/v1/deliveries/replay',
  'post /manage/v1/explain',
  'post /manage/v1/users',
  'post /manage/v1/alert-channels',
  'post /manage/v1/metric-alerts',
  'post /manage/v1/metric-alerts/preview',
  'post /manage/v1/audiences',
  'post /manage/v1/audiences/estimate',
  'post /manage/v1/experiments',
  'post /manage/v1/outcomes',
  'put /manage/v1/exchange-rates',
  'post /manage/v1/exchange-rates/import',
  'patch /manage/v1/perk-messages/settings',
  'post /manage/v1/perk-messages/retry',
  'post /manage/v1/perk-messages/suppressions',
  'post /manage/v1/perk-messages/suppressions/check',
  'post /manage/v1/perk-messages/suppressions/remove',
  'post /manage/v1/drafts',
  'post /manage/v1/drafts/decide',
  'put /manage/v1/sources/segment',
  'post /manage/v1/sources/segment',
  'post /manage/v1/webhook-endpoints',
  'post /manage/v1/portal-links',
  'post /manage/v1/saved-reports',
  'post /manage/v1/webhook-listeners',
  'post /manage/v1/webhook-triggers',
  'post /manage/v1/privacy/erasure',
  'post /manage/v1/privacy/export',
]);

/**
 * Whether a path identifies an endpoint by an event, which each publisher has. Their IDs are tested in
 * test/webhooks/endpoints.
 */
const byEvent = (path: string): boolean => path.startsWith('/manage/v1/webhook-endpoints/{endpoint}');

const variables = (path: string): string[] => [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name as string);

/** Returns the kind of ID that a path variable stands for. */
const idNameOf = (path: string, variable: string): string =>
  variable === 'id' || variable === 'key' ? (/\/([\w-]+)\/\{(?:id|key)\}/.exec(path)?.[1] ?? 'unknown') : variable;

const withIds = (path: string, idOf: (name: string) => string | undefined): string =>
  path.replace(/\{(\w+)\}/g, (_all, variable: string) => {
    const id = idOf(idNameOf(path, variable));
    if (id === undefined)
      throw new Error(`${path}: the tenants of this test have no ${idNameOf(path, variable)}; give them one`);
    return id;
  });

const collections = operations.filter(
  ({ method, path, name }) => method === 'get' && variables(path).length === 0 && !open.test(name),
);
const listed = collections.filter(({ path }) => !path.endsWith('/stream'));
const itemOperations = operations.filter(
  ({ path, name }) => variables(path).length > 0 && !open.test(name) && !byEvent(path),
);

let t: TestApp;
let ann: Tenant;
let bob: Tenant;
beforeAll(async () => {
  t = await createTestApp();
  ann = await addTenant(t, 'Annabel');
  bob = await addTenant(t, 'Bobbert');
});
afterAll(() => t?.close());

/**
 * Whether a call writes user data. Each publisher chooses its own user IDs, so a write that uses another publisher's ID
 * affects only the caller's user with that ID.
 */
const isOwnUser = (method: string, path: string): boolean => method !== 'get' && path.endsWith('/{pub_user_id}');

const unknownLike = (id: string | undefined): string | undefined => {
  if (id === undefined) return undefined;
  return /^\d+$/.test(id) ? unknownIds.number : /^[0-9a-f-]{36}$/.test(id) ? unknownIds.uuid : unknownIds.name;
};

const query = (path: string, { user, ids }: Tenant): string => {
  if (path.startsWith('/manage/v1/audiences/') && path.endsWith('/overlap')) return `?with=${ids.audiences}`;
  if (path.endsWith('/story')) return `?id=${ids.session_id}`;
  return /^\/(sdk|wallet)\//.test(path) ? `?pub_user_id=${user}` : '';
};

/** Returns a body that would pass every other check: the row as its owner sees it. */
async function bodyFor(method: string, path: string, owner: Tenant): Promise<object | string | undefined> {
  if (path.endsWith('/members')) return { ids: ['somebody'] };
  if (method === 'patch' && path.includes('/alert-channels/')) return { kinds: [] };
  if (path.endsWith('/members/check')) return { id: 'somebody' };
  if (path.endsWith('/import')) return 'pub_user_id\nsomebody\n';
  if (method === 'get' || method === 'delete') return undefined;
  if (path.endsWith('/session/{session_id}.json'))
    return method === 'put' ? { selected: [], unselected: [] } : { action: 'wrap' };
  if (path.endsWith('/publishers/{publisher_id}')) return { active: true };
  if (path.endsWith('/answers')) return { delivery_id: owner.ids.deliveries, attempt: 1, took_ms: 1, status: 200 };
  if (path.endsWith('/coupon-codes')) return { shared: 'SAVE10' };
  if (path.endsWith('/adopt')) return { arm: 'control' };
  if (path.endsWith('/refuse')) return { reason: 'No.' };
  if (method === 'post') return {};
  const own = await callAs(
    t,
    owner,
    'get',
    withIds(path, (name) => owner.ids[name]),
  );
  return own.json().data as object;
}

async function statusOfStream({ key }: Tenant, url: string): Promise<number> {
  const headers = { authorization: `Bearer ${key}` };
  const answer = await t.app.inject({ url, headers, payloadAsStream: true });
  answer.stream().destroy();
  return answer.statusCode;
}

const comparable = (answer: { statusCode: number; json: () => unknown; headers: Record<string, unknown> }) => {
  const { 'content-length': _length, date: _date, ...headers } = answer.headers;
  return { status: answer.statusCode, body: { ...(answer.json() as object), request_id: '' }, headers };
};

describe('the coverage of this test', () => {
  test('includes every call without an ID in its path', () => {
    const others = operations.filter(
      ({ path, method, name }) =>
        variables(path).length === 0 && method !== 'get' && !open.test(name) && !ownOnly.has(name),
    );
    expect(others.map(({ name }) => name)).toEqual([]);
    expect(itemOperations.length).toBeGreaterThan(40);
    expect(listed.length).toBeGreaterThan(10);
  });
});

describe("another publisher's id gets the same response as one that does not exist", () => {
  test.each(itemOperations)('$method $path', async ({ method, path }) => {
    for (const [caller, owner] of [
      [ann, bob],
      [bob, ann],
    ] as const) {
      const body = await bodyFor(method, path, owner);
      const foreign = await callAs(
        t,
        caller,
        method,
        withIds(path, (name) => owner.ids[name]) + query(path, owner),
        body,
      );
      const unknown = await callAs(
        t,
        caller,
        method,
        withIds(path, (name) => unknownLike(owner.ids[name])) + query(path, owner),
        body,
      );
      if (isOwnUser(method, path)) {
        expect(foreign.statusCode).toBe(unknown.statusCode);
        continue;
      }
      expect(comparable(foreign)).toEqual(comparable(unknown));
      expect(foreign.body).not.toContain(owner.marker);
      // A response for a listener that no longer exists, or never did, is rejected as late.
      expect(path.endsWith('/answers') ? [409] : [403, 404]).toContain(foreign.statusCode);
    }
  });
});

describe('lists contain nothing from another publisher', () => {
  test.each(listed)('$method $path', async ({ method, path }) => {
    for (const [caller, other] of [
      [ann, bob],
      [bob, ann],
    ] as const) {
      const answer = await callAs(t, caller, method, `${path}${query(path, caller)}`);
      expect(answer.statusCode, answer.body).toBe(200);
      expect(answer.body).not.toContain(other.marker);
      expect(answer.body).not.toContain(other.sdkId);
      const foreignUser = await callAs(t, caller, method, `${path}${query(path, other)}`);
      expect(foreignUser.body).not.toContain(other.marker.toLowerCase());
    }
  });

  test.each(collections.filter(({ path }) => path.startsWith('/manage/v1/')))(
    '$method $path for another publisher',
    async ({ method, path }) => {
      const foreign = await callAs(t, ann, method, `${path}?publisher_id=${bob.publisherId}`);
      const unknown = await callAs(t, ann, method, `${path}?publisher_id=${unknownIds.number}`);
      expect(foreign.body).not.toContain(bob.marker);
      expect(foreign.statusCode).toBe(unknown.statusCode);
    },
  );
});

describe("another publisher's id in a body or query is treated as unknown", () => {
  type Reference = [string, string, (owner: Tenant | null) => object];
  const references: Reference[] = [
    [
      'post',
      '/manage/v1/placements',
      (owner) => ({ name: 'new-page', theme_id: Number(owner?.ids.themes ?? unknownIds.number) }),
    ],
    ...['/manage/v1/campaigns', '/manage/v1/campaigns/forecast'].map(
      (path): Reference => [
        'post',
        path,
        (owner) => ({
          advertiser_id: Number(owner?.ids.advertisers ?? unknownIds.number),
          name: 'x',
          landing_url: 'https://x.example/',
        }),
      ],
    ),
    ['post', '/manage/v1/offers', (owner) => ({ campaign_id: Number(owner?.ids.campaigns ?? unknownIds.number) })],
    [
      'post',
      '/manage/v1/creatives',
      (owner) => ({
        offer_id: Number(owner?.ids.offers ?? unknownIds.number),
        type: 'png',
        width: 1,
        height: 1,
        url: 'https://x.example/a.png',
      }),
    ],
    [
      'post',
      '/native/v4/offers.json',
      (owner) => ({ placement: 'checkout', dev: '1', theme_id: Number(owner?.ids.themes ?? unknownIds.number) }),
    ],
  ];
  test.each(references)('%s %s', async (method, path, body) => {
    const foreign = await callAs(t, ann, method, path, body(bob));
    const unknown = await callAs(t, ann, method, path, body(null));
    expect(foreign.statusCode).toBe(unknown.statusCode);
    if (foreign.statusCode >= 400) expect(comparable(foreign)).toEqual(comparable(unknown));
    else expect(foreign.json().data.styles).toEqual(unknown.json().data.styles);
  });

  test('campaignId of fetch-offers', async () => {
    const answer = await callAs(t, ann, 'post', `/native/v4/offers.json?campaignId=${bob.ids.campaigns}`, {
      placement: 'checkout',
    });
    expect(answer.json().data.offers).toEqual([]);
  });
});

describe('the tested ids are valid for their owner', () => {
  const order = ['get', 'patch', 'put', 'post', 'delete'];
  const depth = ['creatives', 'offers', 'campaigns', 'advertisers', 'placements', 'themes'];
  const rank = ({ method, path }: { method: string; path: string }) =>
    order.indexOf(method) * 20 +
    depth.findIndex((name) => path.startsWith(`/manage/v1/${name}/`)) +
    (path.endsWith('}') ? 10 : 0);
  test.each([...itemOperations].sort((a, b) => rank(a) - rank(b)))('$method $path', async ({ method, path }) => {
    const body = await bodyFor(method, path, bob);
    const url = withIds(path, (name) => bob.ids[name]) + query(path, bob);
    const removed = /^\/manage\/v1\/([\w-]+)\/\{id\}\/restore$/.exec(path)?.[1];
    if (removed !== undefined)
      await t.pool.query(`update ${removed.replaceAll('-', '_')} set deleted_at = now() where id = $1`, [
        bob.ids[removed],
      ]);
    if (path.endsWith('/stream')) return expect(await statusOfStream(bob, url)).toBe(200);
    const answer = await callAs(t, bob, method, url, body);
    expect(answer.statusCode, answer.body).not.toBe(404);
    expect(answer.statusCode, answer.body).toBeLessThan(500);
  });
});
