import fc from 'fast-check';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { Standing } from '../../../../src/webhooks/dispatcher/claim/claimed.ts';
import { createConcurrency } from '../../../../src/webhooks/dispatcher/claim/limits.ts';
import { createWebhooksApp, type WebhooksApp } from '../../app.ts';
import { addEndpoint, createParts, enqueueDelivery, until, untilScanned } from '../support.ts';

let t: WebhooksApp;
const { hook, dispatcher, end } = createParts(() => t);

/** Polling interval that is never reached: only notifications and the end of calls start other calls. */
const neverMs = 3_600_000;

beforeAll(async () => {
  t = await createWebhooksApp();
});
afterEach(end);
afterAll(() => t.close());

describe('one endpoint among others', () => {
  test('a hanging endpoint with a backlog gets four calls and delays no other endpoint', async () => {
    const hanging = await hook(() => {});
    const healthy = await hook();
    const stuck = await addEndpoint(t, hanging.url, { deadline_ms: 30_000 });
    for (let count = 0; count < 40; count++) await enqueueDelivery(t, stuck);
    await dispatcher({ concurrency: 16, drainLimitMs: 0, pollMs: neverMs });
    await until(() => hanging.requests.length, 4);
    const endpoint = await addEndpoint(t, healthy.url);
    for (let count = 1; count <= 20; count++) {
      await enqueueDelivery(t, endpoint);
      await until(() => healthy.requests.length, count);
    }
    expect(hanging.requests).toHaveLength(4); // none has reached its deadline
  });

  test('a higher concurrency limit is used and never exceeded, even by two workers', async () => {
    const hanging = await hook(() => {});
    const endpoint = await addEndpoint(t, hanging.url, { max_in_flight: 7 });
    for (let count = 0; count < 30; count++) await enqueueDelivery(t, endpoint);
    for (let count = 0; count < 2; count++) await dispatcher({ concurrency: 40, drainLimitMs: 0, pollMs: 50 });
    await until(() => hanging.requests.length, 7);
    await untilScanned(t, 24); // by both
    expect(hanging.requests).toHaveLength(7);
  });

  test('a backlog is delivered as calls end, without waiting for a poll', async () => {
    const receiver = await hook();
    const endpoint = await addEndpoint(t, receiver.url);
    for (let count = 0; count < 60; count++) await enqueueDelivery(t, endpoint);
    await dispatcher({ concurrency: 3, pollMs: neverMs });
    await until(() => receiver.requests.length, 60);
  });

  test('hanging endpoints that never succeeded use at most 30% of the concurrency', async () => {
    const hanging = await hook(() => {});
    for (let count = 0; count < 20; count++) {
      const endpoint = await addEndpoint(t, hanging.url, { deadline_ms: 30_000 });
      await t.pool.query('update endpoint_health set last_failure_at = now() where endpoint_id = $1', [endpoint.id]);
      for (let index = 0; index < 5; index++) await enqueueDelivery(t, endpoint);
    }
    await dispatcher({ concurrency: 60, drainLimitMs: 0, pollMs: 50 });
    await until(() => hanging.requests.length, 18);
    await untilScanned(t, 12);
    expect(hanging.requests).toHaveLength(18);
  });

  test('an untried endpoint gets its first call immediately while twenty failed ones hang', async () => {
    const hanging = await hook(() => {});
    for (let count = 0; count < 20; count++) {
      const endpoint = await addEndpoint(t, hanging.url, { deadline_ms: 30_000 });
      await t.pool.query('update endpoint_health set last_failure_at = now() where endpoint_id = $1', [endpoint.id]);
      for (let index = 0; index < 5; index++) await enqueueDelivery(t, endpoint);
    }
    await dispatcher({ concurrency: 8, drainLimitMs: 0, pollMs: 50 });
    await until(() => hanging.requests.length, 2);
    await untilScanned(t, 12);
    const receiver = await hook();
    await enqueueDelivery(t, await addEndpoint(t, receiver.url));
    await until(() => receiver.requests.length, 1);
    expect(hanging.requests).toHaveLength(2); // none has reached its deadline
  });

  test('a new endpoint gets its first call before twenty new ones that hang time out', async () => {
    const hanging = await hook(() => {});
    for (let count = 0; count < 20; count++)
      await enqueueDelivery(t, await addEndpoint(t, hanging.url, { deadline_ms: 30_000 }));
    await dispatcher({ concurrency: 4, drainLimitMs: 0, pollMs: neverMs });
    await until(() => hanging.requests.length, 1);
    const receiver = await hook();
    await enqueueDelivery(t, await addEndpoint(t, receiver.url));
    await until(() => receiver.requests.length, 1);
    expect(hanging.requests.length).toBeLessThanOrEqual(20); // none has reached its deadline
  });

  test('trusted endpoints are served while hanging new ones use their whole share', async () => {
    const good = await addEndpoint(t, (await hook()).url);
    const receiver = await hook();
    await t.pool.query('update webhook_endpoints set url = $2 where id = $1', [good.id, receiver.url]);
    await t.pool.query('update endpoint_health set last_success_at = now() where endpoint_id = $1', [good.id]);
    const hanging = await hook(() => {});
    for (let count = 0; count < 12; count++) {
      const endpoint = await addEndpoint(t, hanging.url, { deadline_ms: 30_000 });
      for (let index = 0; index < 5; index++) await enqueueDelivery(t, endpoint);
    }
    await dispatcher({ concurrency: 10, drainLimitMs: 0 });
    await until(() => hanging.requests.length, 4);
    for (let count = 0; count < 10; count++) await enqueueDelivery(t, good);
    await until(() => receiver.requests.length, 10);
    expect(hanging.requests.length).toBeLessThanOrEqual(12); // the first call of each
  });
});

