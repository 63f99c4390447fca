import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { addCatalogue, type Caller, createManagementApp, type ManagementApp } from '../catalog/resources/support.ts';

let t: ManagementApp;
let me: Caller;
let nowMs = Date.now();
beforeAll(async () => {
  t = await createManagementApp({ now: () => nowMs });
});
afterAll(() => t?.close());
beforeEach(async () => {
  me = await t.caller(await t.addPublisher());
});

const body = { name: 'Shop server', permissions: ['ads/offers'] };
const fetchStatus = async (key: string) =>
  (
    await t.app.inject({
      method: 'POST',
      url: `/native/v4/offers.json?api_key=${key}`,
      payload: { placement: 'checkout' },
    })
  ).statusCode;

describe('an API key', () => {
  test('is shown once, works immediately, and is not stored in plain text', async () => {
    const created = await me.call('POST', '/keys', body);
    expect(created.status).toBe(201);
    const key = created.body.data.key as string;
    expect(key).toMatch(/^pk_[\w-]{32}$/);
    expect(await fetchStatus(key)).toBe(200);
    const stored = await me.call('GET', `/keys/${created.body.data.id}`);
    const { key: _shownOnce, ...rest } = created.body.data;
    expect(stored.body.data).toEqual(rest);
    expect(rest.hint).toBe(key.slice(0, 7));
    const { rows } = await t.pool.query(
      `select string_agg(to_jsonb(k)::text, '')
        || (select string_agg(to_jsonb(a)::text, '') from audit_log a)
        || coalesce((select string_agg(convert_from(response_sealed, 'latin1'), '') from idempotency_keys), '')
        as everything
      from api_keys k`,
    );
    expect(rows[0].everything).not.toContain(key.slice(7));
  });

  test('no longer works after it is revoked or has expired', async () => {
    const created = await me.call('POST', '/keys', { ...body, expires_at: new Date(nowMs + 60_000).toISOString() });
    const key = created.body.data.key as string;
    expect(await fetchStatus(key)).toBe(200);
    nowMs += 61_000;
    expect(await fetchStatus(key)).toBe(401);
    const other = await me.call('POST', '/keys', body);
    expect((await me.call('DELETE', `/keys/${other.body.data.id}`)).status).toBe(204);
    expect(await fetchStatus(other.body.data.key as string)).toBe(401);
    expect((await me.call('GET', `/keys/${other.body.data.id}`)).status).toBe(404);
    expect((await me.call('GET', '/keys?removed=true')).body.data).toEqual([
      expect.objectContaining({ id: other.body.data.id, revoked_at: expect.any(String) }),
    ]);
  });

  test('400: cannot outlive the key that creates or changes it, and the error states the latest expiry', async () => {
    const endMs = nowMs + 3_600_000;
    const end = new Date(endMs).toISOString();
    const created = await me.call('POST', '/keys', { name: 'Short', permissions: ['configurations'], expires_at: end });
    const short = (method: 'POST' | 'PATCH', path: string, payload: object) =>
      t.app.inject({
        method,
        url: `/manage/v1${path}`,
        headers: { authorization: `Bearer ${created.body.data.key}` },
        payload,
      });
    const own = { name: 'Own', permissions: ['configurations'] };
    for (const expires_at of [null, new Date(endMs + 1000).toISOString()]) {
      const answer = await short('POST', '/keys', { ...own, expires_at });
      expect(answer.statusCode).toBe(400);
      expect(answer.json().error.details).toEqual([
        {
          path: '/expires_at',
          message: `The key must expire by ${end}, because it cannot outlive the key that creates it.`,
        },
      ]);
    }
    expect((await short('POST', '/keys', own)).statusCode).toBe(400);
    expect((await short('PATCH', `/keys/${created.body.data.id}`, { expires_at: null })).statusCode).toBe(400);
    expect((await short('POST', '/keys', { ...own, expires_at: end })).statusCode).toBe(201);
  });

  test('400: cannot raise its own rate limit or create a key with a higher one', async () => {
    const rates = { rate_limit_per_s: 100 };
    const created = await me.call('POST', '/keys', { name: 'Slow', permissions: ['configurations'], ...rates });
    const free = await me.call('POST', '/keys', { name: 'Free', permissions: ['configurations'] });
    const slow = async (method: 'POST' | 'PATCH' | 'PUT', path: string, payload: object) => {
      const headers = { authorization: `Bearer ${created.body.data.key}` };
      const answer = await t.app.inject({ method, url: `/manage/v1${path}`, headers, payload });
      return [answer.statusCode, answer.json().error?.details?.[0]?.path];
    };
    const [own, other] = [`/keys/${created.body.data.id}`, `/keys/${free.body.data.id}`];
    const fields = { name: 'Slow', permissions: ['configurations'] };
    for (const rate_limit_per_s of [null, 101]) {
      const refused = [400, '/rate_limit_per_s'];
      expect(await slow('PATCH', own, { rate_limit_per_s })).toEqual(refused);
      expect(await slow('PUT', own, { ...fields, rate_limit_per_s })).toEqual(refused);
      expect(await slow('POST', '/keys', { ...fields, rate_limit_per_s })).toEqual(refused);
    }
    expect(await slow('PUT', own, fields)).toEqual([400, '/rate_limit_per_s']);
    expect(await slow('POST', '/keys', { ...fields, rate_limit_per_s: 100 })).toEqual([201, undefined]);
    expect(await slow('PATCH', other, { name: 'Still free' })).toEqual([200, undefined]);
    expect(await slow('PATCH', own, { rate_limit_per_s: 99 })).toEqual([200, undefined]);
    expect((await me.call('PATCH', own, { rate_limit_per_s: null })).status).toBe(200);
  });

  test('429: shares its rate limit with all keys derived from it, even after it is revoked', async () => {
    const fields = { permissions: ['configurations', 'ads/offers'], rate_limit_per_s: 4 };
    const created = await me.call('POST', '/keys', { name: 'First', ...fields });
    const makeWith = async (key: string, name: string) => {
      const headers = { authorization: `Bearer ${key}` };
      const answer = await t.app.inject({
        method: 'POST',
        url: '/manage/v1/keys',
        headers,
        payload: { name, ...fields },
      });
      return answer.json().data as { id: number; key: string; limited_by_keys: number[] };
    };
    const first = created.body.data as { id: number; key: string; limited_by_keys: number[] };
    expect(first.limited_by_keys).toEqual([]);
    const second = await makeWith(first.key, 'Second');
    expect(second.limited_by_keys).toEqual([first.id]);
    const third = await makeWith(second.key, 'Third');
    expect(third.limited_by_keys).toEqual([first.id, second.id]);

    const countOk = async () => {
      nowMs += 60_000;
      const keys = [third, second, first].flatMap(({ key }) => Array.from({ length: 4 }, () => key));
      const statuses: number[] = [];
      for (const key of keys) statuses.push(await fetchStatus(key));
      return statuses.filter((status) => status === 200).length;
    };
    expect(await countOk()).toBe(4);
    expect((await me.call('DELETE', `/keys/${first.id}`)).status).toBe(204);
    expect(await countOk()).toBe(4);
  });

  test('403: never has more permissions than the key that created it, even after changes', async () => {
    const weak = await t.caller(me.publisherId, ['configurations']);
    expect((await weak.call('POST', '/keys', body)).status).toBe(403);
    expect((await me.call('POST', '/keys', { ...body, permissions: ['accounts'] })).status).toBe(403);
    const own = await weak.call('POST', '/keys', { ...body, permissions: ['configurations'] });
    expect(own.status).toBe(201);
    expect((await weak.call('PATCH', `/keys/${own.body.data.id}`, { permissions: ['accounts'] })).status).toBe(403);
    const strong = await me.call('POST', '/keys', body);
    expect((await weak.call('PATCH', `/keys/${strong.body.data.id}`, { name: 'Mine' })).status).toBe(403);
    expect((await weak.call('DELETE', `/keys/${strong.body.data.id}`)).status).toBe(403);
    expect((await t.operator.call('POST', `/keys?publisher_id=${me.publisherId}`, body)).status).toBe(201);
  });

  test.each([
    [{ permissions: [] }, '/permissions'],
    [{ permissions: ['everything'] }, '/permissions/0'],
    [{ rate_limit_per_s: 0 }, '/rate_limit_per_s'],
    [{ expires_at: 'tomorrow' }, '/expires_at'],
    [{ expires_at: '2020-01-01T00:00:00Z' }, '/expires_at'],
  ])('is rejected for the settings %j with an error at %s', async (change, path) => {
    const reply = await me.call('POST', '/keys', { ...body, ...change });
    expect(reply.status).toBe(400);
    expect(reply.body).toMatchObject({ error: { details: [{ path }] } });
  });
});

