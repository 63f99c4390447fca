import { expect, onTestFinished, test } from 'vitest';
import { experimentSlots, type Slots } from '../../src/catalog/types.ts';
import { slotOf } from '../../src/experiments/assign.ts';
import { clonePool } from '../support/database.ts';
import { type ServerProcess, startServerProcess } from '../support/server-process.ts';
import { timeLimit } from '../support/time-limit.ts';

type Estimate = { estimate: number; low: number; high: number };
type Arm = {
  arm: string;
  users: number;
  sessions: number;
  would_have_seen: { users: number };
  outcomes: Record<string, { lift: Estimate | null; is_significant: boolean }>;
};

type Check = { is_wrong: boolean };

const users = 1200;
const atOnce = 12;

// Long timeout: the test sends thousands of requests to built processes.
test('reports an injected lift of 10% for the unit and 0% for a campaign, even if a process is killed', {
  timeout: timeLimit(240_000),
}, async () => {
  const { url: databaseUrl, pool, close } = await clonePool(2);
  onTestFinished(close);
  const [first, other] = await Promise.all([startServerProcess({ databaseUrl }), startServerProcess({ databaseUrl })]);
  onTestFinished(() => Promise.all([first, other].map((server) => server.kill())).then(() => {}));
  const servers: ServerProcess[] = [first, other];
  let calls = 0;
  /** Calls the servers in rotation until one responds. A call that is interrupted by a kill is retried. */
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
  const arms = [{ key: 'control', share: 0.5, changes: {} }];
  expect((await call('POST', '/manage/v1/experiments', { key: 'lift', holdout: 0.5, arms })).status).toBe(201);
  // Salts are random. Fixed salts make the arms, and therefore all order totals, the same in every run.
  const fixSalt = (key: string) => pool.query('update experiments set salt = $1 where key = $1', [key]);
  await fixSalt('lift');
  const started = await call('POST', '/manage/v1/experiments/lift/start');
  expect(started.status).toBe(200);
  const probe = async (): Promise<{ experiments?: object[]; offers: { campaign_id: number }[] }> => {
    const body = { placement: 'checkout', pub_user_id: 'probe', dev: 1, experiments: { lift: 'control' } };
    return ((await call('POST', '/native/v4/offers.json', body)).json as { data: Awaited<ReturnType<typeof probe>> })
      .data;
  };
  const campaign = (await probe()).offers[0]?.campaign_id as number;
  const withheld = { key: 'campaign', holdout: 0.5, campaign_id: campaign, arms };
  expect((await call('POST', '/manage/v1/experiments', withheld)).status).toBe(201);
  await fixSalt('campaign');
  expect((await call('POST', '/manage/v1/experiments/campaign/start')).status).toBe(200);
  const isServed = async (): Promise<boolean> =>
    (await Promise.all([probe(), probe()])).every(({ experiments }) => experiments?.length === 2);
  await expect.poll(isServed).toBe(true);

  const draw = (what: string, user: string): number => slotOf(what, user) / experimentSlots;
  const sessions: string[] = [];
  const armsByUser = new Map<string, Set<string>>();
  const seenOfCampaign = new Map<string, Set<string>>();
  async function visit(user: string): Promise<void> {
    for (const placement of ['checkout', 'checkout']) {
      const { json } = await call('POST', '/native/v4/offers.json', { placement, pub_user_id: user });
      const { data } = json as { data: { session_id: string; experiments: { key: string; arm: string }[] } };
      sessions.push(data.session_id);
      const armOf = (key: string) => data.experiments.find((experiment) => experiment.key === key)?.arm ?? '';
      armsByUser.set(user, (armsByUser.get(user) ?? new Set()).add(armOf('lift')));
      seenOfCampaign.set(user, (seenOfCampaign.get(user) ?? new Set()).add(armOf('campaign')));
    }
    const [arm] = armsByUser.get(user) as Set<string>;
    const value = (8 + 4 * draw('order', user)) * (arm === 'control' ? 1.1 : 1);
    for (const [name, of] of Object.entries({ order: value, visit: draw('visit', user) }))
      await call('POST', '/manage/v1/outcomes', { pub_user_id: user, name, value: of, id: `${name} ${user}` });
  }
  const waiting = Array.from({ length: users }, (_, at) => `user-${at}`);
  const run = async (): Promise<void> => {
    for (let user = waiting.pop(); user !== undefined; user = waiting.pop()) {
      await visit(user);
      if (servers.length === 2 && waiting.length <= users / 2) await (servers.shift() as ServerProcess).kill();
    }
  };
  await Promise.all(Array.from({ length: atOnce }, run));
  expect([...armsByUser.values(), ...seenOfCampaign.values()].every((userArms) => userArms.size === 1)).toBe(true);

  // The arms match those that anyone can compute from the API response. With many users, the shares are within 1%.
  const { salt, allocation } = (started.json as { data: { salt: string; allocation: Slots[] } }).data;
  const armByHash = (user: string): string => {
    const slot = slotOf(salt, user);
    return allocation.find(({ from, to }) => slot >= from && slot < to)?.arm ?? '';
  };
  expect([...armsByUser].every(([user, userArms]) => userArms.has(armByHash(user)))).toBe(true);
  const many = Array.from({ length: 100_000 }, (_, at) => armByHash(`user-${at}`));
  expect(Math.abs(many.filter((arm) => arm === 'holdout').length / many.length - 0.5)).toBeLessThan(0.01);

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

  for (const population of ['all', 'would_have_seen']) {
    const { json } = await call('GET', `/manage/v1/experiments/lift/report?population=${population}`);
    const { data } = json as { data: { arms: Arm[]; sample_ratio: Check; before_exposure: Check } };
    const [control, holdout] = data.arms as [Arm, Arm];
    expect([control.arm, holdout.arm]).toEqual(['control', 'holdout']);
    expect([data.sample_ratio.is_wrong, data.before_exposure.is_wrong]).toEqual([false, false]);
    expect(control.users + holdout.users).toBe(users);
    // Held-out users have offers that they would have been shown, and spend 1/1.1 times as much as the others.
    expect(holdout.would_have_seen.users).toBeGreaterThan(0.9 * holdout.users);
    expect(holdout.outcomes.order).toMatchObject({ is_significant: true });
    const lift = holdout.outcomes.order?.lift as Estimate;
    expect(lift.low).toBeLessThan(1 / 1.1 - 1);
    expect(lift.high).toBeGreaterThan(1 / 1.1 - 1);
    expect(holdout.outcomes.visit).toMatchObject({ is_significant: false });
  }
  for (const population of ['all', 'would_have_seen']) {
    const report = await call('GET', `/manage/v1/experiments/campaign/report?population=${population}`);
    const [control, holdout] = (report.json as { data: { arms: Arm[] } }).data.arms as [Arm, Arm];
    expect([control.arm, holdout.arm]).toEqual(['control', 'holdout']);
    for (const arm of [control, holdout]) expect(arm.would_have_seen.users, arm.arm).toBeGreaterThan(100);
    expect(holdout.outcomes.order?.is_significant).toBe(false);
    const { low = -1, high = 1 } = holdout.outcomes.order?.lift ?? {};
    if (population === 'all') expect(Math.max(-low, high)).toBeLessThan(0.05);
    expect(low).toBeLessThan(0);
    expect(high).toBeGreaterThan(0);
  }
  // Check sessions of both servers, from before and after the kill.
  for (const id of sessions.filter((_, at) => at % 60 === 0)) {
    const again = await call('GET', `/manage/v1/sessions/${id}/decision`);
    expect((again.json as { data: { identical: boolean } }).data.identical).toBe(true);
  }
});
