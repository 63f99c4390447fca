import pg from 'pg';
import { expect, test } from 'vitest';
import { maxPlacements } from '../../../src/catalog/names.ts';
import { createTestApp } from '../../support/test-app.ts';

test('300 concurrent fetches with new placements succeed and use one connection while waiting', async () => {
  const t = await createTestApp();
  const [other, observer] = [0, 1].map(() => new pg.Client({ connectionString: t.databaseUrl })) as [
    pg.Client,
    pg.Client,
  ];
  await Promise.all([other.connect(), observer.connect()]);
  await other.query('begin');
  await other.query('select 1 from publishers where id = $1 for no key update', [t.publisher.id]);
  const fetches = Array.from({ length: 300 }, (_, index) =>
    t.app.inject({
      method: 'POST',
      url: '/native/v2/offers.json?api_key=demo-key',
      payload: { placement: `new-${index}`, pub_user_id: `user-${index}` },
    }),
  );
  const waiting = "select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'";
  await expect.poll(async () => (await observer.query(waiting)).rowCount).toBe(1);
  const existingPlacement = { placement: 'checkout', pub_user_id: 'somebody' };
  const answer = await t.app.inject({
    method: 'POST',
    url: '/native/v2/offers.json?api_key=demo-key',
    payload: existingPlacement,
  });
  expect(answer.statusCode).toBe(200);
  expect((await observer.query(waiting)).rowCount).toBe(1);
  await other.query('commit');
  expect(new Set((await Promise.all(fetches)).map(({ statusCode }) => statusCode))).toEqual(new Set([200]));
  const { rows } = await other.query('select count(*)::int as count from placements where publisher_id = $1', [
    t.publisher.id,
  ]);
  expect(rows).toEqual([{ count: maxPlacements }]);
  await Promise.all([other.end(), observer.end()]);
  await t.close();
});
