import fc from 'fast-check';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { insertSessions } from '../../src/budgets/sessions.ts';
import { type SessionRecord, writeDecisionRecord } from '../../src/offers/session-record.ts';
import { newUuid7 } from '../../src/platform/lib/uuid7.ts';
import { createTestApp, type TestApp } from '../support/test-app.ts';

let t: TestApp;
beforeAll(async () => {
  t = await createTestApp();
});
afterAll(() => t.close());
beforeEach(() => t.pool.query('truncate sessions'));

const nowMs = Date.now();
const client = { country: 'FR', device: 'mobile', os: 'ios' };
const decision = { catalogVersion: 1, scores: [], inputs: {} };

const recordOf = (changes: Partial<SessionRecord>): SessionRecord => ({
  id: newUuid7(nowMs),
  publisherId: t.publisher.id,
  placement: 'checkout',
  themeId: null,
  language: null,
  userKey: null,
  pubUserId: null,
  client,
  offers: [],
  emptyReason: 'no_campaigns',
  decision: writeDecisionRecord(decision),
  custom: new Map(),
  macros: {},
  dev: false,
  usp: false,
  uspCheckAll: false,
  createdAtMs: nowMs,
  ...changes,
});

/** Any text that PostgreSQL can store, often with quotes, escapes and separators. */
const text = fc
  .oneof(fc.string({ unit: 'grapheme' }), fc.string({ unit: fc.constantFrom(...'"\\{}(),\' \n\t\u0085\u2028é🎁a') }))
  .map((any) => any.replaceAll('\0', ''));
const name = fc.stringMatching(/^[A-Za-z0-9_.-]{1,64}$/);

test('a session is read back with exactly the stored copy, whatever characters it contains', async () => {
  await fc.assert(
    fc.asyncProperty(
      text,
      text,
      fc.dictionary(name, text),
      fc.dictionary(name, text),
      async (userId, city, custom, macros) => {
        const record = recordOf({
          pubUserId: userId,
          decision: writeDecisionRecord({ ...decision, inputs: { city } }),
          custom: new Map(Object.entries(custom)),
          macros: { ...macros },
        });
        await insertSessions(t.pool, [recordOf({}), record]);
        const { rows } = await t.pool.query(
          "select *, decision::json -> 3 ->> 'city' as city from sessions where id = $1",
          [record.id],
        );
        expect(rows).toMatchObject([{ pub_user_id: userId, city, country: 'FR' }]);
        expect(rows[0].custom ?? {}).toEqual({ ...custom });
        expect(rows[0].macros ?? {}).toEqual({ ...macros });
        expect(rows[0].created_at.getTime()).toBe(nowMs);
      },
    ),
    { numRuns: 300 },
  );
});
