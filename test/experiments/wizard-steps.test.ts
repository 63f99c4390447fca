import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { errorsIn, postForm, signInAs, type TestUser } from '../dashboard/support.ts';
import { createTestApp, type TestApp } from '../support/test-app.ts';
import { callsOf } from './support.ts';

let t: TestApp;
let api: ReturnType<typeof callsOf>;
let me: TestUser;
const path = () => `/dashboard/p/${t.publisher.id}/experiments`;
beforeAll(async () => {
  t = await createTestApp();
  api = callsOf(t);
});
afterAll(() => t?.close());
beforeEach(async () => {
  me = await signInAs(t, 'admin');
});
afterEach(() => api.end());

type Input = Record<string, string>;

const valid = { question: 'offers', name: 'Fewer offers', 'arm1.offers_per_response': '1' };

/** Submits a step with the default button, or with the button that leads to the step `go`. */
const submit = (step: string, fields: Input = {}, go?: string) =>
  me.post(path(), { ...valid, ...fields, _step: step, ...(go !== undefined && { _go: go }) });
const open = (step: string, fields: Input = {}) =>
  me.get(`${path()}/new?${new URLSearchParams({ ...valid, ...fields, step })}`);
const countRows = async () => (await api.manage('GET', '')).body.data.length;
const titleOf = (body: string) => /<h2>([^<]+)</.exec(body)?.[1];
const inputValue = (body: string, name: string) =>
  new RegExp(` name="${name.replaceAll('.', '\\.')}"[^>]*? value="([^"]*)"`).exec(body)?.[1];

test('each step leads to the next one, whose URL contains all input, and only the last step stores a row', async () => {
  const visited: string[] = [];
  let step = 'learn';
  while (step !== 'check') {
    const answer = await submit(step);
    expect(answer.statusCode).toBe(303);
    const { searchParams } = new URL(String(answer.headers.location), 'http://perks.test');
    step = String(searchParams.get('step'));
    visited.push(step);
    expect(Object.fromEntries(searchParams)).toEqual({ ...valid, step });
    expect((await me.get(String(answer.headers.location))).statusCode).toBe(200);
    expect(await countRows()).toBe(0);
  }
  expect(visited).toEqual(['arms', 'traffic', 'check']);
  const answer = await submit('check', {}, 'draft');
  expect([answer.statusCode, answer.headers.location]).toEqual([303, `${path()}/fewer-offers`]);
  expect((await api.manage('GET', '/fewer-offers')).body.data).toMatchObject({ state: 'draft', holdout: 0 });
});

test('Back keeps what was entered, even if it is wrong', async () => {
  const typed = { traffic: 'half', placements: 'checkout', 'arm2.texts': '{"settings":', ramp: '0 10\n24 much' };
  const answer = await submit('traffic', typed, 'arms');
  expect(answer.statusCode).toBe(303);
  const { body } = await me.get(String(answer.headers.location));
  expect(titleOf(body)).toBe('What do users see?');
  expect(inputValue(body, 'traffic')).toBe('half');
  expect(inputValue(body, 'placements')).toBe('checkout');
  expect(inputValue(body, 'ramp')).toBe('0 10\n24 much');
  expect(body).toContain('{&quot;settings&quot;:');
});

test.each([
  ['learn', { name: '' }, 'This field is required.'],
  ['learn', { key: 'not a key' }, /1 to 64 characters/],
  ['arms', { 'arm1.offers_per_response': '' }, 'Describe what this variant changes.'],
  ['arms', { 'arm1.offers_per_response': '11' }, /10 or less/],
  ['arms', { 'arm2.key': 'second' }, 'Describe what this variant changes.'],
  ['arms', { 'arm1.key': 'same', 'arm2.key': 'same', 'arm2.floor': '1' }, /twice|more than once/],
  ['arms', { 'arm1.texts': 'delay 5' }, 'The value must be a JSON object.'],
  ['traffic', { traffic: '101' }, 'The value must be a number from 0.01 to 100.'],
  ['traffic', { traffic: 'half' }, 'The value must be a number from 0.01 to 100.'],
  ['traffic', { traffic: '10', holdout: '20' }, /must be smaller than the share/],
  ['traffic', { question: 'holdout', holdout: '100' }, /must be smaller than the share/],
  ['traffic', { smallest_lift: '0' }, 'The value must be a number from 0.1 to 1,000.'],
  ['traffic', { control: '60', 'arm1.share': '60' }, /add up to 120%/],
  ['traffic', { ramp: '24 much' }, /Line 1/],
  ['traffic', { start_at: '2100-05-01T09:00', end_at: '2100-04-01T09:00' }, 'The end must be after the start.'],
] as [string, Input, string | RegExp][])('the step %s rejects %o next to the field', async (step, fields, message) => {
  const answer = await submit(step, fields);
  expect(answer.statusCode).toBe(422);
  expect(errorsIn(answer.body).join(' ')).toMatch(message);
  const later = await open('check', fields);
  expect(later.statusCode).toBe(422);
  expect(titleOf(later.body)).toBe(titleOf(answer.body));
  expect((await submit('check', fields)).statusCode).toBe(422);
  expect(await countRows()).toBe(0);
});