describe('Idempotency-Key', () => {
  test('creates one key for 8 concurrent calls, which all get the same response', async () => {
    const replies = await Promise.all(
      Array.from({ length: 8 }, () => me.call('POST', '/keys', body, { 'idempotency-key': 'make-1' })),
    );
    expect(new Set(replies.map(({ status }) => status))).toEqual(new Set([201]));
    expect(new Set(replies.map((reply) => reply.body.data.key)).size).toBe(1);
    const { rows } = await t.pool.query(
      'select count(*)::int as count from api_keys where publisher_id = $1 and hint <> $2',
      [me.publisherId, ''],
    );
    expect(rows[0].count).toBe(1);
  });

  test('422: cannot be reused for another request, but can be used by another publisher', async () => {
    const headers = { 'idempotency-key': 'make-2' };
    expect((await me.call('POST', '/keys', body, headers)).status).toBe(201);
    expect((await me.call('POST', '/keys', { ...body, name: 'Other' }, headers)).status).toBe(422);
    expect((await me.call('POST', '/themes', { name: 'T', unit: 'sou' }, headers)).status).toBe(422);
    const other = await t.caller(await t.addPublisher());
    expect((await other.call('POST', '/keys', { ...body, name: 'Other' }, headers)).status).toBe(201);
  });

  test('also applies to calls that restore a row or create a secret or an endpoint', async () => {
    const { advertiser, offer } = await addCatalogue(me);
    const restored = `/offers/${offer}`;
    await me.call('DELETE', restored);
    const endpoint = { url: 'http://127.0.0.1:9/hook', events: ['usp.selection'] };
    for (const [path, payload, status] of [
      [`${restored}/restore`, undefined, 200],
      [`/advertisers/${advertiser}/conversion-secret`, undefined, 201],
      ['/webhook-endpoints', endpoint, 201],
    ] as const) {
      const call = () => me.call('POST', path, payload, { 'idempotency-key': path });
      const [first, repeat] = [await call(), await call()];
      expect(first.status, path).toBe(status);
      expect(repeat).toMatchObject({ status, body: first.body });
    }
    expect((await me.call('GET', '/webhook-endpoints')).body.data).toHaveLength(1);
  });

  test('expires after a day and is not stored for a failed call', async () => {
    const headers = { 'idempotency-key': 'make-3' };
    expect((await me.call('POST', '/keys', { ...body, name: '' }, headers)).status).toBe(400);
    const first = await me.call('POST', '/keys', body, headers);
    expect(first.status).toBe(201);
    nowMs += 23 * 3_600_000;
    expect((await me.call('POST', '/keys', body, headers)).body.data.id).toBe(first.body.data.id);
    nowMs += 2 * 3_600_000;
    expect((await me.call('POST', '/keys', body, headers)).body.data.id).not.toBe(first.body.data.id);
    expect((await me.call('POST', '/keys', body, { 'idempotency-key': 'a b' })).status).toBe(400);
  });
});

