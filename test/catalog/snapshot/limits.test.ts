import type pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { campaignLimits, offerLimits } from '../../../src/catalog/names.ts';
import { transaction } from '../../../src/platform/db/pool.ts';
import { clonePool } from '../../support/database.ts';

let database: Awaited<ReturnType<typeof clonePool>>;
let pool: pg.Pool;
beforeAll(async () => {
  database = await clonePool(2);
  pool = database.pool;
});
afterAll(() => database?.close());

/**
 * Sets one column of one row, and rolls back.
 * @returns the name of the violated constraint, or null if the value is accepted
 */
async function tryToSet(table: string, column: string, value: unknown): Promise<string | null> {
  const undo = new Error('undo');
  try {
    await transaction(pool, async (executor) => {
      await executor.query(`update ${table} set ${column} = $1 where id = (select min(id) from ${table})`, [value]);
      throw undo;
    });
  } catch (err) {
    if (err === undo) return null;
    const { code, constraint } = err as pg.DatabaseError;
    expect(code).toBe('23514');
    return constraint ?? 'unnamed';
  }
  throw new Error('not reached');
}

describe('the database rejects a text over its limit, and stores one at its limit', () => {
  test.each([
    ['title', 90],
    ['description', 220],
    ['mini_text', 160],
    ['cta_yes', 25],
    ['cta_no', 25],
    ['short_description', 140],
    ['short_headline', 60],
    ['loyalty_requirements', 160],
  ] as const)('%s: %i characters', async (column, limit) => {
    expect(offerLimits[column].maxLength).toBe(limit);
    expect(await tryToSet('offers', column, 'x'.repeat(limit))).toBeNull();
    expect(await tryToSet('offers', column, 'ä'.repeat(limit))).toBeNull();
    expect(await tryToSet('offers', column, 'x'.repeat(limit + 1))).toBe(`offers_${column}_check`);
  });

  test.each(['category', 'offer_description'] as const)('%s of a campaign', async (column) => {
    const limit = campaignLimits[column];
    expect(await tryToSet('campaigns', column, 'x'.repeat(limit))).toBeNull();
    expect(await tryToSet('campaigns', column, 'x'.repeat(limit + 1))).toBe(`campaigns_${column}_check`);
  });
});

describe('the database rejects values that clients cannot use', () => {
  test.each<[string, string, unknown, unknown]>([
    ['publishers', 'offers_per_response', 10, 11],
    ['publishers', 'offers_per_response', 1, 0],
    ['publishers', 'sdk_id', 'feedfeedfeedfeed', 'FEEDFEEDFEEDFEED'],
    ['publishers', 'privacy_url', 'https://shop.example/privacy', 'javascript:alert(1)'],
    ['campaigns', 'landing_url', 'https://shop.example/{click_id}', 'http://shop.example/'],
    ['campaigns', 'landing_url', 'https://shop.example/', 'javascript:alert(1)'],
    ['campaigns', 'click_id_param', 'cid', 'c&d'],
    ['campaigns', 'opt_out_days', 30, 0],
    ['offers', 'adv_pixel_url', 'https://pixel.example/', 'http://pixel.example/'],
    ['offers', 'useraction_url', '', 'javascript:alert(1)'],
    ['creatives', 'type', 'webp', 'svg'],
    ['creatives', 'creative_type', 'hero_image', 'banner'],
    ['creatives', 'width', 1, 0],
    ['creatives', 'url', 'https://cdn.example/x.png', 'http://cdn.example/x.png'],
    ['themes', 'unit', 'mou', 'wall'],
    ['api_keys', 'permissions', ['reports', 'wallet'], ['everything']],
    ['api_keys', 'rate_limit_per_s', 1, 0],
  ])('%s.%s accepts %j, but not %j', async (table, column, good, bad) => {
    expect(await tryToSet(table, column, good)).toBeNull();
    expect(await tryToSet(table, column, bad)).toMatch(new RegExp(`^${table}_`));
  });

  test('User Selected Perks on a single offer unit', async () => {
    const update = "update themes set usp_enabled = true where unit = 'sou'";
    await expect(pool.query(update)).rejects.toMatchObject({ code: '23514' });
  });

  test('two default themes of one publisher, and two primary images of one offer', async () => {
    await expect(pool.query('update themes set is_default = true')).rejects.toMatchObject({ code: '23505' });
    await expect(pool.query('update creatives set is_primary = true')).rejects.toMatchObject({ code: '23505' });
  });
});
