import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { applyOfferRetention } from '../../../src/offers/retention.ts';
import { dayMs } from '../../../src/platform/lib/time.ts';
import { readProblem } from '../../../src/platform/problem.ts';
import { createTestApp, type TestApp } from '../../support/test-app.ts';

let t: TestApp;
let nowMs = Date.UTC(2033, 6, 18, 12);
beforeAll(async () => {
  t = await createTestApp({ now: () => nowMs });
});
afterAll(() => t.close());
beforeEach(() => t.pool.query('truncate request_notices'));

async function send(body: unknown, { path = '/native/v4/offers.json', query = '', key = t.publisher.sdkId } = {}) {
  const answer = await t.app.inject({
    method: 'POST',
    url: `${path}?api_key=${key}${query}`,
    headers: { 'content-type': 'application/json' },
    payload: typeof body === 'string' ? body : JSON.stringify({ placement: 'checkout', ...(body as object) }),
  });
  return answer.statusCode;
}

type NoticeRow = { path: string; message: string; refused: boolean; count: string };

async function written(): Promise<NoticeRow[]> {
  await t.deps.requestLog.write();
  const { rows } = await t.pool.query<NoticeRow>(
    'select path, message, refused, count from request_notices where publisher_id = $1 order by path, message',
    [t.publisher.id],
  );
  return rows.map((row) => ({ ...row, message: String(readProblem(row.message)) }));
}

describe('a notice tells the publisher', () => {
  test('which values of a successful request were ignored or dropped', async () => {
    const many = Object.fromEntries(Array.from({ length: 51 }, (_, at) => [`k${at}`, 1]));
    expect(await send({ country: 'Germany', theme_id: 'App Store', ...many })).toBe(200);
    expect(await send({ cart: ['x'.repeat(600)], country: 'Germany' }, { query: '&country=US' })).toBe(200);
    expect(await written()).toEqual([
      { path: '/cart', message: expect.stringMatching(/dropped.*512/), refused: false, count: '1' },
      { path: '/country', message: expect.stringMatching(/^Ignored: /), refused: false, count: '2' },
      { path: '/k50', message: expect.stringMatching(/dropped.*50 custom/), refused: false, count: '1' },
      { path: '/themeId', message: 'Ignored: no theme has this ID or key.', refused: false, count: '1' },
    ]);
  });

  test('why a request was rejected, even before its key was checked', async () => {
    expect(await send({ placement: '' })).toBe(400);
    expect(await send({ pub_user_id: 'ann@example.com' })).toBe(400);
    expect(await send({ constructor: 1 })).toBe(400);
    expect(await send({}, { query: '&creative=yes' })).toBe(400);
    expect(await send('{"placement":')).toBe(400);
    expect(await send('{"x":"'.padEnd(70_000, 'x'))).toBe(413);
    const rows = await written();
    expect(rows.every(({ refused }) => refused)).toBe(true);
    expect(rows.map(({ path }) => path)).toEqual([
      '',
      '',
      '/constructor',
      '/placement',
      '/pub_user_id',
      '/querystring/creative',
    ]);
    expect(JSON.stringify(rows)).not.toContain('example.com');
  });

  test('the same for the offerwall', async () => {
    expect(await send({ country: '??' }, { path: '/native/v4/offerwall.json' })).toBe(200);
    expect(await send({ placement: '' }, { path: '/native/v4/offerwall.json' })).toBe(400);
    expect((await written()).map(({ path }) => path)).toEqual(['/country', '/placement']);
  });

  test('nothing for a valid request or an unknown key', async () => {
    const theme = await t.pool.query<{ id: number }>("select id from themes where key = 'single-offer'");
    expect(await send({ country: 'deu', themeId: theme.rows[0]?.id, pub_user_id: 7, cart: [1, 2] })).toBe(200);
    expect(await send({ placement: '' }, { key: 'unknown' })).toBe(401);
    expect(await written()).toEqual([]);
  });
});

describe('notices that any caller can trigger', () => {
  test('are rate-limited between writes and limited to the newest 100 of a publisher', async () => {
    for (let call = 0; call < 10; call++) {
      nowMs += 1000;
      const wrong = Object.fromEntries(Array.from({ length: 20 }, (_, at) => [`bad ${call} ${at}`, 1]));
      await send(wrong);
    }
    expect(await written()).toHaveLength(50);
    for (let call = 10; call < 20; call++) {
      nowMs += 1000;
      await send(Object.fromEntries(Array.from({ length: 20 }, (_, at) => [`bad ${call} ${at}`, 1])));
      await t.deps.requestLog.write();
    }
    const rows = await written();
    expect(rows).toHaveLength(100);
    expect(rows.every(({ path }) => /^\/bad 1[5-9] /.test(path))).toBe(true);
  });

  test('may contain any text', async () => {
    await send({ 'a\u0000b\ud800': 1 });
    expect((await written()).map(({ path }) => path)).toEqual(['/a\ufffdb\ufffd']);
  });

  test('are deleted after a day', async () => {
    await send({ country: '?' });
    await written();
    await applyOfferRetention(t.pool, t.deps.config, nowMs + dayMs);
    expect(await written()).toHaveLength(1);
    await applyOfferRetention(t.pool, t.deps.config, nowMs + dayMs + 1);
    expect(await written()).toEqual([]);
  });
});

test('add up when two processes write the same notices concurrently', async () => {
  for (let round = 0; round < 3; round++) {
    await Promise.all(Array.from({ length: 8 }, () => send({ country: '?', theme_id: 'none' })));
    await Promise.all([t.deps.requestLog.write(), t.deps.requestLog.write()]);
  }
  expect((await written()).map(({ count }) => count)).toEqual(['24', '24']);
});
