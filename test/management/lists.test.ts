import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Caller, createManagementModules, type ManagementModules } from '../catalog/resources/support.ts';

let t: ManagementModules;
let me: Caller;
beforeAll(async () => {
  t = await createManagementModules(['catalog-admin']);
  me = await t.caller(await t.addPublisher());
  const { rows } = await t.pool.query("insert into advertisers (publisher_id, name) values ($1, 'Farm') returning id", [
    me.publisherId,
  ]);
  await t.pool.query(
    `insert into campaigns (publisher_id, advertiser_id, name, priority, active, landing_url)
    select $1, $2, case n when 7 then 'Save 50%_now' else 'Campaign ' || n end,
      n % 3, n % 2 = 0, 'https://farm.example/'
      from generate_series(1, 25) n`,
    [me.publisherId, rows[0].id],
  );
});
afterAll(() => t?.close());

type CampaignRow = { id: number; name: string; priority: number; created_at: string };
const page = async (query: string) => {
  const reply = await me.call('GET', `/campaigns?${query}`);
  return {
    status: reply.status,
    rows: reply.body.data as unknown as CampaignRow[],
    next: reply.body.next_cursor as string | null,
  };
};

describe('a list', () => {
  test.each(['id', '-id', 'name', '-name', 'priority', '-priority', 'created_at', '-updated_at'])(
    'returns every row exactly once and in order across pages when sorted by %s',
    async (sort) => {
      const allRows: CampaignRow[] = [];
      let cursor: string | null = null;
      do {
        const { rows, next } = await page(`sort=${sort}&limit=7${cursor === null ? '' : `&cursor=${cursor}`}`);
        allRows.push(...rows);
        cursor = next;
      } while (cursor !== null);
      expect(new Set(allRows.map(({ id }) => id)).size).toBe(25);
      expect(allRows).toHaveLength(25);
      const { rows } = await page(`sort=${sort}&limit=100`);
      expect(allRows).toEqual(rows);
    },
  );

  test('can be filtered by columns and searched for text with a literal % or _', async () => {
    expect((await page('active=true&limit=100')).rows).toHaveLength(12);
    expect((await page('q=50%25_')).rows.map(({ name }) => name)).toEqual(['Save 50%_now']);
    expect((await page('q=CAMPAIGN%201&limit=100')).rows).toHaveLength(11);
    expect((await page('advertiser_id=999999999')).rows).toEqual([]);
  });

  test.each([
    'limit=0',
    'limit=101',
    'limit=x',
    'sort=landing_url',
    'sort=constructor',
    'sort=name%3Bdrop',
    'active=yes',
    'advertiser_id=x',
    'nonsense=1',
    'cursor=AAAA',
    'cursor=',
    'q=%00',
    'active=true&active=false',
  ])('400: %s', async (query) => {
    expect((await page(query)).status).toBe(400);
  });

  test('400: rejects a cursor that was altered or belongs to another list, sort order or publisher', async () => {
    const { next } = await page('limit=5');
    const cursor = next as string;
    const changed = Buffer.from(cursor, 'base64url');
    changed[changed.length - 2] = (changed[changed.length - 2] as number) ^ 1;
    expect((await page(`cursor=${changed.toString('base64url')}`)).status).toBe(400);
    expect((await page(`cursor=${cursor}&sort=name`)).status).toBe(400);
    expect((await me.call('GET', `/advertisers?cursor=${cursor}`)).status).toBe(400);
    const other = await t.caller(await t.addPublisher());
    expect((await other.call('GET', `/campaigns?cursor=${cursor}`)).status).toBe(400);
    expect((await page(`cursor=${cursor}&limit=10`)).status).toBe(200);
  });
});
