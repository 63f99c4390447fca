import type { Executor } from '../db/pool.ts';
import type { CatalogRows } from './rows.ts';

/** Reads the version of the configuration; it grows with every change. */
export async function loadVersion(executor: Executor): Promise<number> {
  const { rows } = await executor.query<{ version: string }>({ name: 'catalog_version', text: 'select version from catalog_version' });
  return Number(rows[0]?.version);
}

/** Rows removed longer ago than this cannot be named by any valid token (a click lives 30 days). */
const lately = (table: string): string => `(${table}.deleted_at is null or ${table}.deleted_at > now() - interval '31 days')`;

/** Reads the whole configuration. Must run in one repeatable-read transaction. */
export async function loadRows(executor: Executor): Promise<CatalogRows> {
  const all = async <Row>(text: string): Promise<Row[]> => (await executor.query(text)).rows as Row[];
  return {
    version: await loadVersion(executor),
    publishers: await all('select * from publishers order by id'),
    keys: await all(
      "select id, name, publisher_id, encode(key_hash, 'hex') as key_hash, permissions, rate_limit_per_s, expires_at from api_keys where revoked_at is null",
    ),
    themes: await all('select * from themes where deleted_at is null order by id'),
    placements: await all('select * from placements'),
    campaigns: await all(
      `select c.*, a.name as advertiser_name from campaigns c join advertisers a on a.id = c.advertiser_id where ${lately('c')}`,
    ),
    provisions: await all(
      `select p.* from campaign_publishers p join campaigns c on c.id = p.campaign_id where ${lately('c')} order by p.campaign_id, p.publisher_id`,
    ),
    sequenceRules: await all('select * from sequence_rules where active and deleted_at is null order by id'),
    offers: await all(`select * from offers where ${lately('offers')}`),
    creatives: await all('select * from creatives where deleted_at is null order by offer_id, is_primary desc, id'),
  };
}