describe('concurrency shares', () => {
  const fill = (slots: ReturnType<typeof createConcurrency>, endpointId: number, standing: Standing, count: number) =>
    Array.from({ length: count }, () => slots.take(endpointId, standing));

  test('60% of the slots are reserved for trusted endpoints under any load from others', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 3, max: 200 }),
        fc.array(fc.nat({ max: 9 }), { maxLength: 50 }),
        (total, requestedCounts) => {
          const slots = createConcurrency(total, () => 0);
          requestedCounts.forEach((count, index) => {
            fill(slots, index, index % 2 === 0 ? 'tried' : 'untried', Math.min(count, slots.allowance().untrusted));
          });
          expect(slots.count()).toBeLessThanOrEqual(total * 0.4);
          expect(slots.allowance().trusted).toBeGreaterThanOrEqual(total * 0.6);
        },
      ),
    );
  });

  test('a pending first call frees its slot only for other first calls, up to a limit', () => {
    let nowMs = 0;
    const slots = createConcurrency(5, () => nowMs);
    const releases = fill(slots, 1, 'untried', 2);
    expect(slots.allowance()).toMatchObject({ trusted: 3, untrusted: 0, tried: 0 });
    expect(slots.nextMs()).toBe(250);
    nowMs = 250;
    expect(slots.allowance()).toMatchObject({ trusted: 5, untrusted: 2, tried: 0 });
    expect(slots.nextMs()).toBeNull();
    for (let endpoint = 2; slots.allowance().untrusted > 0; endpoint++, nowMs += 250)
      fill(slots, endpoint, 'untried', 2);
    expect(slots.count()).toBe(34);
    expect(slots.allowance()).toMatchObject({ trusted: 3, tried: 0 });
    expect(slots.nextMs()).toBeNull();
    for (const release of releases) release();
    expect(slots.allowance().untrusted).toBe(2);
  });

  test('an endpoint with a call of over a second is not trusted until the call ends', () => {
    let nowMs = 0;
    const slots = createConcurrency(10, () => nowMs);
    const releases = fill(slots, 1, 'trusted', 10);
    expect(slots.allowance()).toMatchObject({ trusted: 0, untrusted: 0, slowIds: [] });
    nowMs = 1000;
    expect(slots.allowance()).toMatchObject({ trusted: 6, untrusted: 0, slowIds: [1] });
    fill(slots, 2, 'trusted', 6);
    expect(slots.allowance()).toMatchObject({ trusted: 0 });
    for (const release of releases) release();
    expect(slots.allowance()).toMatchObject({ trusted: 4, untrusted: 4, slowIds: [] });
  });

  test('at most twice the concurrency is in use, however many trusted endpoints begin to hang', () => {
    let nowMs = 0;
    const slots = createConcurrency(10, () => nowMs);
    for (let endpointId = 1; endpointId < 100; endpointId++) {
      fill(slots, endpointId, 'trusted', Math.min(4, slots.allowance().trusted));
      nowMs += 600;
    }
    expect(slots.count()).toBe(20);
  });
});
