import type { LightMyRequestResponse } from 'fastify';
import { eraseNext as eraseNextWith } from '../../src/privacy/erasure-job.ts';
import { secondSweepMs } from '../../src/privacy/erasures.ts';
import type { TestBase } from '../support/test-modules.ts';

/**
 * Runs one sweep of an erasure that is due.
 * @returns false if none is due
 */
export const eraseNext = ({ deps, contributions }: Pick<TestBase, 'deps' | 'contributions'>): Promise<boolean> =>
  eraseNextWith({ ...deps, userData: contributions.userData });

export const askErasure = (
  { app, publisher }: TestBase,
  body: object,
  key = publisher.key,
): Promise<LightMyRequestResponse> =>
  app.inject({ method: 'POST', url: `/manage/v1/privacy/erasure?api_key=${key}`, payload: body });

export const erasureStatus = (
  { app, publisher }: TestBase,
  id: string,
  key = publisher.key,
): Promise<LightMyRequestResponse> =>
  app.inject({ method: 'GET', url: `/manage/v1/privacy/erasure/${id}?api_key=${key}` });

export const askExport = (
  { app, publisher }: TestBase,
  body: object,
  key = publisher.key,
): Promise<LightMyRequestResponse> =>
  app.inject({ method: 'POST', url: `/manage/v1/privacy/export?api_key=${key}`, payload: body });

/**
 * Erases a user with both sweeps, like a worker.
 * @returns the final response for the erasure job
 */
export async function erase(t: TestBase & { clock: { ms: number } }, body: object) {
  const { id } = (await askErasure(t, body)).json().data;
  while (await eraseNext(t));
  t.clock.ms += secondSweepMs;
  while (await eraseNext(t));
  return (await erasureStatus(t, id)).json();
}

/**
 * Searches the whole database for a string: every column of every row, including binary data.
 * @returns the tables that contain it
 */
export async function tablesWith({ pool }: Pick<TestBase, 'pool'>, text: string): Promise<string[]> {
  const { rows: tables } = await pool.query<{ name: string }>(
    "select relname as name from pg_class where relkind = 'r' and relnamespace = 'public'::regnamespace order by 1",
  );
  const hex = Buffer.from(text).toString('hex');
  const tableNames: string[] = [];
  for (const { name } of tables) {
    const { rows } = await pool.query(
      `select 1 from "${name}" t where position($1 in t::text) > 0 or position($2 in t::text) > 0 limit 1`,
      [text, hex],
    );
    if (rows.length > 0) tableNames.push(name.replace(/_p\d{8}$/, ''));
  }
  return [...new Set(tableNames)];
}
