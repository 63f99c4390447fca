import { expect } from 'vitest';
import { collectSums } from '../../src/experiments/collect.ts';
import { requestOver } from '../support/request.ts';
import type { TestBase } from '../support/test-modules.ts';

type Json = Record<string, unknown>;

/** Returns API calls with the key of the demo catalogue's publisher. */
export function callsOf({ app }: TestBase, key = 'demo-key') {
  const call = async (method: 'GET' | 'POST' | 'PATCH' | 'DELETE' | 'PUT', path: string, payload?: Json) => {
    const url = `${path}${path.includes('?') ? '&' : '?'}api_key=${key}`;
    const answer = await requestOver(app, { method, url, ...(payload === undefined ? {} : { payload }) });
    return { status: answer.statusCode, body: answer.body === '' ? null : answer.json() };
  };
  const manage = (method: Parameters<typeof call>[0], path: string, payload?: Json) =>
    call(method, `/manage/v1/experiments${path}`, payload);
  return {
    call,
    manage,
    start: async (experiment: Json) => {
      const response = await manage('POST', '', experiment);
      expect(response.status, JSON.stringify(response.body)).toBe(201);
      const started = await manage('POST', `/${experiment.key}/start`);
      expect(started.status, JSON.stringify(started.body)).toBe(200);
      return started.body.data;
    },
    fetch: async (body: Json, version = 4) => {
      const answer = await call('POST', `/native/v${version}/offers.json`, { placement: 'checkout', ...body });
      expect(answer.status, JSON.stringify(answer.body)).toBe(200);
      return answer.body.data;
    },
    end: async () => {
      const { body } = await manage('GET', '');
      for (const { key: name } of body.data) await manage('DELETE', `/${name}`);
    },
  };
}

/** Adds all committed rows to the per-user totals. Transactions in other databases on the server may delay this. */
export async function collectAll({ pool }: TestBase): Promise<void> {
  const { rows } = await pool.query<{ xid: string }>('select pg_current_xact_id()::text as xid');
  const isPast = async (): Promise<boolean> => {
    await collectSums(pool);
    const result = await pool.query('select from experiment_progress where until_xid > $1::xid8', [rows[0]?.xid]);
    return result.rowCount === 1;
  };
  await expect.poll(isPast).toBe(true);
}

/** Adds 600 users to each arm, who spend the listed amounts in turn. */
export async function addUsers(
  { pool }: TestBase,
  key: string,
  arms: Record<string, readonly number[]>,
): Promise<void> {
  for (const [arm, amounts] of Object.entries(arms))
    await pool.query(
      `insert into experiment_units (experiment_id, version, arm, unit_key, first_at, sessions, would_see,
        revenue_micros)
      select e.id, e.version, $2, gen_random_uuid(), now(), 1, 1, 1000000 * ($3::int[])[1 + n % cardinality($3::int[])]
      from experiments e, generate_series(0, 599) n where e.key = $1`,
      [key, arm, amounts],
    );
}
