import fc from 'fast-check';
import type pg from 'pg';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { noLists } from '../../../src/catalog/controls.ts';
import { buildSnapshot, loadSnapshot, rowsOf, stateOf } from '../../../src/catalog/store.ts';
import type { Offer, Publisher, Snapshot } from '../../../src/catalog/types.ts';
import { buildIndex } from '../../../src/decision/build-index.ts';
import { transaction } from '../../../src/platform/db/pool.ts';
import { clonePool } from '../../support/database.ts';

let database: Awaited<ReturnType<typeof clonePool>>;
let pool: pg.Pool;
let base: Snapshot;
beforeAll(async () => {
  database = await clonePool(3);
  pool = database.pool;
  await pool.query(
    `insert into publishers (name, sdk_id, time_zone) values ('Second', 'feedfeedfeedfeed', 'Asia/Tokyo')`,
  );
});
afterAll(() => database?.close());
beforeEach(async () => {
  base = await loadSnapshot(pool, buildIndex, { nowMs: Date.now() });
});

/** Returns SQL that selects a row of a table by a number. */
const pick = (table: string, n: number, column = 'id'): string =>
  `(select ${column} from ${table} order by ${column}
    offset ${n} % greatest(1, (select count(*) from ${table})) limit 1)`;

/** Changes made by users and programs, including manual SQL. */
const changes: ((n: number, m: number) => string)[] = [
  (n, m) => `update offers set title = 'Title ${m}' where id = ${pick('offers', n)}`,
  (n) => `update offers set active = not active where id = ${pick('offers', n)}`,
  (n, m) =>
    `update offers set deleted_at = now() - interval '${[1, 30, 32][m % 3]} days' where id = ${pick('offers', n)}`,
  (n) => `update offers set deleted_at = null where id = ${pick('offers', n)}`,
  (n, m) => `update offers set campaign_id = ${pick('campaigns', m)} where id = ${pick('offers', n)}`,
  (n) =>
    `insert into offers (publisher_id, campaign_id, title)
    select publisher_id, id, 'New' from campaigns where id = ${pick('campaigns', n)}`,
  (n) =>
    `delete from offers o where id = ${pick('offers', n)}
      and not exists (select 1 from creatives where offer_id = o.id)`,
  (n, m) => `update campaigns set weight = ${m} where id = ${pick('campaigns', n)}`,
  (n, m) =>
    `update campaigns set deleted_at = now() - interval '${[1, 30, 32][m % 3]} days'
    where id = ${pick('campaigns', n)}`,
  (n) => `update campaigns set deleted_at = null where id = ${pick('campaigns', n)}`,
  (n) => `update campaigns set active = not active where id = ${pick('campaigns', n)}`,
  (n, m) => `update campaigns set advertiser_id = ${pick('advertisers', m)} where id = ${pick('campaigns', n)}`,
  (n) => `insert into campaigns (publisher_id, advertiser_id, name, landing_url)
    select publisher_id, id, 'New', 'https://shop.example/' from advertisers where id = ${pick('advertisers', n)}`,
  (n, m) => `update advertisers set name = 'Advertiser ${m}' where id = ${pick('advertisers', n)}`,
  (n, m) => `insert into campaign_publishers (campaign_id, publisher_id, priority)
    values (${pick('campaigns', n)}, ${pick('publishers', m)}, 3)
    on conflict (campaign_id, publisher_id) do update set priority = ${m}`,
  (n) => `delete from campaign_publishers where campaign_id = ${pick('campaigns', n)}`,
  (n, m) =>
    `update creatives set offer_id = ${pick('offers', m)}, is_primary = false where id = ${pick('creatives', n)}`,
  (n) => `insert into creatives (offer_id, creative_type, type, width, height, url)
    values (${pick('offers', n)}, 'icon_image', 'png', 10, 10, 'https://cdn.example/x.png')`,
  (n) => `update creatives set deleted_at = now(), is_primary = false where id = ${pick('creatives', n)}`,
  (n) => `delete from creatives where id = ${pick('creatives', n)}`,
  (n, m) =>
    `update publishers set time_zone = '${['UTC', 'Asia/Tokyo', 'America/New_York'][m % 3]}'
    where id = ${pick('publishers', n)}`,
  (n, m) => `update publishers set name = 'Publisher ${m}' where id = ${pick('publishers', n)}`,
  (n) =>
    `update themes set deleted_at = case when deleted_at is null and not is_default then now() end
    where id = ${pick('themes', n)}`,
  (n) =>
    `insert into sequence_rules (publisher_id, effect, match)
    values (${pick('publishers', n)}, 'deny', '{"tags":["x"]}')`,
  (n) =>
    `insert into placements (publisher_id, name)
    values (${pick('publishers', n)}, 'place-${n}') on conflict do nothing`,
  (n) => `update sequence_rules set active = not active where id = ${pick('sequence_rules', n)}`,
  (n, m) => `update placements set offers_per_response = ${1 + (m % 5)} where name = ${pick('placements', n, 'name')}`,
  (n, m) =>
    `insert into api_keys (publisher_id, name, key_hash, permissions, rate_limit_per_s)
    values (${pick('publishers', n)}, 'Key', sha256(random()::text::bytea), '{ads/offers}', ${1 + m})`,
  (n) =>
    `insert into api_keys (publisher_id, name, key_hash, permissions, limited_by_keys)
    select publisher_id, 'Made', sha256(random()::text::bytea), permissions, array[id] from api_keys
    where id = ${pick('api_keys', n)}`,
  (n, m) => `update api_keys set rate_limit_per_s = ${1 + m} where id = ${pick('api_keys', n)}`,
  (n) => `update api_keys set revoked_at = now() where id = ${pick('api_keys', n)}`,
  (n, m) =>
    `insert into audiences (publisher_id, key, name) values (${pick('publishers', n)}, 'audience-${m}', 'Audience')
    on conflict do nothing`,
  (n) => `delete from audiences where id = ${pick('audiences', n)}`,
  (n, m) =>
    `insert into experiments (publisher_id, key, name, holdout, arms, salt)
    values (${pick('publishers', n)}, 'experiment-${m}', 'Experiment', 0.5,
      array['{"key":"arm","share":0.5,"changes":{}}'::jsonb], 'salt')
    on conflict do nothing`,
  (n) => `update experiments set stopped_at = now() where id = ${pick('experiments', n)}`,
  (n, m) =>
    `insert into exchange_rates (publisher_id, currency, valid_from, rate)
    values (${pick('publishers', n)}, 'EUR', current_date - ${m}, ${1 + m}) on conflict do nothing`,
  (n) => `update publishers set rates_base = 'USD' where id = ${pick('publishers', n)}`,
  () => `update offers set weight = weight + 1`,
  () => `update offers set title = title where false`,
];

