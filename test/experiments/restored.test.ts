import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { collectRestored } from '../../src/experiments/collect.ts';
import { continueRestoredRollups } from '../../src/reports/restored.ts';
import { rollUpAll } from '../reports/support.ts';
import { moveAhead } from '../support/restored.ts';
import { createTestApp, type TestApp } from '../support/test-app.ts';
import { callsOf, collectAll } from './support.ts';

let t: TestApp;
beforeAll(async () => {
  t = await createTestApp();
});
afterAll(() => t.close());

/** Simulates a user who enters the experiment, clicks, and orders. */
async function visit(pub_user_id: string): Promise<void> {
  const api = callsOf(t);
  const { session_id } = await api.fetch({ pub_user_id });
  await t.pool.query(
    `insert into events (day, session_id, offer_id, kind, publisher_id, campaign_id, position, at)
    select day, id, offer_ids[1], 'click', publisher_id, campaign_ids[1], 1, created_at from sessions where id = $1`,
    [session_id],
  );
  const outcome = { pub_user_id, name: 'order', value: 10, id: session_id };
  expect((await api.call('POST', '/manage/v1/outcomes', outcome)).status).toBe(202);
}

type Arm = { users: number; sessions: number; outcomes: { order: { value: number } } };

afterEach(() => callsOf(t).end());

test.each([
  ['collected', rollUpAll, collectAll],
  ['rolled up', collectAll, rollUpAll],
])(
  'experiments stay exact after a restore, even for rows that were only %s before the dump',
  async (way, first, second) => {
    const key = way.replace(' ', '_');
    await callsOf(t).start({ key, arms: [{ key: 'control', share: 1, changes: {} }] });
    await visit(`${way} by both`);
    await first(t);
    await visit(`${way} alone`);
    await second(t);
    await visit(`not ${way}`);
    await moveAhead(t.pool);
    expect(await continueRestoredRollups(t.databaseUrl, collectRestored)).toBe(true);
    await visit(`${way} after it`);
    await collectAll(t);
    const { rows } = await t.pool.query('select sum(clicks)::int as clicks from experiment_units');
    expect(rows).toEqual([{ clicks: 4 }]);
    const { body } = await callsOf(t).manage('GET', `/${key}/report`);
    const [arm] = body.data.arms as [Arm];
    expect(arm).toMatchObject({ users: 4, sessions: 4, outcomes: { order: { value: 10 } } });
  },
);
