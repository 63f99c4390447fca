import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { couponCalls } from '../coupons/support.ts';
import { createTestApp, type TestApp } from '../support/test-app.ts';
import { timeLimit } from '../support/time-limit.ts';
import { signInAs, type TestUser } from './support.ts';

let t: TestApp;
let admin: TestUser;
beforeAll(async () => {
  t = await createTestApp();
  admin = await signInAs(t, 'admin');
});
afterAll(() => t?.close());

const own = (path: string): string => `/dashboard/p/${t.publisher.id}${path}`;
const unescaped = (text: string): string =>
  text.replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&quot;', '"').replaceAll('&amp;', '&');

/** Form field with the value that a browser would submit, and another value; null if there is no other. */
type Field = { name: string; value: string | null; other: string | null };

const attributeOf = (tag: string, name: string): string =>
  unescaped(new RegExp(` ${name}="([^"]*)"`).exec(tag)?.[1] ?? '');

/** Returns a different value for a text or number field, which keeps its format. */
function changed(tag: string, value: string): string | null {
  const type = attributeOf(tag, 'type');
  if (/ (disabled|readonly)/.test(tag) || ['hidden', 'password', 'file', 'submit'].includes(type)) return null;
  if (type === 'number') {
    const next = String(Number(value || attributeOf(tag, 'min') || 1) + 1);
    return Number(next) > Number(attributeOf(tag, 'max') || Number.POSITIVE_INFINITY) ? attributeOf(tag, 'min') : next;
  }
  if (type === 'date') return '2031-02-03';
  if (type === 'datetime-local') return '2031-02-03T04:05';
  if (type === 'color') return '#123456';
  if (/^#[\da-f]{6}$/i.test(value)) return '#123456';
  if (type === 'url' || value.startsWith('https://'))
    return `https://${attributeOf(tag, 'name').replace(/\W/g, '-')}.example/`;
  return value === '' ? null : `${value} <2>`;
}

/** Returns the fields of the form with the given action. */
function fieldsOf(body: string, action: string): Field[] {
  const [, form = ''] =
    new RegExp(`<form[^>]* action="${action.replace('?', '\\?')}"[^>]*>([\\s\\S]*?)</form>`).exec(body) ?? [];
  expect(form, `no form ${action}`).not.toBe('');
  const fields = new Map<string, Field>();
  for (const [tag] of form.matchAll(/<input [^>]*>/g)) {
    const [name, type, value] = [attributeOf(tag, 'name'), attributeOf(tag, 'type'), attributeOf(tag, 'value')];
    if (name === '' || type === 'file') continue;
    const isChecked = / checked/.test(tag);
    if (type === 'checkbox') {
      const { value: earlier = null, other = null } = fields.get(name) ?? {};
      const own = value || 'on';
      fields.set(name, { name, value: earlier ?? (isChecked ? own : null), other: other ?? (isChecked ? null : own) });
    } else if (type === 'radio') {
      const earlier = fields.get(name);
      fields.set(name, {
        name,
        value: isChecked ? value : (earlier?.value ?? null),
        other: isChecked ? (earlier?.other ?? null) : value,
      });
    } else fields.set(name, { name, value, other: changed(tag, value) });
  }
  for (const [, attributes = '', options = ''] of form.matchAll(/<select([^>]*)>([\s\S]*?)<\/select>/g)) {
    const values = [...options.matchAll(/<option value="([^"]*)"([^>]*)>/g)];
    const value = unescaped((values.find(([, , rest = '']) => rest.includes('selected')) ?? values[0])?.[1] ?? '');
    const other = values.map(([, option = '']) => unescaped(option)).find((option) => option !== value) ?? null;
    fields.set(attributeOf(attributes, 'name'), { name: attributeOf(attributes, 'name'), value, other });
  }
  for (const [, attributes = '', text = ''] of form.matchAll(/<textarea([^>]*)>\n?([\s\S]*?)<\/textarea>/g)) {
    const value = unescaped(text);
    fields.set(attributeOf(attributes, 'name'), {
      name: attributeOf(attributes, 'name'),
      value,
      other: changed(attributes, value),
    });
  }
  return [...fields.values()];
}

const valuesOf = (fields: readonly Field[]): Record<string, string> =>
  Object.fromEntries(fields.flatMap(({ name, value }) => (value === null ? [] : [[name, value]])));

/**
 * Changes each field of a form alone and each pair of fields, saves, reloads and compares. Changes that the form
 * rejects with an error are not compared, because nothing is lost then.
 * @param others values to enter in fields whose text has a format, by field name
 * @param without names of fields that save nothing, or whose stored value is not shown
 * @returns the number of saved changes
 */
async function savesEach(
  page: string,
  { others = {}, without = [] }: { others?: Record<string, string>; without?: readonly string[] } = {},
): Promise<number> {
  const load = async () => fieldsOf((await admin.get(page)).body, page);
  const initial = await load();
  const changeable = initial.flatMap(({ name, other }) =>
    other === null || name.startsWith('_') || without.includes(name) ? [] : [[name, others[name] ?? other] as const],
  );
  let current = valuesOf(initial);
  let saved = 0;
  for (const [index, [name, value]] of changeable.entries())
    for (const [second, secondValue] of changeable.slice(index)) {
      const { _version: version } = current;
      const change = { [name]: value, [second]: secondValue };
      const fields = { ...valuesOf(initial), ...(version !== undefined && { _version: version }), ...change };
      const answer = await admin.post(page, { ...fields, _confirmed: 'on' });
      if (answer.statusCode === 422) continue;
      expect([answer.statusCode, change]).toEqual([303, change]);
      current = valuesOf(await load());
      expect([page, current]).toEqual([page, expect.objectContaining(change)]);
      saved += 1;
    }
  return saved;
}

/** Creates a row with the API, and returns its ID or key. */
async function create(path: string, body: object): Promise<string> {
  const headers = { authorization: `Bearer ${t.publisher.key}` };
  const answer = await t.app.inject({ method: 'POST', url: `/manage/v1${path}`, headers, payload: body });
  expect(answer.statusCode, answer.body).toBe(201);
  const { id, key } = answer.json().data;
  return String(key ?? id);
}

test('every field of the forms for settings, placements, sequence rules and audiences is saved, singly and in pairs', {
  timeout: timeLimit(180_000),
}, async () => {
  const rule = await create('/sequence-rules', { effect: 'deny', match: { tags: ['one'] } });
  const audience = await create('/audiences', {
    key: 'seen',
    name: 'Seen',
    rule: { event: 'conversion', times: 2, within_days: 30, category: 'Food', outcome: 'order' },
  });
  await create('/placements', { name: 'gift-page', display_name: 'Gifts' });
  const pages = ['', '/placements/gift-page', `/sequence-rules/${rule}`].map((path) => `/settings${path}`);
  for (const page of [...pages, `/audiences/${audience}`]) expect(await savesEach(own(page)), page).toBeGreaterThan(5);
});

describe('every field of an endpoint is saved, singly and in pairs:', () => {
  const aws = { region: 'eu-central-1', access_key_id: 'AKIA', secret_access_key: 'secret' };
  const destinations = [
    { kind: 'http' },
    { kind: 'pull' },
    { kind: 'nats', address: 'nats.example:4222', subject: 'orders', user: 'shop', password: 'secret' },
    { kind: 'kafka', brokers: 'one.example:9092', topic: 'orders', user: 'shop', password: 'secret', client_id: 'a' },
    { kind: 'sqs', queue_url: 'https://sqs.eu-central-1.amazonaws.com/1/orders', ...aws },
    { kind: 'eventbridge', bus: 'orders', ...aws },
    { kind: 's3', bucket: 'orders', prefix: 'all', ...aws },
  ];
  const others = {
    filter: JSON.stringify({ op: 'equals', key: 'body.selected', value: 2 }, null, 1),
    retry_steps_s: '0 60',
    'transformation.body': '{ "id": $.id, "<2>": 2 }',
    'transformation.headers': '{ "x-two": "2" }',
    'nats.address': 'other.example:4222',
    'nats.subject': 'perks',
    'nats.user': 'store',
    'kafka.brokers': 'two.example:9092,three.example:9092',
    'kafka.topic': 'perks',
    'kafka.user': 'store',
    'kafka.client_id': 'b',
    'sqs.queue_url': 'https://sqs.eu-central-1.amazonaws.com/1/perks',
    'eventbridge.bus': 'perks',
    's3.bucket': 'perks',
    's3.prefix': 'other',
  };
  for (const kind of ['sqs', 'eventbridge', 's3'])
    Object.assign(others, {
      [`${kind}.region`]: 'us-east-1',
      [`${kind}.access_key_id`]: 'AKIB',
      [`${kind}.service_url`]: 'https://other.example',
    });

  test.each(destinations)('$kind', { timeout: timeLimit(120_000) }, async ({ kind, ...settings }) => {
    const isHttp = kind === 'http';
    const id = await create('/webhook-endpoints', {
      ...(isHttp ? { url: 'https://shop.example/hook', method: 'POST' } : { destination: { kind, ...settings } }),
      events: ['usp.selection'],
      description: 'Orders',
      filter: { key: 'body.selected', op: 'equals', value: 1 },
      ...(kind !== 'pull' && {
        transformation: { body: '{ "id": $.id }', headers: '{ "x-one": "1" }' },
        retry_steps_s: [0, 30],
        rate_limit_per_s: 5,
      }),
    });
    const without = ['template', 'preview_of', ...(isHttp ? ['method'] : [])];
    const saved = await savesEach(own(`/settings/webhooks/${id}`), { others, without });
    expect(saved).toBeGreaterThan(kind === 'pull' ? 5 : 50);
  });
});

test('every field of a metric alert is saved, singly and in pairs', { timeout: timeLimit(120_000) }, async () => {
  const alert = { name: 'Sales', metric: 'revenue', comparison: 'above', threshold: 50, currency: 'EUR' };
  const id = await create('/metric-alerts', alert);
  const others = { metric: 'sessions', currency: 'USD', threshold: '60' };
  // The currency is saved only for revenue.
  const without = ['metric'];
  expect(await savesEach(own(`/metric-alerts/${id}`), { others, without })).toBeGreaterThan(15);
});

test('every field of a portal link is saved, singly and in pairs', async () => {
  await t.pool.query(
    `insert into api_keys (publisher_id, name, key_hash, permissions)
    values ($1, 'second', decode(repeat('ab', 32), 'hex'), '{configurations}')`,
    [t.publisher.id],
  );
  await t.deps.catalog.refresh();
  const keyRows = await t.pool.query<{ id: number }>('select id from api_keys where publisher_id = $1', [
    t.publisher.id,
  ]);
  const keys = keyRows.rows.map(({ id }) => id);
  const choices: [string, string, string][] = [
    ['user', 'ann', 'ben & <co>'],
    ['frame_origin', 'https://one.example', 'https://two.example'],
    ['permissions', 'deliveries', 'live'],
    ['minutes', '60', '7'],
    ['key_id', String(keys[0]), String(keys[1])],
  ];
  const initial = Object.fromEntries(choices.map(([name, value]) => [name, value]));
  for (const [index, [name, , value]] of choices.entries())
    for (const [second, , secondValue] of choices.slice(index)) {
      const fields = { ...initial, [name]: value, [second]: secondValue };
      expect((await admin.post(own('/settings/portal-links'), fields)).statusCode).toBe(200);
      const { rows } = await t.pool.query(
        `select user_label as "user", frame_origin, permissions[1] as permissions, key_id::text,
          round(extract(epoch from expires_at - created_at) / 60)::text as minutes
        from portal_links order by id desc limit 1`,
      );
      expect(rows[0]).toEqual(fields);
    }
});

/** Calls a function with each change alone and each pair of changes. */
async function inPairs<Change extends object>(changes: readonly Change[], save: (change: Change) => Promise<void>) {
  for (const [index, change] of changes.entries())
    for (const second of changes.slice(index)) await save({ ...change, ...second });
}

/** Adds chat channels, and returns their IDs. */
async function addChannels(...names: string[]): Promise<number[]> {
  const { rows } = await t.pool.query<{ id: number }>(
    `insert into alert_rules (publisher_id, name, url_sealed, kinds, created_at)
    select $1, name, $3, '{budget.100}', now() from unnest($2::text[]) name returning id`,
    [t.publisher.id, names, t.deps.secretBox.seal('https://chat.example/hook', 'alert-url')],
  );
  return rows.map(({ id }) => id);
}

test('every alert of every channel is saved, singly and in pairs, and alerts not on the page stay unchanged', {
  timeout: timeLimit(120_000),
}, async () => {
  const [first, second] = await addChannels('#shop', '#team');
  const listed = ['budget.100', 'campaign.ended', 'coupons.low'];
  const stored = async () =>
    (await t.pool.query('select id, kinds from alert_rules where id = any($1)', [[first, second]])).rows.map(
      ({ id, kinds }): [string, string[]] => [`channel.${id}`, kinds.toSorted()],
    );
  const boxes = [first, second].flatMap((id) => listed.map((kind) => ({ [`channel.${id}`]: kind })));
  await inPairs(boxes, async (change) => {
    const sent = { ...change, columns: [`channel.${first}`, `channel.${second}`] };
    expect((await admin.post(own('/alerts/rules'), sent)).statusCode).toBe(303);
    const kindsOf = (id: number | undefined) => [change[`channel.${id}`] ?? []].flat();
    expect(Object.fromEntries(await stored())).toEqual({
      [`channel.${first}`]: kindsOf(first),
      [`channel.${second}`]: kindsOf(second),
    });
  });
  await t.pool.query("update alert_rules set kinds = '{budget.100,goal.behind}' where id = $1", [first]);
  const old = { columns: `channel.${first}`, kinds: listed.join(' '), [`channel.${first}`]: 'coupons.low' };
  expect((await admin.post(own('/alerts/rules'), old)).statusCode).toBe(303);
  expect(Object.fromEntries(await stored())).toMatchObject({ [`channel.${first}`]: ['coupons.low', 'goal.behind'] });
  // Two tabs each change one box.
  const name = `channel.${first}`;
  const kinds = [...listed, 'goal.behind'].join(' ');
  const opened = { columns: name, kinds, [`${name}.was`]: 'coupons.low goal.behind' };
  await admin.post(own('/alerts/rules'), { ...opened, [name]: ['goal.behind'] });
  await admin.post(own('/alerts/rules'), { ...opened, [name]: ['coupons.low', 'goal.behind', 'campaign.ended'] });
  expect(Object.fromEntries(await stored())).toMatchObject({ [name]: ['campaign.ended', 'goal.behind'] });
});

test('every field of a saved report and of its schedules is saved, singly and in pairs', async () => {
  const [first, second] = await addChannels('#reports', '#money');
  const reports = [
    { name: 'Weekly & <b>' },
    { name: 'All' },
    { query: '?by=campaign' },
    { query: '?range=90d&by=offer' },
  ];
  await inPairs(reports, async (change) => {
    const sent = { name: 'Report', query: '?range=30d&by=offer', ...change };
    expect((await admin.post(own('/reports/saved'), sent)).statusCode).toBe(303);
    const { rows } = await t.pool.query('select name, query from saved_reports order by id desc limit 1');
    expect(rows[0].name).toBe(sent.name);
    for (const [name, value] of new URLSearchParams(sent.query))
      expect([sent, new URLSearchParams(rows[0].query).get(name)]).toEqual([sent, value]);
    await t.pool.query('delete from saved_reports');
  });
  await admin.post(own('/reports/saved'), { name: 'Report', query: '?by=offer' });
  const { rows: saved } = await t.pool.query<{ id: number }>('select id from saved_reports');
  const schedules = [
    { recipient: `channel.${second}` },
    { period: 'day' },
    { period: 'month' },
    { hour: '0' },
    { hour: '23' },
  ];
  await inPairs(schedules, async (change) => {
    const sent = { recipient: `channel.${first}`, period: 'week', hour: '8', ...change };
    expect((await admin.post(own(`/reports/saved/${saved[0]?.id}/schedules`), sent)).statusCode).toBe(303);
    const { rows } = await t.pool.query(
      "select 'channel.' || channel_id as recipient, period, hour::text from report_schedules order by id desc limit 1",
    );
    expect(rows[0]).toEqual(sent);
    await t.pool.query('delete from report_schedules');
  });
});

describe('a page that was opened before an upgrade', () => {
  /** Returns the fields that a browser submits, without the named ones, as if they were new. */
  const fieldsOfOldPage = async (page: string, added: readonly string[]): Promise<Record<string, string>> => {
    const values = valuesOf(fieldsOf((await admin.get(page)).body, page));
    const optional = (values._optional ?? '').split(' ').filter((name) => !added.includes(name));
    const fields = Object.entries(values).filter(([name]) => name !== '_version' && !added.includes(name));
    return { ...Object.fromEntries(fields), _optional: optional.join(' ') };
  };

  test('does not change the fields that it does not contain', async () => {
    await t.pool.query("update publishers set privacy_text = 'Stored', test_mode = true, data_file_user_ids = 'plain'");
    const page = own('/settings');
    const added = ['privacy_text', 'test_mode', 'data_file_user_ids', 'offers_per_response'];
    const sent = { ...(await fieldsOfOldPage(page, added)), privacy_url: 'https://shop.example/privacy' };
    expect((await admin.post(page, sent)).statusCode).toBe(303);
    const { rows } = await t.pool.query('select * from publishers where id = $1', [t.publisher.id]);
    expect(rows[0]).toMatchObject({
      privacy_text: 'Stored',
      test_mode: true,
      data_file_user_ids: 'plain',
      privacy_url: 'https://shop.example/privacy',
    });
  });

  test('saves an unchecked box that it contains, and a group without a selected choice', async () => {
    const id = await create('/sequence-rules', {
      effect: 'deny',
      match: { tags: ['two'] },
      positions: [1, 2],
      weight: 70,
    });
    const page = own(`/settings/sequence-rules/${id}`);
    const old = Object.entries(await fieldsOfOldPage(page, ['weight']));
    const sent = Object.fromEntries(old.filter(([name]) => name !== 'active' && name !== 'positions'));
    expect((await admin.post(page, sent)).statusCode).toBe(303);
    const { rows } = await t.pool.query('select active, positions, weight from sequence_rules where id = $1', [id]);
    expect(rows[0]).toEqual({ active: false, positions: null, weight: 70 });
  });

  test('keeps the values of an endpoint and a placement in fields of the new release', async () => {
    const id = await create('/webhook-endpoints', {
      url: 'https://shop.example/new',
      method: 'GET',
      events: ['usp.selection'],
      max_in_flight: 9,
      strict_order: true,
      headers: { 'x-team': 'perks' },
    });
    const endpoint = own(`/settings/webhooks/${id}`);
    const added = ['max_in_flight', 'strict_order', 'method', 'headers'];
    expect((await admin.post(endpoint, await fieldsOfOldPage(endpoint, added))).statusCode).toBe(303);
    const headers = { authorization: `Bearer ${t.publisher.key}` };
    const stored = await t.app.inject({ url: `/manage/v1/webhook-endpoints/${id}`, headers });
    expect(stored.json().data).toMatchObject({ max_in_flight: 9, strict_order: true, method: 'GET' });
    await create('/placements', { name: 'old-page', display_name: 'Old', delivery_percentage: 40 });
    const placement = own('/settings/placements/old-page');
    expect((await admin.post(placement, await fieldsOfOldPage(placement, ['delivery_percentage']))).statusCode).toBe(
      303,
    );
    const { rows } = await t.pool.query("select delivery_percentage from placements where name = 'old-page'");
    expect(rows[0]).toEqual({ delivery_percentage: 40 });
  });

  test('keeps the values of block rules, data sources and coupons in fields of the new release', async () => {
    const headers = { authorization: `Bearer ${t.publisher.key}` };
    const call = (method: 'GET' | 'PUT', path: string, payload?: object) =>
      t.app.inject({ method, url: `/manage/v1${path}`, headers, ...(payload !== undefined && { payload }) });
    const rules = { blocked: { words: ['half off'], brands: ['Farm'] }, separate: { categories: true } };
    const floors = { checkout: 2 };
    const rule_details = [{ by: 'word', value: 'half off', placement: null, note: 'Why', ends_at: null }];
    const controlsPath = `/publishers/${t.publisher.id}/controls`;
    expect((await call('PUT', controlsPath, { ...rules, floors, rule_details })).statusCode).toBe(200);
    const controls = own('/settings/controls');
    const added = ['blocked.brands', 'separate.categories', 'floors', 'floors.0.placement', 'floors.0.amount'];
    const sent = { ...(await fieldsOfOldPage(controls, added)), 'blocked.words': 'half off, cash', _confirmed: 'on' };
    expect((await admin.post(controls, sent)).statusCode).toBe(303);
    expect((await call('GET', controlsPath)).json().data).toMatchObject({
      blocked: { words: ['half off', 'cash'], brands: ['Farm'] },
      separate: { categories: true },
      floors,
      rule_details,
    });

    const mapping = { traits: { plan: 'tier' }, events: { Order: { name: 'order' } }, create_audiences: true };
    expect((await call('PUT', '/sources/segment', { ...mapping, secret: 'a secret of the source' })).statusCode).toBe(
      200,
    );
    const sources = own('/settings/sources');
    const newer = ['events', 'events.0.from', 'events.0.to', 'events.0.value', 'create_audiences', 'signature'];
    expect((await admin.post(sources, await fieldsOfOldPage(sources, newer))).statusCode).toBe(303);
    expect((await call('GET', '/sources/segment')).json().data).toMatchObject({ ...mapping, has_secret: true });

    await couponCalls(t).add(1, { codes: ['A-1'] });
    const coupons = own('/offers/1/coupons/settings');
    const whole = {
      give_at: 'click',
      valid_days: '30',
      hold_minutes: '15',
      low_hours: '48',
      terms: 'Once',
      when_empty: 'fallback',
    };
    expect(
      (await admin.post(coupons, { ...whole, expires_at: '2031-02-03', fallback_code: 'THANKS' })).statusCode,
    ).toBe(303);
    const { rows: before } = await t.pool.query('select * from coupon_pools where offer_id = 1');
    expect((await admin.post(coupons, { terms: 'Twice' })).statusCode).toBe(303);
    const { rows: after } = await t.pool.query('select * from coupon_pools where offer_id = 1');
    expect(after[0]).toMatchObject({ ...before[0], terms: 'Twice', updated_at: expect.anything() });
  });
});
