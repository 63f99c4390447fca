import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { hashKey } from '../../src/platform/http/auth.ts';
import { applyRetention, jobsOf } from '../../src/runtime/run-jobs.ts';
import { runCommand } from '../command-line/support.ts';
import { signInAs, type TestUser } from '../dashboard/support.ts';
import { startTestJobs } from '../support/jobs.ts';
import { createTestApp, type TestApp } from '../support/test-app.ts';
import { createToys } from './toy-module.ts';

const ran: string[] = [];

/** Externally visible contributions of a module. */
type Traces = {
  route: number;
  operation: boolean;
  event: boolean;
  eventSchema: number;
  canSubscribe: number;
  grantable: boolean;
  page: number;
  navigation: boolean;
  exported: unknown;
  job: boolean;
  command: string;
};

async function tracesIn(t: TestApp, user: TestUser): Promise<Traces> {
  const get = (url: string) => t.app.inject({ url, headers: { authorization: 'Bearer toys-key' } });
  const page = `/dashboard/p/${t.publisher.id}`;
  const subject = { pub_user_id: 'somebody' };
  const exported = await t.app.inject({
    method: 'POST',
    url: '/manage/v1/privacy/export?api_key=demo-key',
    payload: subject,
  });
  const subscribed = await t.app.inject({
    method: 'PUT',
    url: '/manage/v1/webhook-endpoints/toy.made?api_key=demo-key',
    payload: { url: 'http://127.0.0.1:9/toys', method: 'POST' },
  });
  return {
    route: (await get('/toys.json')).statusCode,
    operation: '/toys.json' in (await get('/docs/json')).json().paths,
    event: (await get('/docs/events')).json().data.some(({ name }: { name: string }) => name === 'toy.made'),
    eventSchema: (await get('/docs/events/toy.made.v1.json')).statusCode,
    canSubscribe: subscribed.statusCode,
    grantable: (await user.get(`${page}/settings/keys`)).body.includes('value="toys"'),
    page: (await user.get(`${page}/toys`)).statusCode,
    navigation: (await user.get(`${page}/overview`)).body.includes(`href="${page}/toys"`),
    exported: exported.json().data.toys,
    job: await runJob(t),
    command: (await runCommand(['toys', 'list'], {}, t.contributions.commands)).out,
  };
}

/** Returns whether the job exists. If so, it has run once when the promise resolves. */
async function runJob(t: TestApp): Promise<boolean> {
  if (!jobsOf(t.contributions, t.deps).some(({ name }) => name === 'toys')) return false;
  const job = await startTestJobs(t, 'toys');
  await expect.poll(() => ran.includes('job')).toBe(true);
  await job.stop();
  return true;
}

describe('a listed module', () => {
  const apps: TestApp[] = [];
  let withToys: TestApp;
  let without: TestApp;
  beforeAll(async () => {
    withToys = await createTestApp({ modules: [createToys(ran)] });
    without = await createTestApp({ databaseUrl: withToys.databaseUrl });
    apps.push(without, withToys);
    // A real module would do this in a migration, because the database also lists the permissions that keys may have.
    await withToys.pool.query('alter table api_keys drop constraint api_keys_permissions_check');
    await withToys.pool.query(
      `insert into api_keys (publisher_id, name, key_hash, permissions)
      values ($1, 'Toys', decode($2, 'hex'), '{toys}')`,
      [withToys.publisher.id, hashKey('toys-key')],
    );
    for (const { deps } of apps) await deps.catalog.refresh();
  });
  afterAll(async () => {
    for (const app of apps) await app.close();
  });

  test('adds all its contributions, from route to command, by one line in the list', async () => {
    expect(await tracesIn(withToys, await signInAs(withToys, 'admin'))).toEqual({
      route: 200,
      operation: true,
      event: true,
      eventSchema: 200,
      canSubscribe: 201,
      grantable: true,
      page: 200,
      navigation: true,
      exported: [{ toy: 'ball' }],
      job: true,
      command: 'ball\n',
    } satisfies Traces);
    await applyRetention(withToys.contributions.modules, withToys.deps);
    expect(ran).toContain('retention');
  });

  test('leaves no trace once it is removed from the list', async () => {
    expect(await tracesIn(without, await signInAs(without, 'admin'))).toEqual({
      route: 404,
      operation: false,
      event: false,
      eventSchema: 404,
      canSubscribe: 404,
      grantable: false,
      page: 404,
      navigation: false,
      exported: undefined,
      job: false,
      command: '',
    } satisfies Traces);
    ran.length = 0;
    await applyRetention(without.contributions.modules, without.deps);
    expect(ran).toEqual([]);
  });
});
