import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { csrfTokenOf } from '../../src/accounts/access.ts';
import { linkPath } from '../../src/accounts/sign-in/one-time-links.ts';
import { deleteOldIdempotencyKeys } from '../../src/management/idempotency.ts';
import { hourMs, minuteMs } from '../../src/platform/lib/time.ts';
import { createToken } from '../../src/platform/security/random-token.ts';
import { advertisersOf, pathOf } from '../advertisers/support.ts';
import { routesOf } from '../support/routes.ts';
import { createTwins, type TestApp } from '../support/test-app.ts';
import { errorsIn, postForm, signInAs, type TestUser } from './support.ts';

let nowMs = Date.parse('2026-05-04T10:00:00Z');
let twins: Awaited<ReturnType<typeof createTwins>>;
let t: TestApp;
let admin: TestUser;
let once: string;

beforeAll(async () => {
  twins = await createTwins(() => nowMs);
  t = twins.first;
  admin = await signInAs(t, 'admin');
});
afterAll(() => twins?.close());
beforeEach(() => {
  once = createToken();
});

const own = (path: string) => `/dashboard/p/${t.publisher.id}${path}`;
const countOf = async (table: string, name: string): Promise<number> =>
  Number((await t.pool.query(`select count(*) from ${table} where name = $1`, [name])).rows[0].count);
const storedCount = async () =>
  Number((await t.pool.query("select count(*) from idempotency_keys where key like 'form %'")).rows[0].count);

/** Submits a form to the other process. */
const postToTwin = ({ cookie }: TestUser, path: string, fields: Record<string, string>) =>
  postForm(twins.second, path, { _csrf: csrfTokenOf(cookie.split('=')[1] as string), ...fields }, { cookie });

describe('a form that is submitted twice', () => {
  test('creates one advertiser, and both responses lead to it, even at the same time on two processes', async () => {
    const fields = { name: 'Twice', _once: once };
    const answers = await Promise.all([
      admin.post(own('/advertisers'), fields),
      postToTwin(admin, own('/advertisers'), fields),
      admin.post(own('/advertisers'), fields),
    ]);
    expect(answers.map(({ statusCode }) => statusCode)).toEqual([303, 303, 303]);
    expect(new Set(answers.map(({ headers }) => headers.location)).size).toBe(1);
    expect(await countOf('advertisers', 'Twice')).toBe(1);
    const { headers } = await admin.post(own('/advertisers'), fields);
    expect(headers.location).toBe(answers[0]?.headers.location);
    expect(String(headers['set-cookie'])).toContain('perkwire_flash=done');
  });

  test('shows the new API key again, which is stored only encrypted', async () => {
    const fields = { name: 'Key twice', permissions: 'ads/offers', _once: once };
    const keyIn = (body: string) => /pk_[\w-]+(?=<)/.exec(body.slice(body.indexOf('copyable')))?.[0];
    const first = await admin.post(own('/settings/keys'), fields);
    const second = await admin.post(own('/settings/keys'), fields);
    expect(keyIn(first.body)).toMatch(/^pk_/);
    expect(keyIn(second.body)).toBe(keyIn(first.body));
    expect(await countOf('api_keys', 'Key twice')).toBe(1);
    const { rows } = await t.pool.query("select response_sealed from idempotency_keys where key like 'form %'");
    for (const { response_sealed } of rows) expect(String(response_sealed)).not.toContain(keyIn(first.body));
  });

  test('invites a user once, and shows the same link', async () => {
    const fields = { email: 'twice@example.com', role: 'analyst', _once: once };
    const linkIn = (body: string) => new RegExp(`${linkPath}[\\w-]{43}`).exec(body)?.[0];
    const first = await admin.post(own('/settings/users'), fields);
    expect(linkIn(first.body)).toBeDefined();
    const second = await admin.post(own('/settings/users'), fields);
    expect([second.statusCode, linkIn(second.body)]).toEqual([200, linkIn(first.body)]);
  });

  test('creates one webhook endpoint', async () => {
    const fields = { url: 'https://93.184.216.34/twice', events: 'usp.selection', method: 'POST', _once: once };
    const create = () => admin.post(own('/settings/webhooks/new'), { ...fields, kind: 'http', enabled: 'on' });
    const [first, second] = [await create(), await create()];
    expect([first.statusCode, second.statusCode], errorsIn(first.body).join(' ')).toEqual([200, 200]);
    expect((await t.pool.query("select from webhook_endpoints where url like '%/twice'")).rowCount).toBe(1);
  });

  test('proposes one draft of an advertiser', async () => {
    const [advertiser] = await advertisersOf(t, 1);
    if (advertiser === undefined) throw new Error('no advertiser');
    const fields = { title: 'Proposed twice', cta_yes: 'Yes', cta_no: 'No', campaign_id: String(advertiser.campaign) };
    const propose = () => advertiser.user.post(pathOf(advertiser, '/offers'), { ...fields, _once: once });
    const [first, second] = [await propose(), await propose()];
    expect(second.headers.location).toBe(first.headers.location);
    expect((await t.pool.query("select from drafts where changes ->> 'title' = 'Proposed twice'")).rowCount).toBe(1);
  });
});

