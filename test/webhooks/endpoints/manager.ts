import { randomBytes } from 'node:crypto';
import type { LightMyRequestResponse } from 'fastify';
import { expect } from 'vitest';
import { transaction } from '../../../src/platform/db/pool.ts';
import { hashKey } from '../../../src/platform/http/auth.ts';
import { enqueue } from '../../../src/webhooks/outbox.ts';
import type { TestBase } from '../../support/test-modules.ts';

/** A separate publisher with a key that has the `configurations` permission. */
export type Manager = {
  id: number;
  key: string;
  call: (
    method: 'GET' | 'PUT' | 'POST' | 'PATCH' | 'DELETE',
    path: string,
    payload?: object,
  ) => Promise<LightMyRequestResponse>;
  /**
   * Sets the endpoint of an event.
   * @returns the endpoint ID
   */
  endpoint: (url: string, settings?: object, event?: string) => Promise<number>;
  /**
   * Enqueues a delivery, like a feature of the product.
   * @returns the delivery ID
   */
  enqueueDelivery: (fields?: Partial<DeliveryFields>) => Promise<string>;
};

type DeliveryFields = {
  event: string;
  sessionId: string | null;
  pubUserId: string | null;
  payload: Buffer;
  nowMs: number;
};

export async function addManager(t: TestBase): Promise<Manager> {
  const key = randomBytes(8).toString('hex');
  const { rows } = await t.pool.query<{ id: number }>(
    "insert into publishers (name, sdk_id) values ('Test', $1) returning id",
    [key],
  );
  const id = rows[0]?.id as number;
  await t.pool.query(
    `insert into api_keys (publisher_id, name, key_hash, permissions)
    values ($1, 'test', decode($2, 'hex'), '{configurations}')`,
    [id, hashKey(key)],
  );
  await t.deps.catalog.refresh();
  const call: Manager['call'] = (method, path, payload) =>
    t.app.inject({
      method,
      url: `/manage/v1${path}`,
      headers: { authorization: `Bearer ${key}` },
      ...(payload && { payload }),
    });
  return {
    id,
    key,
    call,
    endpoint: async (url, settings = {}, event = 'usp.selection') => {
      const answer = await call('PUT', `/webhook-endpoints/${event}`, { url, method: 'POST', ...settings });
      expect(answer.statusCode, answer.body).toBeLessThan(300);
      return answer.json().data.id;
    },
    enqueueDelivery: async (fields = {}) => {
      const { payload = Buffer.from('{"body":{}}'), ...rest } = fields;
      const defaults = { event: 'usp.selection', sessionId: null, pubUserId: null, nowMs: Date.now() };
      const event = { publisherId: id, dev: false, ...defaults, ...rest, payload: () => payload };
      const ids = await transaction(t.pool, (executor) => enqueue(executor, [event]));
      return ids[0] as string;
    },
  };
}