test('an empty field has its default, and a name in words becomes a key', async () => {
  const fields = {
    name: 'Größere Bühne für Angebote!',
    'arm1.key': 'Ein Angebot',
    'arm2.offers_per_response': '2',
    traffic: '',
    smallest_lift: '',
  };
  await submit('check', fields, 'draft');
  await submit('check', fields, 'draft');
  const { data } = (await api.manage('GET', '/grossere-buhne-fur-angebote')).body;
  expect(data).toMatchObject({ smallest_lift: 0.05, name: fields.name });
  expect(data.arms).toEqual([
    { key: 'control', share: 0.3333, changes: {} },
    { key: 'ein-angebot', share: 0.3333, changes: { offers_per_response: 1 } },
    { key: 'c', share: 0.3333, changes: { offers_per_response: 2 } },
  ]);
  expect(await countRows()).toBe(1);
  const check = await open('check', fields);
  expect(inputValue(check.body, '_key')).toBe('grossere-buhne-fur-angebote-2');
  expect((await submit('check', { ...fields, _key: 'grossere-buhne-fur-angebote-2' }, 'draft')).statusCode).toBe(303);
  expect((await submit('check', { name: '測試', _key: '' }, 'draft')).headers.location).toBe(`${path()}/experiment`);
});

test('a repeated submission of the last step creates no second experiment', async () => {
  const fields = { _key: 'fewer-offers' };
  expect((await submit('check', fields)).statusCode).toBe(303);
  const again = await submit('check', fields);
  expect(again.statusCode).toBe(422);
  expect(again.body).toContain('This value is already in use.');
  expect(await countRows()).toBe(1);
});

test('an experiment that can’t be started is not created, and the last step shows the reason', async () => {
  const arms = [{ key: 'b', share: 0.5, changes: { offers_per_response: 2 } }];
  await api.start({ key: 'other', arms });
  const answer = await submit('check');
  expect(answer.statusCode).toBe(422);
  expect(answer.body).toContain('The experiment other also changes');
  expect(await countRows()).toBe(1);
});

test('text with markup is shown as text in every step', async () => {
  const hostile = '"><script>alert(1)</script>';
  const fields = { name: hostile, layer: hostile, ramp: hostile, 'arm1.labels.close': hostile, placements: hostile };
  for (const step of ['learn', 'arms', 'traffic', 'check', hostile]) {
    for (const { body } of [await open(step, fields), await submit(step, fields), await submit(step, fields, hostile)])
      expect(body, step).not.toContain('<script>alert');
  }
  const { layer: _layer, ramp: _ramp, ...accepted } = fields;
  expect((await submit('check', accepted)).statusCode).toBe(303);
  const { body } = await me.get(`${path()}/script-alert-1-script`);
  expect(body).toContain('&lt;script&gt;alert');
  expect(body).not.toContain('<script>alert');
});

test('long input is rendered without a redirect, so that the URL stays short, and nothing is lost', async () => {
  const texts = JSON.stringify({ settings: { css: '' }, note: 'x'.repeat(20_000) });
  const answer = await submit('traffic', { 'arm1.texts': texts }, 'arms');
  expect(answer.statusCode).toBe(200);
  expect(answer.body).toContain('x'.repeat(20_000));
  const name = await submit('learn', { name: 'N'.repeat(100_000) });
  expect([name.statusCode, errorsIn(name.body).join()]).toEqual([422, expect.stringContaining('200')]);
});

