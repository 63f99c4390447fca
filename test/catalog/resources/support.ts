import { randomBytes } from 'node:crypto';
import { Readable } from 'node:stream';
import { hashKey, type Permission } from '../../../src/platform/http/auth.ts';
import type { TestApp, TestAppOptions } from '../../support/test-app.ts';
import { createTestModules, type TestBase, type TestModulesOptions } from '../../support/test-modules.ts';

export type Reply = {
  status: number;
  headers: Record<string, unknown>;
  body: Record<string, unknown> & { data: Record<string, unknown> };
};

export type Caller = {
  key: string;
  publisherId: number;
  call: (
    method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE',
    path: string,
    body?: unknown,
    headers?: Record<string, string>,
  ) => Promise<Reply>;
};

const publisherPermissions: Permission[] = [
  ...['ads/offers', 'reports', 'configurations', 'offers/management', 'offers/approval', 'wallet'],
];

/** Creates callers of the management API. */
type Callers = {
  /** Creates an API key for a publisher, and returns a client that uses it. */
  caller: (publisherId: number, permissions?: readonly Permission[]) => Promise<Caller>;
  addPublisher: (name?: string) => Promise<number>;
  operator: Caller;
};

export type ManagementApp = TestApp & Callers;
export type ManagementModules = TestBase & Callers;

let addresses = 0;

/** Creates the whole application, with API callers. */
export async function createManagementApp(options: TestAppOptions = {}): Promise<ManagementApp> {
  const { createTestApp } = await import('../../support/test-app.ts');
  return withCallers(await createTestApp(options));
}

/** Creates the named modules, with API callers. */
export const createManagementModules = async (
  names: readonly string[],
  options: TestModulesOptions = {},
): Promise<ManagementModules> => withCallers(await createTestModules(names, options));

async function withCallers<App extends TestBase>(t: App): Promise<App & Callers> {
  const caller: Callers['caller'] = async (publisherId, permissions = publisherPermissions) => {
    const key = `test_${randomBytes(12).toString('hex')}`;
    await t.pool.query(
      "insert into api_keys (publisher_id, name, key_hash, permissions) values ($1, 'Test key', decode($2, 'hex'), $3)",
      [publisherId, hashKey(key), permissions],
    );
    await t.deps.catalog.refresh();
    return { key, publisherId, call: callWith(t, key) };
  };
  const addPublisher = async (name = 'Test'): Promise<number> => {
    const { rows } = await t.pool.query<{ id: number }>(
      'insert into publishers (name, sdk_id) values ($1, $2) returning id',
      [name, randomBytes(8).toString('hex')],
    );
    await t.deps.catalog.refresh();
    return rows[0]?.id as number;
  };
  return { ...t, caller, addPublisher, operator: await caller(await addPublisher('Operator'), ['accounts']) };
}

const callWith =
  ({ app }: TestBase, key: string): Caller['call'] =>
  async (method, path, body, headers = {}) => {
    addresses += 1;
    const isText = typeof body === 'string' || Buffer.isBuffer(body) || body instanceof Readable;
    const answer = await app.inject({
      method,
      url: `/manage/v1${path}`,
      headers: {
        authorization: `Bearer ${key}`,
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...headers,
      },
      // Each call has a different client address, because the failure limit is not tested here.
      remoteAddress: `10.${(addresses >> 16) & 255}.${(addresses >> 8) & 255}.${addresses & 255}`,
      ...(body !== undefined && { payload: isText ? body : JSON.stringify(body) }),
    });
    return {
      status: answer.statusCode,
      headers: answer.headers,
      body: answer.body === '' ? {} : answer.json(),
    } as Reply;
  };

/** Creates one row of each kind, ordered so that references point to earlier rows. */
export async function addCatalogue({ call }: Caller): Promise<Record<string, number>> {
  const add = async (path: string, body: object): Promise<number> => {
    const reply = await call('POST', path, body);
    if (reply.status !== 201) throw new Error(`${path}: ${reply.status} ${JSON.stringify(reply.body)}`);
    return reply.body.data.id as number;
  };
  const theme = await add('/themes', { name: 'Perks', unit: 'mou', is_default: true });
  await add('/placements', { name: 'checkout', theme_id: theme });
  const advertiser = await add('/advertisers', { name: 'Farm' });
  const campaign = await add('/campaigns', {
    advertiser_id: advertiser,
    name: 'Boxes',
    landing_url: 'https://farm.example/?c={click_id}',
  });
  const offer = await add('/offers', { campaign_id: campaign, title: 'Half off' });
  return { theme, advertiser, campaign, offer };
}
