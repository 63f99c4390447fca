import { afterAll, beforeAll, expect, test } from 'vitest';
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
    if (type === 'checkbox')
      fields.set(name, { name, value: isChecked ? value || 'on' : null, other: isChecked ? null : value || 'on' });
    else if (type === 'radio') {
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
 * @returns the number of saved changes
 */
async function savesEach(page: string): Promise<number> {
  const load = async () => fieldsOf((await admin.get(page)).body, page);
  const initial = await load();
  const changeable = initial.flatMap(({ name, other }) =>
    other === null || name.startsWith('_') ? [] : [[name, other] as const],
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

test('every field of the forms for settings, placements, sequence rules and audiences is saved, also in pairs', {
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
