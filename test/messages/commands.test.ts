import { afterAll, beforeAll, expect, test } from 'vitest';
import { newUuid7 } from '../../src/platform/lib/uuid7.ts';
import { runCommand } from '../command-line/support.ts';
import { createTestApp, type TestApp } from '../support/test-app.ts';
import { messageCalls } from './support.ts';

let t: TestApp;
let env: Record<string, string>;
beforeAll(async () => {
  t = await createTestApp();
  env = { PERKWIRE_URL: await t.app.listen({ port: 0, host: '127.0.0.1' }), PERKWIRE_KEY: t.publisher.key };
});
afterAll(() => t?.close());

/**
 * Stores messages, each one millisecond after the previous one.
 * @returns message IDs, newest first
 */
async function add(states: readonly string[]): Promise<string[]> {
  const startMs = Date.now() - 3_600_000;
  const ids = states.map((_, index) => newUuid7(startMs + index));
  await t.pool.query(
    `insert into perk_messages (id, publisher_id, session_id, user_key, address_key, created_at, kind, state)
    select id, $1, id, id, id, now(), 'perks', state from unnest($2::uuid[], $3::text[]) as m (id, state)`,
    [t.publisher.id, ids, states],
  );
  return ids.reverse();
}

test('messages list --failed shows all failed messages, newest first, even behind hundreds of others', async () => {
  const all = await add([...Array(250).fill('failed'), ...Array(210).fill('sent')]);
  const result = await runCommand(['messages', 'list', '--failed', '--json'], env);
  expect([result.code, result.err]).toEqual([0, '']);
  const listed = result.out
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  expect(listed.map(({ id }) => id)).toEqual(all.slice(210));
  expect(new Set(listed.map(({ state }) => state))).toEqual(new Set(['failed']));
  const newest = await runCommand(['messages', 'list', '--json'], env);
  expect(
    newest.out
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line).id),
  ).toEqual(all.slice(0, 200));
});

test('pages through messages of one state or all states, and rejects invalid parameters', async () => {
  const { call } = messageCalls(t);
  const { data, next_cursor: cursor } = (await call('GET', '?state=sent&limit=200')).json();
  const rest = (await call('GET', `?state=sent&limit=200&cursor=${cursor}`)).json();
  expect([data.length, rest.data.length, rest.next_cursor]).toEqual([200, 10, null]);
  expect(rest.data[0].id < data.at(-1).id).toBe(true);
  for (const query of ['?cursor=x', '?state=lost', '?limit=201', '?stat=sent'])
    expect((await call('GET', query)).statusCode, query).toBe(400);
});
