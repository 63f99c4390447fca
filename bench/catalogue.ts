import type pg from 'pg';
import { hashKey } from '../src/http/auth.ts';

/** A publisher with `campaigns` eligible offers, each with pictures and terms, and five offers an answer. */
export async function createPublisher(pool: pg.Pool, { key, campaigns }: { key: string; campaigns: number }): Promise<number> {
  const { rows } = await pool.query<{ id: number }>(
    `insert into publishers (name, sdk_id, offers_per_response, usp_enabled, wallet_enabled, offerwall_enabled)
     values ($1, substr(md5($1), 1, 16), 5, true, true, true) returning id`,
    [key],
  );
  const publisherId = rows[0]?.id as number;
  const sql = [
    `insert into api_keys (publisher_id, name, key_hash, permissions) values ($1, 'bench', decode('${hashKey(key)}', 'hex'), '{ads/offers,configurations}')`,
    `insert into themes (publisher_id, name, unit, is_default, usp_enabled) values ($1, 'Perks', 'mou', true, true)`,
    `insert into placements (publisher_id, name) values ($1, 'checkout')`,
    `insert into advertisers (publisher_id, name) select $1, 'Advertiser ' || n from generate_series(1, ${Math.ceil(campaigns / 4)}) n`,
    `insert into campaigns (publisher_id, advertiser_id, name, priority, weight, offer_description, landing_url)
     select $1, (select min(id) from advertisers where publisher_id = $1) + (n - 1) / 4, 'Campaign ' || n, 100, n,
       'A campaign of the bench, with a description of usual length.', 'https://shop.example/landing/' || n from generate_series(1, ${campaigns}) n`,
    `insert into offers (publisher_id, campaign_id, title, description, mini_text, short_headline, short_description, terms_and_conditions, cta_yes, cta_no)
     select $1, id, 'Half off your first order from ' || name, 'Fresh things, picked today and at your door tomorrow. Half off the first order, free delivery, cancel at any time.',
       'New customers only. One use per household.', 'Half off your first order', 'Half off and free delivery on your first order.',
       '<p>For <strong>new customers</strong>.</p><ul><li>One use per household.</li><li>Renews weekly until cancelled.</li></ul>', 'Get my half off', 'Not today'
     from campaigns where publisher_id = $1`,
    `insert into creatives (offer_id, creative_type, is_primary, type, width, height, url)
     select o.id, t.kind, t.kind = 'offer_image', 'jpg', t.w, t.h, 'https://cdn.example/' || o.id || '-' || t.kind || '.jpg'
     from offers o cross join (values ('offer_image', 600, 600), ('hero_image', 1200, 628), ('icon_image', 256, 256)) t (kind, w, h) where o.publisher_id = $1`,
  ];
  for (const statement of sql) await pool.query(statement, statement.includes('$1') ? [publisherId] : []);
  return publisherId;
}