test('unknown, repeated and empty fields do no harm', async () => {
  const odd = await me.get(`${path()}/new?step=arms&step=check&question=a&question=b&name=A&name=B&__proto__=1&x=y`);
  expect(odd.statusCode).toBe(200);
  expect((await me.get(`${path()}/new?${'name=a&'.repeat(500)}`)).statusCode).toBe(200);
  expect((await me.post(path(), {})).statusCode).toBe(422);
});

test("campaigns and themes of other publishers are rejected like those that don't exist", async () => {
  const { rows } = await t.pool.query<{ id: number }>(
    `select c.id from campaigns c where not exists (
      select from campaign_publishers p where p.campaign_id = c.id and p.publisher_id = $1) limit 1`,
    [t.publisher.id],
  );
  const foreign = String(rows[0]?.id ?? 2_000_000_000);
  for (const id of [foreign, '2000000000', '-1', '1.5', '1e9', "1' or '1'='1"]) {
    const holdout = await submit('check', { question: 'holdout', campaign_id: id });
    expect([id, holdout.statusCode, titleOf(holdout.body)]).toEqual([id, 422, 'What do users see?']);
    const theme = await submit('check', { question: 'theme', 'arm1.theme_id': id });
    expect([id, theme.statusCode, titleOf(theme.body)]).toEqual([id, 422, 'What do users see?']);
  }
  expect(await countRows()).toBe(0);
});

test('only admins can use the wizard or confirm an adoption, and only with the token of their session', async () => {
  await api.start({ key: 'read', holdout: 0.5 });
  for (const role of ['analyst', 'manager'] as const) {
    const other = await signInAs(t, role);
    expect((await other.get(`${path()}/new?step=check`)).statusCode).toBe(403);
    expect((await other.get(`${path()}/read/adopt?arm=holdout`)).statusCode).toBe(403);
    expect((await other.post(path(), { ...valid, _step: 'check' })).statusCode).toBe(403);
  }
  const forged = await postForm(t, path(), { ...valid, _step: 'check' }, { cookie: me.cookie });
  expect(forged.statusCode).toBe(403);
  const elsewhere = await signInAs(t, 'operator');
  expect((await elsewhere.post('/dashboard/p/999/experiments', { ...valid, _step: 'check' })).statusCode).toBe(404);
  expect(await countRows()).toBe(1);
});

test('the wizard can express everything that the API can', async () => {
  const { id: theme } = (await api.call('POST', '/manage/v1/themes', { name: 'Dark', unit: 'mou' })).body.data;
  const fields = {
    question: 'other',
    name: 'Everything',
    key: 'all.of-it',
    placements: 'checkout',
    campaign_id: '1',
    layer: 'unit',
    holdout: '10.5',
    smallest_lift: '2,5',
    control: '20',
    ramp: '0 10\n24 100',
    start_at: '2100-05-01T09:00',
    end_at: '2100-06-01T09:00',
    'arm1.key': 'first',
    'arm1.share': '30',
    'arm1.offers_per_response': '2',
    'arm1.theme_id': String(theme),
    'arm1.ranking': 'fixed',
    'arm1.floor': '0,5',
    'arm1.labels.close': 'Not now',
    'arm1.texts': '{"settings": {"delay": 5}}',
    'arm4.key': 'last',
    'arm4.share': '5',
    'arm4.labels.terms': 'Small print',
  };
  const answer = await submit('check', fields);
  expect(answer.statusCode, errorsIn(answer.body).join()).toBe(303);
  expect((await api.manage('GET', '/all.of-it')).body.data).toMatchObject({
    state: 'scheduled',
    name: 'Everything',
    placements: ['checkout'],
    campaign_id: 1,
    layer: 'unit',
    holdout: 0.105,
    smallest_lift: 0.025,
    ramp: [
      { after_hours: 0, share: 0.1 },
      { after_hours: 24, share: 1 },
    ],
    arms: [
      { key: 'control', share: 0.2, changes: {} },
      {
        key: 'first',
        share: 0.3,
        changes: {
          offers_per_response: 2,
          theme_id: theme,
          ranking: 'fixed',
          floor: 0.5,
          settings: { delay: 5 },
          labels: { close: 'Not now' },
        },
      },
      { key: 'last', share: 0.05, changes: { labels: { terms: 'Small print' } } },
    ],
  });
});
