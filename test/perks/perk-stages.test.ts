import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { countPerkStages } from '../../src/perks/usp-sessions.ts';
import { dayMs } from '../../src/platform/lib/time.ts';
import { dayOfUuid7, newUuid7 } from '../../src/platform/lib/uuid7.ts';
import type { PerkStagesQuery } from '../../src/reports/perk-stages.ts';
import { createTestModules, type TestModules } from '../support/test-modules.ts';

let t: TestModules<'perks'>;
const nowMs = Date.now();

type Selection = { selected: number[]; atMs?: number; dev?: boolean; isWrapped?: boolean; delivery?: string };

beforeAll(async () => {
  t = await createTestModules(['perks']);
  await addSelection(1, { selected: [10] });
  await addSelection(1, { selected: [10, 20], isWrapped: true });
  await addSelection(1, { selected: [20], isWrapped: true, delivery: 'delivered' });
  await addSelection(1, { selected: [20], isWrapped: true, delivery: 'failed' });
  await addSelection(1, { selected: [], isWrapped: true });
  await addSelection(1, { selected: [10], isWrapped: true, delivery: 'delivered', dev: true });
  await addSelection(1, { selected: [10], isWrapped: true, atMs: nowMs - 3 * dayMs });
  await addSelection(2, { selected: [10], isWrapped: true, delivery: 'delivered' });
});
afterAll(() => t?.close());

/** Inserts a session of a publisher with two perks, its selection, and the webhook about it. */
async function addSelection(
  publisherId: number,
  { selected, atMs = nowMs, dev = false, isWrapped = false, delivery }: Selection,
): Promise<void> {
  const id = newUuid7(atMs);
  const day = dayOfUuid7(id);
  await t.pool.query('select create_day_partitions($1::date, $1::date)', [day]);
  await t.pool.query(
    `insert into sessions (day, id, publisher_id, placement, country, offer_ids, campaign_ids, dev, usp, usp_check_all,
      created_at)
    values ($1, $2, $3, 'checkout', 'DE', '{1,2}', '{10,20}', $4, true, false, $5)`,
    [day, id, publisherId, dev, new Date(atMs)],
  );
  await t.pool.query(
    'insert into usp_sessions (day, session_id, publisher_id, selected, wrapped_at) values ($1, $2, $3, $4, $5)',
    [day, id, publisherId, selected, isWrapped ? new Date(atMs) : null],
  );
  if (delivery !== undefined)
    await t.pool.query(
      `insert into deliveries (day, id, publisher_id, endpoint_id, event, session_id, payload, status)
      values ($1, $2, $3, 1, 'usp.selection', $4, '', $5)`,
      [day, newUuid7(atMs), publisherId, id, delivery],
    );
}

const all: PerkStagesQuery = {
  publisherId: 1,
  fromMs: nowMs - dayMs,
  untilMs: nowMs + 1,
  texts: {},
  campaigns: null,
  offers: null,
  attribute: null,
};

describe('the perk funnel', () => {
  test('counts the sessions of a publisher in a range, except dev sessions and empty selections', async () => {
    expect(await countPerkStages(t.pool, all)).toEqual({ selected: 4, confirmed: 3, delivered: 1 });
    const week = { ...all, fromMs: nowMs - 7 * dayMs };
    expect(await countPerkStages(t.pool, week)).toEqual({ selected: 5, confirmed: 4, delivered: 1 });
  });

  test.each<[string, Partial<PerkStagesQuery>]>([
    ['no filter', {}],
    ['one campaign', { campaigns: [10] }],
    ['several campaigns', { campaigns: [20, 99] }],
    ['a campaign without sessions', { campaigns: [99] }],
  ])('counts the same sessions with %s, whether or not it reads the sessions', async (_name, filter) => {
    const bySession = await countPerkStages(t.pool, { ...all, ...filter, texts: { country: ['DE'] } });
    expect(await countPerkStages(t.pool, { ...all, ...filter })).toEqual(bySession);
  });

  test('reads the sessions only for filters that need them', async () => {
    const queries: string[] = [];
    const spy = {
      query: (text: string, values: unknown[]) => {
        queries.push(text);
        return t.pool.query(text, values);
      },
    };
    for (const filter of [{}, { campaigns: [10] }, { offers: [1] }])
      await countPerkStages(spy as never, { ...all, ...filter });
    expect(queries.map((text) => text.includes('offer_ids'))).toEqual([false, false, true]);
  });
});
