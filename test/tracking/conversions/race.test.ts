import { afterAll, beforeAll, expect, test } from 'vitest';
import { createTestApp, type TestApp } from '../../support/test-app.ts';
import { startRelay } from '../journey.ts';
import { addPostbackEndpoint, bookings, clickOffer, createTimedApp, postbacks, track } from './support.ts';

let t: Awaited<ReturnType<typeof createTimedApp>>;
let other: TestApp;
beforeAll(async () => {
  t = await createTimedApp();
  other = await createTestApp({ databaseUrl: t.databaseUrl, now: () => t.clock.ms });
  await addPostbackEndpoint(t, 'https://publisher.example/hook');
});
afterAll(async () => {
  await other.close();
  await t.close();
});

/**
 * Sends 64 concurrent reports through two processes.
 * @returns number of responses by status or message
 */
async function sendAll(fieldsOf: (index: number) => Record<string, string>): Promise<Record<string, number>> {
  const answers = await Promise.all(
    Array.from({ length: 64 }, (_, index) => track(index % 2 === 0 ? t : other, fieldsOf(index))),
  );
  const counts: Record<string, number> = {};
  for (const answer of answers) {
    const { message, error } = answer.json();
    const name = answer.statusCode === 200 ? message : `${answer.statusCode} ${error.code}`;
    counts[name] = (counts[name] ?? 0) + 1;
  }
  return counts;
}

test('of 64 identical concurrent reports in two processes, one is recorded and posted back', async () => {
  const { clickId, sessionId } = await clickOffer(t);
  const fields = { click_id: clickId, event: 'purchase', payout: '5', currency: 'USD', txn_id: 'race' };
  expect(await sendAll(() => fields)).toEqual({ recorded: 1, duplicate: 63 });
  expect(await bookings(t, sessionId)).toHaveLength(1);
  expect(await postbacks(t, sessionId)).toHaveLength(1);
});

test('of 64 concurrent voids, one reverses the conversion', async () => {
  const { clickId, sessionId } = await clickOffer(t);
  const fields = { click_id: clickId, event: 'purchase', payout: '5', txn_id: 'race' };
  await track(t, fields);
  expect(await sendAll(() => ({ ...fields, void: '1' }))).toEqual({ recorded: 1, duplicate: 63 });
  expect((await bookings(t, sessionId)).map((row) => row.payout_micros).toSorted()).toEqual(['-5000000', '5000000']);
  expect((await postbacks(t, sessionId)).map((postback) => postback.status).toSorted()).toEqual(['recorded', 'void']);
});

test('of 64 reports of one transaction with two amounts, one amount wins and the other is rejected', async () => {
  const { clickId, sessionId } = await clickOffer(t);
  const counts = await sendAll((index) => ({ click_id: clickId, txn_id: 'split', payout: index % 4 < 2 ? '1' : '2' }));
  expect(counts).toEqual({ recorded: 1, duplicate: 31, '409 conversion_conflict': 32 });
  expect(await bookings(t, sessionId)).toHaveLength(1);
  expect(await postbacks(t, sessionId)).toHaveLength(1);
});

test('many concurrent transactions of many clicks in any order are all recorded without a deadlock', async () => {
  const clicks = await Promise.all(Array.from({ length: 8 }, () => clickOffer(t)));
  const reports = clicks.flatMap(({ clickId }) =>
    Array.from({ length: 8 }, (_, index) => ({ click_id: clickId, txn_id: `n${index}`, payout: '1' })),
  );
  const shuffled = [...reports].toReversed();
  const [first, second] = await Promise.all([
    sendAll((index) => reports[index] as never),
    sendAll((index) => shuffled[index] as never),
  ]);
  expect((first.recorded ?? 0) + (second.recorded ?? 0)).toBe(64);
  expect((first.duplicate ?? 0) + (second.duplicate ?? 0)).toBe(64);
});

test('reports get 503 while the database is unavailable and may be sent again', async () => {
  const { clickId, sessionId } = await clickOffer(t);
  const relay = await startRelay(t.databaseUrl);
  const cutOff = await createTestApp({ databaseUrl: relay.url, now: () => t.clock.ms });
  relay.cut();
  const fields = { click_id: clickId, payout: '1' };
  const answer = await track(cutOff, fields);
  expect([answer.statusCode, answer.headers['retry-after']]).toEqual([503, '1']);
  expect((await track(cutOff, fields, '/track.png')).statusCode).toBe(503);
  relay.restore();
  await expect.poll(async () => (await track(cutOff, fields)).statusCode).toBe(200);
  expect(await bookings(t, sessionId)).toHaveLength(1);
  await cutOff.close();
  relay.close();
});
