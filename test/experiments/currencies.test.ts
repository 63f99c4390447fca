import { afterAll, beforeAll, expect, test } from 'vitest';
import { signInAs } from '../dashboard/support.ts';
import { createTestApp, type TestApp } from '../support/test-app.ts';
import { callsOf, collectAll } from './support.ts';

let t: TestApp;
let api: ReturnType<typeof callsOf>;
beforeAll(async () => {
  t = await createTestApp();
  api = callsOf(t);
  const rates = { base: 'USD', rates: [{ currency: 'EUR', rate: 0.8, valid_from: '2020-01-01' }] };
  expect((await api.call('PUT', '/manage/v1/exchange-rates', rates)).status).toBe(200);
});
afterAll(() => t.close());

/** Books conversions of a session, in units per currency. */
async function book(sessionId: string, amounts: Record<string, number>): Promise<void> {
  for (const [currency, amount] of Object.entries(amounts))
    await t.pool.query(
      `insert into bookings (day, session_id, id, publisher_id, offer_id, campaign_id, at, conversions, revenue_micros,
        currency)
      select day, id, gen_random_uuid(), publisher_id, 1, 1, now(), 1, $2, $3 from sessions where id = $1`,
      [sessionId, amount * 1e6, currency],
    );
}

type Report = {
  currency: string | null;
  arms: {
    arm: string;
    sessions: number;
    revenue_by_currency: object[];
    metrics: Record<string, { value: number } | undefined>;
  }[];
};

async function report(): Promise<Report> {
  await collectAll(t);
  return (await api.call('GET', '/manage/v1/experiments/money/report')).body.data;
}

test('revenue in several currencies is compared in one by exchange rates, and listed by currency', async () => {
  await api.start({ key: 'money', arms: [{ key: 'b', share: 1, changes: {} }] });
  for (const [user, amounts] of Object.entries({ a: { USD: 5, EUR: 4 }, b: { EUR: 2, KWD: 1.125 }, c: { JPY: 100 } })) {
    const { session_id } = await api.fetch({ pub_user_id: user });
    await collectAll(t);
    await book(session_id, amounts);
  }
  const { currency, arms } = await report();
  const [arm] = arms.filter(({ sessions }) => sessions > 0);
  expect(currency).toBe('USD');
  expect(arm?.metrics.revenue_per_1000_sessions?.value).toBeCloseTo(((5 + (4 + 2) / 0.8) * 1000) / 3, 9);
  expect(arm?.revenue_by_currency).toEqual([
    { currency: 'EUR', revenue: 6, not_converted: 0 },
    { currency: 'JPY', revenue: 100, not_converted: 100 },
    { currency: 'KWD', revenue: 1.125, not_converted: 1.125 },
    { currency: 'USD', revenue: 5, not_converted: 0 },
  ]);
});

test('a version keeps its currency if the publisher changes it, and the next version uses the new one', async () => {
  await api.call('PATCH', `/manage/v1/publishers/${t.publisher.id}`, { reporting_currency: 'EUR' });
  expect((await report()).currency).toBe('USD');
  const arms = [
    { key: 'b', share: 0.9, changes: {} },
    { key: 'c', share: 0.1, changes: {} },
  ];
  expect((await api.manage('PATCH', '/money', { arms })).status).toBe(200);
  await api.fetch({ pub_user_id: 'later' });
  expect((await report()).currency).toBe('EUR');
});

test('revenue from before an experiment counts as history in its currency', async () => {
  const { session_id } = await api.fetch({ pub_user_id: 'early', placement: 'elsewhere' });
  await api.end();
  await book(session_id, { USD: 3, EUR: 1, JPY: 7 });
  await t.pool.query("update sessions set created_at = created_at - interval '1 hour' where id = $1", [session_id]);
  await collectAll(t);
  await api.start({ key: 'money', arms: [{ key: 'b', share: 1, changes: {} }] });
  await api.fetch({ pub_user_id: 'early' });
  await collectAll(t);
  const { rows } = await t.pool.query('select before_revenue_micros::int as micros from experiment_units');
  expect(rows).toEqual([{ micros: 3_400_000 }]);
});

test('a version in which an earlier release mixed currencies shows no revenue and the reason', async () => {
  const { session_id } = await api.fetch({ pub_user_id: 'mixed' });
  await collectAll(t);
  await book(session_id, { USD: 5 });
  await collectAll(t);
  await t.pool.query("update experiment_currencies set currency = 'XXX'");
  const { currency, arms } = await report();
  expect(currency).toBeNull();
  expect(arms.map(({ metrics }) => metrics.revenue_per_1000_sessions)).toEqual(arms.map(() => undefined));
  const analyst = await signInAs(t, 'analyst');
  const { body } = await analyst.get(`/dashboard/p/${t.publisher.id}/experiments/money`);
  expect(body).toContain('an earlier release added amounts in several currencies');
});
