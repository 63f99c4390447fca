import { readFile, writeFile } from 'node:fs/promises';
import { Type } from '@sinclair/typebox';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  type EventHistory,
  eventChanges,
  eventsPath,
  payloadFields,
  unreleased,
} from '../../src/reference/events/payload-fields.ts';
import { eventTypes } from '../support/event-types.ts';
import { createTestApp, type TestApp } from '../support/test-app.ts';

const file = new URL('../../assets/openapi/events.json', import.meta.url);
const update = 'UPDATE_EVENTS=1 npx vitest run test/reference/events.test.ts';
const readHistory = async (): Promise<EventHistory> => JSON.parse(await readFile(file, 'utf8'));

/** Types of an event's fields, by path. */
const typesOf = (payload: object): Record<string, string> =>
  Object.fromEntries(payloadFields({ ...payload }, null).map(({ path, type }) => [path, type]));

/** Adds fields that no release contains yet. Recorded fields don't change. */
async function addNew(): Promise<void> {
  const history: Record<string, Record<string, Record<string, string>>> = structuredClone(await readHistory());
  for (const { name, payload } of eventTypes.values()) {
    const recorded = Object.assign({}, ...Object.values(history[name] ?? {}));
    const added = Object.entries(typesOf(payload)).filter(([path]) => !(path in recorded));
    if (added.length === 0) continue;
    const releases = history[name] ?? {};
    history[name] = { ...releases, [unreleased]: { ...releases[unreleased], ...Object.fromEntries(added) } };
  }
  await writeFile(file, `${JSON.stringify(history, null, 2)}\n`);
}

test('no event loses a field, and no field changes its type', async () => {
  if (process.env.UPDATE_EVENTS === '1') await addNew();
  const history = await readHistory();
  const problems: string[] = [];
  for (const [name, releases] of Object.entries(history)) {
    const type = eventTypes.get(name);
    if (type === undefined) problems.push(`${name} was removed`);
    const now = typesOf(type?.payload ?? {});
    for (const [path, kind] of Object.values(releases).flatMap((fields) => Object.entries(fields)))
      if (now[path] !== kind) problems.push(`${name}: ${path} was ${kind} and is now ${now[path] ?? 'missing'}`);
  }
  for (const { name, payload } of eventTypes.values()) {
    const recorded = Object.assign({}, ...Object.values(history[name] ?? {}));
    for (const path of Object.keys(typesOf(payload)))
      if (!(path in recorded)) problems.push(`${name}: ${path} is not in assets/openapi/events.json: run ${update}`);
  }
  expect(problems).toEqual([]);
});

test('a field has its path, type, values, example and the release that added it', () => {
  const payload = Type.Object({
    state: Type.Union([Type.Literal('live'), Type.Literal('ended'), Type.Null()], { description: 'State.' }),
    rows: Type.Array(Type.Object({ id: Type.Integer(), note: Type.Optional(Type.String()) })),
  });
  const history = {
    '1.0.0': { state: 'string or null', rows: 'array of object' },
    [unreleased]: { 'rows[].note': 'x' },
  };
  expect(payloadFields(payload, { state: 'live', rows: [{ id: 7 }] }, history)).toEqual([
    {
      path: 'state',
      type: 'string or null',
      required: true,
      description: 'State.',
      values: ['live', 'ended'],
      since: '1.0.0',
      example: 'live',
    },
    {
      path: 'rows',
      type: 'array of object',
      required: true,
      description: null,
      values: [],
      since: '1.0.0',
      example: [{ id: 7 }],
    },
    { path: 'rows[].id', type: 'integer', required: true, description: null, values: [], since: null, example: 7 },
    { path: 'rows[].note', type: 'string', required: false, description: null, values: [], since: unreleased },
  ]);
  expect(eventChanges(history)).toEqual([
    { release: unreleased, isFirst: false, fields: ['rows[].note'] },
    { release: '1.0.0', isFirst: true, fields: ['state', 'rows'] },
  ]);
});

describe('the event catalogue', () => {
  let t: TestApp;
  beforeAll(async () => {
    t = await createTestApp();
  });
  afterAll(() => t?.close());

  type CatalogueEvent = { name: string; sample: unknown; fields: object[]; changes: object[] };
  const events = async (): Promise<CatalogueEvent[]> => (await t.app.inject('/docs/events.json')).json().data;

  test('has the fields of each event with an example, and the releases that changed it', async () => {
    for (const { name, fields, changes } of await events()) {
      expect(fields.length, name).toBeGreaterThan(0);
      expect(changes.at(-1), name).toMatchObject({ release: '1.0.0', isFirst: true });
    }
    const selection = (await events()).find(({ name }) => name === 'usp.selection');
    expect(selection?.fields).toContainEqual(
      expect.objectContaining({ path: 'body.campaigns[].is_loyalty', type: 'boolean', since: '1.0.0', required: true }),
    );
  });

  test('can be read as Markdown, with one table row per field', async () => {
    const { body, headers } = await t.app.inject(`${eventsPath}.md`);
    expect(headers['content-type']).toBe('text/markdown; charset=utf-8');
    for (const { name, fields, sample } of await events()) {
      const section = body.split(`\n## ${name}\n`)[1]?.split('\n## ')[0] ?? '';
      const rows = section.split('\n').filter((line) => line.startsWith('| `'));
      expect(rows.length, name).toBe(fields.length);
      for (const row of rows) expect(row.match(/(?<!\\)\|/g)?.length, row).toBe(6);
      expect(section).toContain(JSON.stringify(sample, null, 2));
      expect(section).toContain('- 1.0.0: event added');
    }
    expect((await t.app.inject('/llms.txt')).body).toContain(`${eventsPath}.md`);
  });

  test('shows examples, allowed values and changes on its page', async () => {
    const { body } = await t.app.inject({ url: '/docs/events', headers: { accept: 'text/html' } });
    const [, section = ''] = body.split('id="draft.decided"');
    const [event] = section.split('</details>\n');
    expect(event).toMatch(/Example: <code>refused<\/code>/);
    expect(section).toMatch(/One of <code>scheduled<\/code>/);
    expect(section).toContain('Since 1.0.0');
    expect(section).toContain('<strong>1.0.0</strong>: event added');
  });
});