describe('the audit log', () => {
  test('records the actor with old and new values, but does not identify operators', async () => {
    const theme = (await me.call('POST', '/themes', { name: 'Old', unit: 'mou' })).body.data.id;
    await me.call('PATCH', `/themes/${theme}`, { name: 'New' });
    await me.call('PATCH', `/themes/${theme}`, { name: 'New' });
    await t.operator.call('PATCH', `/themes/${theme}?publisher_id=${me.publisherId}`, { offers_per_response: 5 });
    await me.call('DELETE', `/themes/${theme}`);
    const read = async (who: Caller, query = '') =>
      (await who.call('GET', `/audit?resource=themes&resource_id=${theme}${query}`)).body.data as unknown as Record<
        string,
        unknown
      >[];
    const mine = await read(me);
    expect(mine.map(({ action }) => action)).toEqual(['remove', 'update', 'update', 'create']);
    expect(mine[2]).toMatchObject({
      actor_kind: 'key',
      actor_label: 'Test key',
      changes: { name: { old: 'Old', new: 'New' } },
    });
    expect(mine[1]).toMatchObject({
      actor_id: null,
      actor_label: 'Operator',
      changes: { offers_per_response: { old: null, new: 5 } },
    });
    const operators = await read(t.operator, `&publisher_id=${me.publisherId}`);
    expect(operators[1]).toMatchObject({ actor_id: expect.any(Number), actor_label: 'Test key' });
    expect(await read(me, `&actor_id=${operators[1]?.actor_id}`)).toEqual([]);
    const other = await t.caller(await t.addPublisher());
    expect(await read(other)).toEqual([]);
  });
});
