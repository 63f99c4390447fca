import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createTestApp, type TestApp } from '../../support/test-app.ts';

let t: TestApp;
beforeAll(async () => {
  t = await createTestApp();
});
afterAll(() => t.close());

async function post(body: object, query = '') {
  const answer = await t.app.inject({
    method: 'POST',
    url: `/native/v4/offers.json?api_key=demo-key${query}`,
    payload: { placement: 'checkout', pub_user_id: 'u-1', ...body },
  });
  return { status: answer.statusCode, body: answer.json() };
}

const sessions = async (ids: string[]) =>
  (
    await t.pool.query(
      'select id, offer_ids, campaign_ids, empty_reason from sessions where id = any($1) order by id',
      [ids],
    )
  ).rows;

/** Runs `work` while sessions cannot be written. The database still answers all other queries. */
async function whileStalled<Result>(work: () => Promise<Result>): Promise<Result> {
  const client = await t.pool.connect();
  try {
    await client.query('begin; lock table sessions in access exclusive mode');
    return await work();
  } finally {
    await client.query('rollback');
    client.release();
  }
}

async function until<Row>(read: () => Promise<Row[]>, count: number): Promise<Row[]> {
  for (;;) {
    const rows = await read();
    if (rows.length === count) return rows;
    await new Promise((resolve) => setImmediate(resolve));
  }
}

describe('a request with a deadline', () => {
  test('gets a normal response if the deadline is met', async () => {
    for (const answer of [
      await post({ timeout_ms: 5000 }),
      await post({ timeout_ms: '5000' }),
      await post({}, '&timeout_ms=5000'),
    ]) {
      expect(answer.body.data.count).toBe(3);
      expect(await sessions([answer.body.data.session_id])).toMatchObject([{ empty_reason: null }]);
    }
  });

  test('gets a valid empty response and an empty session if the database takes longer', async () => {
    const answers = await whileStalled(async () => {
      // Send more than one batch, so that some fetches are being written at their deadline and others are still queued.
      const first = post({ timeout_ms: 40 });
      await new Promise((resolve) => setImmediate(resolve));
      return Promise.all([first, ...Array.from({ length: 300 }, () => post({ timeout_ms: 40 }))]);
    });
    for (const { status, body } of answers) {
      expect(status).toBe(200);
      expect(body.data).toMatchObject({ offers: [], count: 0, settings: { enable_usp: true } });
    }
    const ids = answers.map(({ body }) => body.data.session_id as string);
    const storedSessions = await until(
      async () => (await sessions(ids)).filter((row) => row.empty_reason === 'deadline'),
      ids.length,
    );
    expect(storedSessions.every((row) => row.offer_ids.length === 0 && row.campaign_ids.length === 0)).toBe(true);
  });

  test('keeps its session until the deadline, even while earlier sessions are being emptied', async () => {
    // While the lock is held, sessions can be inserted but not updated.
    await t.pool.query(`create function wait_for_lock() returns trigger language plpgsql as
      $$ begin perform pg_advisory_xact_lock(7); return null; end $$`);
    await t.pool.query(
      'create trigger wait_for_lock before update on sessions for each statement execute function wait_for_lock()',
    );
    const holder = await t.pool.connect();
    try {
      await holder.query('select pg_advisory_lock(7)');
      let later: ReturnType<typeof post> | undefined;
      const sooner = await whileStalled(() => {
        later = post({ timeout_ms: 5000 });
        return post({ timeout_ms: 100 });
      });
      const answer = await later;
      expect([sooner.body.data.count, answer?.body.data.count]).toEqual([0, 3]);
      await holder.query('select pg_advisory_unlock(7)');
      const id = sooner.body.data.session_id as string;
      expect(
        await until(async () => (await sessions([id])).filter((row) => row.empty_reason === 'deadline'), 1),
      ).toHaveLength(1);
    } finally {
      holder.release();
      await t.pool.query('drop trigger wait_for_lock on sessions');
    }
  });

  test('does not affect requests without a deadline', async () => {
    let patient: ReturnType<typeof post> | undefined;
    const late = await whileStalled(() => {
      patient = post({});
      return post({ timeout_ms: 20 });
    });
    expect(late.body.data.count).toBe(0);
    expect((await patient)?.body.data.count).toBe(3);
  });

  test.each([9, 5001, 0, -1, 10.5, '9', '5001', '010', '', 'soon', ' 100', true, [100]])(
    '%j counts as absent',
    async (timeout_ms) => {
      expect((await post({ timeout_ms })).status).toBe(200);
    },
  );

  test.each(['9', '5001', '', '1e3', '100&timeout_ms=200'])('timeout_ms=%s counts as absent', async (timeout) => {
    expect((await post({}, `&timeout_ms=${timeout}`)).status).toBe(200);
  });
});