describe('a form can be submitted again', () => {
  test('after it was rejected: nothing is stored, and the corrected form creates the record', async () => {
    const before = await storedCount();
    const rejected = { name: '', _once: once };
    for (const _attempt of [1, 2]) expect((await admin.post(own('/advertisers'), rejected)).statusCode).toBe(422);
    expect(await storedCount()).toBe(before);
    expect((await admin.post(own('/advertisers'), { ...rejected, name: 'Corrected' })).statusCode).toBe(303);
    expect(await countOf('advertisers', 'Corrected')).toBe(1);
  });

  test('after the user went back and changed a value, and creates another record', async () => {
    await admin.post(own('/advertisers'), { name: 'First version', _once: once });
    await admin.post(own('/advertisers'), { name: 'Second version', _once: once });
    expect([await countOf('advertisers', 'First version'), await countOf('advertisers', 'Second version')]).toEqual([
      1, 1,
    ]);
  });

  test('after an hour, when its first result is deleted', async () => {
    const fields = { name: 'Hourly', _once: once };
    await admin.post(own('/advertisers'), fields);
    nowMs += hourMs + 1;
    await admin.post(own('/advertisers'), fields);
    await deleteOldIdempotencyKeys(t.pool, nowMs);
    expect(await storedCount()).toBe(1);
    expect(await countOf('advertisers', 'Hourly')).toBe(2);
  });

  test('a minute after its process died', async () => {
    const fields = { name: 'Died', _once: once };
    const before = new Date(nowMs - minuteMs - 1);
    await admin.post(own('/advertisers'), fields);
    await t.pool.query(
      `update idempotency_keys set response_sealed = null, created_at = $1
      where key like 'form %' and created_at = (select max(created_at) from idempotency_keys)`,
      [before],
    );
    expect((await admin.post(own('/advertisers'), fields)).statusCode).toBe(303);
    expect(await countOf('advertisers', 'Died')).toBe(2);
  });
});

describe('the token of a form', () => {
  test('has no effect for another user, who gets their own record', async () => {
    const other = await signInAs(t, 'admin');
    const fields = { name: 'Same token', _once: once };
    const [mine, theirs] = [
      await admin.post(own('/advertisers'), fields),
      await other.post(own('/advertisers'), fields),
    ];
    expect(theirs.headers.location).not.toBe(mine.headers.location);
    expect(await countOf('advertisers', 'Same token')).toBe(2);
  });

  test('does not replay a page to a user who has lost the permission in the meantime', async () => {
    const former = await signInAs(t, 'admin');
    const fields = { name: 'Former', permissions: 'ads/offers', _once: once };
    expect((await former.post(own('/settings/keys'), fields)).body).toContain('pk_');
    await t.pool.query("update memberships set role = 'analyst' where user_id = $1", [former.userId]);
    const { statusCode, body } = await former.post(own('/settings/keys'), fields);
    expect([statusCode, body.includes('pk_')]).toEqual([403, false]);
  });

  test.each(['', 'short', 'x'.repeat(44), `${'x'.repeat(42)}%`])(
    'is ignored if it was forged: "%s"',
    async (forged) => {
      const before = await storedCount();
      const { statusCode } = await admin.post(own('/advertisers'), { name: `Forged ${forged}`, _once: forged });
      expect([statusCode, await storedCount()]).toEqual([303, before]);
    },
  );

  test('is not used by the buttons that add a row to a form', async () => {
    const before = await storedCount();
    const added = { name: 'Rows', _once: once, _rows: 'add rules.frequency_caps.0.limit' };
    expect((await admin.post(own('/campaigns'), added)).statusCode).toBe(200);
    expect(await storedCount()).toBe(before);
  });
});

/** Forms that change what exists, or whose repetition changes nothing. */
const otherForms = new Set([
  ...['/alerts/all/mute', '/campaigns/bulk', '/drafts/decide', '/languages/import', '/offers/1', '/offers/bulk'],
  ...['/settings', '/settings/controls', '/settings/controls#rule', '/settings/exchange-rates/import'],
  ...['/settings/perk-messages', '/settings/perk-messages/suppressions', '/settings/privacy', '/settings/sources'],
]);

test('every form that creates something has a token', async () => {
  const operator = await signInAs(t, 'operator');
  const listed = t.contributions.navigation.map(({ group, path }) =>
    group === 'operator' ? `/dashboard${path}` : own(path),
  );
  const creating = routesOf(t.app)
    .filter(({ method, path }) => method === 'GET' && path.endsWith('/new') && !path.includes('/a/'))
    .map(({ path }) => path.replace(':publisherId', String(t.publisher.id)));
  const lastStep = '/experiments/new?step=check&name=Fewer&arm1.offers_per_response=1';
  const others = [lastStep, '/offers/1', '/campaigns/1', '/offers/new?campaign_id=1', '/settings/webhooks/new'].map(
    own,
  );
  const withToken = new Set<string>();
  const without = new Set<string>();
  for (const path of [...listed, ...creating, ...others]) {
    const { body, statusCode } = await operator.get(path);
    if (statusCode !== 200) continue;
    for (const [form, attributes = ''] of body.matchAll(/<form\b([^>]*)>.*?<\/form>/gs)) {
      if (!attributes.includes('method="post"') || !/<(input(?![^>]*type="hidden")|textarea|select)/.test(form))
        continue;
      // Only the last step of the experiment wizard creates something.
      if (form.includes('name="_step" value="learn"')) continue;
      const action = (/action="([^"]*)"/.exec(attributes)?.[1] ?? '').replace(own(''), '');
      (form.includes('name="_once"') ? withToken : without).add(action);
    }
  }
  expect([...without].filter((action) => !otherForms.has(action) && !/users\/\d+$/.test(action))).toEqual([]);
  expect(withToken.size).toBeGreaterThan(15);
});