const change = fc.record({ kind: fc.nat(changes.length - 1), n: fc.nat(50), m: fc.nat(50) });
/** Changes within one transaction. Those in `undone` are rolled back to a savepoint. */
const step = fc.record({
  list: fc.array(change, { minLength: 1, maxLength: 4 }),
  undone: fc.array(change, { maxLength: 2 }),
});

async function apply({ list, undone }: typeof step extends fc.Arbitrary<infer T> ? T : never): Promise<void> {
  const run = ({ kind, n, m }: (typeof list)[number]): string => (changes[kind] as (typeof changes)[number])(n, m);
  await transaction(pool, async (executor) => {
    if (undone.length > 0) {
      await executor.query('savepoint before');
      for (const changeOfRow of undone) await executor.query(run(changeOfRow));
      await executor.query('rollback to before');
    }
    for (const changeOfRow of list) await executor.query(run(changeOfRow));
  });
}

describe('an incremental refresh', () => {
  test('has the same result as a full load, after any changes', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 4 }), async (steps) => {
        for (const change of steps) await apply(change);
        base = await loadSnapshot(pool, buildIndex, { base, nowMs: Date.now() });
        const whole = await loadSnapshot(pool, buildIndex, { nowMs: Date.now() });
        expect(base).toEqual(whole);
        expect(rowsOf(base)).toEqual(rowsOf(whole));
      }),
      { numRuns: 60 },
    );
  });

  test('reuses publishers that a change does not concern, which keep their configuration state', async () => {
    await pool.query("insert into themes (publisher_id, name, unit, key) values (1, 'Own', 'mou', 'own-theme')");
    base = await loadSnapshot(pool, buildIndex, { base, nowMs: Date.now() });
    const stateIds = (snapshot: Snapshot): string[] =>
      [...snapshot.publishers.values()].map((publisher) => stateOf(snapshot, publisher).id);
    const [changed, apart] = base.publishers.values() as MapIterator<Publisher>;
    const before = stateIds(base);
    await pool.query("update themes set name = 'Renamed' where publisher_id = $1", [changed?.id]);
    const renamed = await loadSnapshot(pool, buildIndex, { base, nowMs: Date.now() });
    expect(renamed.publishers.get(changed?.id as number)).not.toBe(changed);
    expect(renamed.publishers.get(apart?.id as number)).toBe(apart);
    expect(stateIds(renamed)).toEqual([expect.not.stringMatching(`^${before[0]}$`), ...before.slice(1)]);
  });

  test('reuses the objects of unchanged campaigns, and the index of an unchanged publisher', async () => {
    const [changed, ...others] = [...base.offers.values()].sort((a, b) => a.id - b.id);
    const apart = others.find(({ campaign }) => campaign !== changed?.campaign);
    await pool.query("update offers set title = 'Only this' where id = $1", [changed?.id]);
    const next = await loadSnapshot(pool, buildIndex, { base, nowMs: Date.now() });
    expect(next.offers.get(changed?.id as number)?.copy.title).toBe('Only this');
    expect(next.offers.get(apart?.id as number)).toBe(apart);
    await pool.query('insert into placements (publisher_id, name) select id, $1 from publishers', ['a-new-place']);
    const last = await loadSnapshot(pool, buildIndex, { base: next, nowMs: Date.now() });
    for (const [id, publisher] of last.publishers) {
      expect([...publisher.placements.keys()]).toContain('a-new-place');
      expect(publisher.index).toBe(next.publishers.get(id)?.index);
    }
  });

  test('drops rows that were removed 31 days ago, even without a new change', async () => {
    const { id } = [...base.offers.values()].at(-1) as { id: number };
    await pool.query('update offers set deleted_at = now() where id = $1', [id]);
    base = await loadSnapshot(pool, buildIndex, { base, nowMs: Date.now() });
    expect(base.offers.has(id)).toBe(true);
    // Simulate that a month has passed since the removal, both in the database and in the rows that were already
    // loaded.
    const longAgo = new Date(Date.now() - 32 * 86_400_000);
    for (const row of rowsOf(base).offers) if (row.id === id) row.deleted_at = longAgo;
    await transaction(pool, async (executor) => {
      await executor.query("set local session_replication_role = 'replica'"); // no triggers
      await executor.query('update offers set deleted_at = $2 where id = $1', [id, longAgo]);
    });
    expect((await loadSnapshot(pool, buildIndex, { base, nowMs: Date.now() })).offers.has(id)).toBe(false);
  });

  test('reads everything if the list of changes is too old or a table was emptied', async () => {
    await pool.query("update offers set title = 'Long ago'");
    await pool.query(`do $$ begin for n in 1..510 loop
      perform set_config('perkwire.catalog_bumped', '', true);
      update publishers set name = name;
    end loop; end $$`);
    const { rows } = await pool.query(
      'select min(version) > $1 or min(version) is null as forgotten from catalog_changes',
      [base.version],
    );
    expect(rows[0].forgotten).toBe(true);
    base = await loadSnapshot(pool, buildIndex, { base, nowMs: Date.now() });
    expect(new Set([...base.offers.values()].map(({ copy }) => copy.title))).toEqual(new Set(['Long ago']));
    await pool.query('truncate creatives cascade');
    base = await loadSnapshot(pool, buildIndex, { base, nowMs: Date.now() });
    expect([...base.offers.values()].flatMap(({ creatives }) => creatives)).toEqual([]);
  });

  test('reads everything if the database has lost the latest changes', async () => {
    const { id, copy } = [...base.offers.values()].at(-1) as Offer;
    await pool.query("update offers set title = 'Lost' where id = $1", [id]);
    const ahead = await loadSnapshot(pool, buildIndex, { base, nowMs: Date.now() });
    await transaction(pool, async (executor) => {
      await executor.query("set local session_replication_role = 'replica'"); // no triggers
      await executor.query('update offers set title = $2 where id = $1', [id, copy.title]);
      await executor.query('update catalog_version set version = $1', [base.version]);
      await executor.query('delete from catalog_changes where version > $1', [base.version]);
    });
    const next = await loadSnapshot(pool, buildIndex, { base: ahead, nowMs: Date.now() });
    expect(next.offers.get(id)?.copy.title).toBe(copy.title);
    expect(next).toEqual(await loadSnapshot(pool, buildIndex, { nowMs: Date.now() }));
  });

  test('leaves out block rules from their end, as a configuration state of its own', async () => {
    const endMs = Date.now() + 60_000;
    const controls = {
      blocked: { ...noLists.blocked, words: ['e', 'never'] },
      rule_details: [{ by: 'word', value: 'e', placement: null, note: '', ends_at: new Date(endMs).toISOString() }],
    };
    const { rows } = await pool.query('update publishers set controls = $1 where id = 1 returning controls', [
      JSON.stringify(controls),
    ]);
    const loadAt = async (nowMs: number) => {
      base = await loadSnapshot(pool, buildIndex, { base, nowMs });
      const publisher = base.publishers.get(1) as Publisher;
      return { words: publisher.controls?.stored.blocked.words, state: stateOf(base, publisher), publisher };
    };
    const before = await loadAt(endMs - 1);
    const after = await loadAt(endMs);
    expect([before.words, after.words]).toEqual([['e', 'never'], ['never']]);
    expect(after.publisher.index).not.toBe(before.publisher.index);
    expect(after.state.id).not.toBe(before.state.id);
    expect((await loadSnapshot(pool, buildIndex, { nowMs: endMs + 5_000 })).publishers.get(1)?.controls).toEqual(
      expect.objectContaining({ stored: after.publisher.controls?.stored }),
    );
    // A decision is repeated with the rows of its state, at any later time.
    const stored = await buildSnapshot({ rows: before.state.rows(), buildIndex });
    expect(stored.publishers.get(1)?.controls?.stored.blocked.words).toEqual(['e', 'never']);
    expect(rows[0].controls).toEqual(controls);
    await pool.query('update publishers set controls = null');
  });
});
