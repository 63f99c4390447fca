import { afterAll, beforeAll, expect, test } from 'vitest';
import { activity, byGroup, differences, rollUpAll } from '../reports/support.ts';
import { createTestApp, type TestApp } from '../support/test-app.ts';
import { callsOf, collectAll } from './support.ts';

let t: TestApp;
let api: ReturnType<typeof callsOf>;
beforeAll(async () => {
  t = await createTestApp();
  api = callsOf(t);
});
afterAll(() => t.close());

test('arms are a report dimension, and match the experiment report and the raw rows', async () => {
  await api.start({
    key: 'lift',
    arms: [
      { key: 'control', share: 0.5, changes: {} },
      { key: 'b', share: 0.4, changes: { offers_per_response: 1 } },
    ],
  });
  for (let at = 0; at < 40; at += 1) await api.fetch({ pub_user_id: `user-${at}`, plan: 'gold' });
  await api.fetch({ pub_user_id: 'user-1', dev: 1, experiments: { lift: 'b' } });
  await collectAll(t);
  await rollUpAll(t);
  const { arms } = (await api.manage('GET', '/lift/report')).body.data;
  const counted = Object.fromEntries(
    arms.map(({ arm, sessions }: { arm: string; sessions: number }) => [arm, sessions]),
  );
  const today = new Date().toISOString().slice(0, 10);
  const query = `from=${today}&to=${today}&group_by=custom.experiment.lift&timezone=UTC`;
  const { status, body } = await api.call('GET', `/native/activity.json?${query}`);
  expect(status).toBe(200);
  const armEntries = body.data.rows.map((row: Record<string, unknown>) => [
    row['custom.experiment.lift'],
    row.sessions,
  ]);
  expect(Object.fromEntries(armEntries)).toEqual(counted);
  expect(byGroup(await activity(t, { groupBy: ['custom'], customKey: 'plan' })).gold?.sessions).toBe(40);
  expect(await differences(t)).toEqual([]);
});

test('an explanation and an export contain the arm, and the decision is re-decided bit for bit', async () => {
  // About one user in ten is in no arm. The experiment's random salt determines which ones.
  let session = await api.fetch({ pub_user_id: 'user-0' });
  for (let at = 1; session.experiments === undefined; at += 1) session = await api.fetch({ pub_user_id: `user-${at}` });
  const { session_id, experiments } = session;
  const again = await api.call('GET', `/manage/v1/sessions/${session_id}/decision`);
  expect(again.body.data).toMatchObject({ identical: true, experiments });
  const { rows } = await t.pool.query('select custom from sessions where id = $1', [session_id]);
  expect(rows[0].custom['experiment.lift']).toBe(experiments[0].arm);
});
