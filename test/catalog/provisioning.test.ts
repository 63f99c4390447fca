import { afterAll, beforeAll, expect, test } from 'vitest';
import { requestOver } from '../support/request.ts';
import { createTestApp, type TestApp } from '../support/test-app.ts';

let t: TestApp;
beforeAll(async () => {
  t = await createTestApp();
});
afterAll(() => t.close());

test("a provisioned campaign is served, counted and clicked through the publisher's own links", async () => {
  const { rows } = await t.pool.query<{ id: number }>(
    "insert into publishers (name, sdk_id) values ('Neighbour', 'feedfeedfeedfeed') returning id",
  );
  const neighbour = rows[0]?.id;
  const fetchOffers = async (key: string) => {
    const answer = await t.app.inject({
      method: 'POST',
      url: `/native/v4/offers.json?api_key=${key}&campaignId=1`,
      payload: { placement: 'checkout' },
    });
    return answer.json().data.offers as { id: number; pixel: string; click_url: string; qr_code_img: string }[];
  };
  await t.deps.catalog.refresh();
  expect(await fetchOffers('feedfeedfeedfeed')).toEqual([]);
  await t.pool.query('insert into campaign_publishers (campaign_id, publisher_id) values (1, $1)', [neighbour]);
  await t.deps.catalog.refresh();
  const [[foreign], [own]] = [await fetchOffers('feedfeedfeedfeed'), await fetchOffers('demo-key')];
  expect(foreign?.id).toBe(own?.id);
  expect(foreign?.qr_code_img).not.toBe(own?.qr_code_img);
  const person = {
    'user-agent':
      'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/147.0.0.0 Safari/537.36',
  };
  const get = (url = '') => requestOver(t.app, { url, headers: person });
  expect((await get(foreign?.pixel)).statusCode).toBe(200);
  expect((await get(foreign?.click_url)).statusCode).toBe(302);
  const events = await t.pool.query('select kind from events where publisher_id = $1 order by kind', [neighbour]);
  expect(events.rows).toEqual([{ kind: 'click' }, { kind: 'impression' }]);

  await t.pool.query('update campaign_publishers set active = false where publisher_id = $1', [neighbour]);
  await t.deps.catalog.refresh();
  expect(await fetchOffers('feedfeedfeedfeed')).toEqual([]);
  expect((await get(foreign?.click_url)).statusCode).toBe(302);
});
