import { expect, test } from 'vitest';
import { createRandom } from '../../src/platform/lib/random.ts';
import { clonePool } from '../support/database.ts';
import { type ServerProcess, startServerProcess } from '../support/server-process.ts';

type Estimate = { estimate: number; low: number; high: number };
type Arm = {
  arm: string;
  users: number;
  sessions: number;
  would_have_seen: { users: number };
  outcomes: Record<string, { lift: Estimate | null; is_significant: boolean }>;
};

const users = 1200;
const atOnce = 12;

test('10 % planted on the unit and 0 % on a campaign are found: two processes, one killed in the middle', async () => {
  const { url: databaseUrl, pool, close } = await clonePool(2);
  const [first, other] = await Promise.all([startServerProcess({ databaseUrl }), startServerProcess({ databaseUrl })]);
  const servers: ServerProcess[] = [first, other];
  let calls = 0;
  /** Of any server that answers; a call that a kill leaves without an answer is made again. */
  const call = async (method: string, path: string, body?: object): Promise<{ status: number; json: never }> => {
    for (;;) {
      const server = servers[calls++ % servers.length] as ServerProcess;
      const answer = await fetch(`${server.url}${path}`, {
        method,
        headers: { 'content-type': 'application/json', authorization: 'Bearer demo-key' },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      }).catch(() => null);
      if (answer !== null && answer.status < 500)
        return { status: answer.status, json: (await answer.json()) as never };
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  };
  const arms = [
    { key: 'control', share: 0.5, changes: {} },
    { key: 'one', share: 0.5, changes: { offers_per_response: 1 } },
  ];
  expect((await call('POST', '/manage/v1/experiments', { key: 'lift', arms })).status).toBe(201);
  expect((await call('POST', '/manage/v1/experiments/lift/start')).status).toBe(200);
  const probe = async (): Promise<{ experiments?: object[]; offers: { campaign_id: number }[] }> => {
    const body = { placement: 'checkout', pub_user_id: 'probe', dev: 1 };
    return ((await call('POST', '/native/v4/offers.json', body)).json as { data: Awaited<ReturnType<typeof probe>> })
      .data;
  };
  const campaign = (await probe()).offers[0]?.campaign_id as number;
  const withheld = { key: 'campaign', holdout: 0.5, campaign_id: campaign, arms: [{ ...arms[0] }] };
  expect((await call('POST', '/manage/v1/experiments', withheld)).status).toBe(201);
  expect((await call('POST', '/manage/v1/experiments/campaign/start')).status).toBe(200);
  const isServed = async (): Promise<boolean> =>
    (await Promise.all([probe(), probe()])).every(({ experiments }) => experiments?.length === 2);
  await expect.poll(isServed).toBe(true);

  const draw = createRandom(5);
  const sessions: string[] = [];
  const seen = new Map<string, Set<string>>();
  const seenOfCampaign = new Map<string, Set<string>>();
  async function visit(user: string): Promise<void> {
    for (const placement of ['checkout', 'checkout']) {
      const { json } = await call('POST', '/native/v4/offers.json', { placement, pub_user_id: user });
      const { data } = json as { data: { session_id: string; experiments: { key: string; arm: string }[] } };
      sessions.push(data.session_id);
      const armOf = (key: string) => data.experiments.find((one) => one.key === key)?.arm ?? '';
      seen.set(user, (seen.get(user) ?? new Set()).add(armOf('lift')));
      seenOfCampaign.set(user, (seenOfCampaign.get(user) ?? new Set()).add(armOf('campaign')));
    }
    const [arm] = seen.get(user) as Set<string>;
    const value = (8 + 4 * draw()) * (arm === 'one' ? 1.1 : 1);
    await call('POST', '/manage/v1/outcomes', { pub_user_id: user, name: 'order', value, id: `order ${user}` });
    await call('POST', '/manage/v1/outcomes', { pub_user_id: user, name: 'visit', value: draw(), id: `visit ${user}` });
  }
  const waiting = Array.from({ length: users }, (_, at) => `user-${at}`);
  const run = async (): Promise<void> => {
    for (let user = waiting.pop(); user !== undefined; user = waiting.pop()) {
      await visit(user);
      if (servers.length === 2 && waiting.length <= users / 2) await (servers.shift() as ServerProcess).kill();
    }
  };
  await Promise.all(Array.from({ length: atOnce }, run));
  expect([...seen.values(), ...seenOfCampaign.values()].every((found) => found.size === 1)).toBe(true);

  const counted = async () => {
    const { rows } = await pool.query(
      `select (select count(*)::int from sessions where not dev) as stored, key,
        (select sum(sessions)::int from experiment_units u where u.experiment_id = e.id) as sessions,
        (select sum(occurrences)::int from experiment_outcomes o
          where o.experiment_id = e.id and name = 'order') as orders
      from experiments e order by key`,
    );
    return rows;
  };
  const { rows } = await pool.query<{ stored: number }>('select count(*)::int as stored from sessions where not dev');
  const stored = rows[0]?.stored ?? 0;
  expect(stored).toBeGreaterThanOrEqual(2 * users);
  const all = { sessions: stored, stored, orders: users };
  await expect.poll(counted).toEqual([
    { key: 'campaign', ...all },
    { key: 'lift', ...all },
  ]);

  const { json } = await call('GET', '/manage/v1/experiments/lift/report');
  const { data } = json as { data: { arms: Arm[]; sample_ratio: { is_wrong: boolean } } };
  const one = data.arms.find(({ arm }) => arm === 'one') as Arm;
  expect(data.sample_ratio.is_wrong).toBe(false);
  expect(data.arms.reduce((sum, arm) => sum + arm.users, 0)).toBe(users);
  expect(one.outcomes.order).toMatchObject({ is_significant: true });
  const lift = one.outcomes.order?.lift as Estimate;
  expect(lift.low).toBeLessThan(0.1);
  expect(lift.high).toBeGreaterThan(0.1);
  expect(one.outcomes.visit).toMatchObject({ is_significant: false });
  for (const population of ['all', 'would_have_seen']) {
    const found = await call('GET', `/manage/v1/experiments/campaign/report?population=${population}`);
    const [control, held] = (found.json as { data: { arms: Arm[] } }).data.arms as [Arm, Arm];
    expect([control.arm, held.arm]).toEqual(['control', 'holdout']);
    for (const arm of [control, held]) expect(arm.would_have_seen.users, arm.arm).toBeGreaterThan(100);
    expect(held.outcomes.order?.is_significant).toBe(false);
    const { low = -1, high = 1 } = held.outcomes.order?.lift ?? {};
    if (population === 'all') expect(Math.max(-low, high)).toBeLessThan(0.05);
    expect(low).toBeLessThan(0);
    expect(high).toBeGreaterThan(0);
  }
  for (const id of sessions.slice(0, 20)) {
    const again = await call('GET', `/manage/v1/sessions/${id}/decision`);
    expect((again.json as { data: { identical: boolean } }).data.identical).toBe(true);
  }
  await Promise.all([first, other].map((server) => server.kill()));
  await close();
});
