import fc from 'fast-check';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { createSlots } from '../../src/webhooks/dispatcher/slots.ts';
import { createTestApp, type TestApp } from '../support/test-app.ts';
import { addEndpoint, type Hook, promise, startHook, startTestDispatcher, until } from './support.ts';

let t: TestApp;
const parts: (() => Promise<void>)[] = [];

beforeAll(async () => {
  t = await createTestApp();
});
afterEach(async () => {
  for (const end of parts.splice(0).reverse()) await end();
});
afterAll(() => t.close());

async function hook(answer?: Parameters<typeof startHook>[0]): Promise<Hook> {
  const made = await startHook(answer);
  parts.push(made.close);
  return made;
}

test('an endpoint that hangs with a backlog does not keep a healthy one waiting', async () => {
  const hanging = await hook(() => {});
  const healthy = await hook();
  const stuck = await addEndpoint(t, hanging.url);
  for (let count = 0; count < 40; count++) await promise(t, stuck);
  const dispatcher = await startTestDispatcher(t, { concurrency: 8, drainLimitMs: 0 });
  parts.push(dispatcher.stop);
  await until(() => hanging.taken.length, 4);
  const endpoint = await addEndpoint(t, healthy.url);
  for (let count = 1; count <= 20; count++) {
    const startMs = performance.now();
    await promise(t, endpoint);
    await until(() => healthy.taken.length, count);
    expect((healthy.taken.at(-1)?.atMs ?? 0) - startMs).toBeLessThan(1000); // not by the poll, let alone the deadline
  }
  expect(hanging.taken).toHaveLength(4);
});

test('a backlog is worked off as slots become free, without waiting for a poll', async () => {
  const receiver = await hook();
  const endpoint = await addEndpoint(t, receiver.url);
  for (let count = 0; count < 60; count++) await promise(t, endpoint);
  const dispatcher = await startTestDispatcher(t, { concurrency: 3 });
  parts.push(dispatcher.stop);
  await until(() => receiver.taken.length, 60, 10_000); // two a second by polls alone
});

test('three endpoints that hang leave a slot to a fourth', async () => {
  const hanging = await hook(() => {});
  const healthy = await hook();
  for (let count = 0; count < 3; count++) {
    const endpoint = await addEndpoint(t, hanging.url);
    for (let each = 0; each < 10; each++) await promise(t, endpoint);
  }
  const endpoint = await addEndpoint(t, healthy.url);
  await promise(t, endpoint);
  const dispatcher = await startTestDispatcher(t, { concurrency: 16, drainLimitMs: 0 });
  parts.push(dispatcher.stop);
  await until(() => healthy.taken.length, 1);
});

test('one endpoint gets half of the slots, however often it is asked for', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 200 }), (total) => {
      const slots = createSlots(total);
      for (;;) {
        const { limit, room, rooms } = slots.allowance();
        const more = Math.min(limit, rooms[0] ?? room);
        if (more === 0) break;
        for (let count = 0; count < more; count++) slots.take(1);
      }
      expect(slots.free()).toBe(Math.floor(total / 2));
    }),
  );
});

test('no claim takes more than there is, and hanging endpoints leave room as long as a slot is free', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 200 }), fc.array(fc.integer({ min: 1, max: 20 }), { maxLength: 40 }), (total, asked) => {
      const slots = createSlots(total);
      for (const endpointId of asked) {
        const { limit, room, busyIds, rooms } = slots.allowance();
        const at = busyIds.indexOf(endpointId);
        const more = Math.min(limit, at === -1 ? room : (rooms[at] as number));
        for (let count = 0; count < more; count++) slots.take(endpointId);
        expect(slots.free()).toBeGreaterThanOrEqual(0);
        if (slots.free() > 0) expect(slots.allowance().room).toBeGreaterThan(0);
      }
    }),
  );
});
