import type pg from 'pg';
import { hashKey } from '../src/platform/http/auth.ts';
import { pepperMark } from '../src/platform/security/user-key.ts';

export type BenchPublisher = {
  key: string;
  campaigns: number;
  /** Number of eligible campaigns; the others target a different country. Default: all. */
  eligible?: number;
  /** Rules that every campaign gets. */
  rules?: object;
};

/**
 * Creates a publisher whose campaigns have one offer each, with images and terms. Its responses contain five offers.
 */
export async function createPublisher(
  pool: pg.Pool,
  { key, campaigns, eligible = campaigns, rules = {} }: BenchPublisher,
): Promise<number> {
  const { rows } = await pool.query<{ id: number }>(
    `insert into publishers (name, sdk_id, offers_per_response, usp_enabled, wallet_enabled, offerwall_enabled)
     values ($1, substr(md5($1), 1, 16), 5, true, true, true) returning id`,
    [key],
  );
  const publisherId = rows[0]?.id as number;
  const sql = [
    `insert into api_keys (publisher_id, name, key_hash, permissions) values ($1, 'bench', decode('${hashKey(key)}',
      'hex'), '{ads/offers,configurations,offers/management}')`,
    `insert into themes (publisher_id, name, unit, is_default, usp_enabled) values ($1, 'Perks', 'mou', true, true)`,
    `insert into placements (publisher_id, name) values ($1, 'checkout')`,
    `insert into advertisers (publisher_id, name) select $1, 'Advertiser ' || n from generate_series(1,
      ${Math.ceil(campaigns / 4)}) n`,
    `insert into campaigns (publisher_id, advertiser_id, name, priority, weight, offer_description, landing_url,
      payout_amount, rules)
     select $1, (select min(id) from advertisers where publisher_id = $1) + (n - 1) / 4, 'Campaign ' || n, 100, n,
       'A campaign of the bench, with a description of usual length.', 'https://shop.example/landing/' || n,
         1 + (n % 7) / 10.0,
       case when n <= ${eligible} then '${JSON.stringify(rules)}'::jsonb
         else '{"targeting":{"countries":{"include":["NZ"]}}}' end
     from generate_series(1, ${campaigns}) n`,
    `insert into offers (publisher_id, campaign_id, title, description, mini_text, short_headline, short_description,
      terms_and_conditions, cta_yes, cta_no)
     select $1, id, 'Half off your first order from ' || name,
       'Fresh things, picked today and at your door tomorrow. '
          'Half off the first order, free delivery, cancel at any time.',
       'New customers only. One use per household.', 'Half off your first order',
        'Half off and free delivery on your first order.',
       '<p>For <strong>new customers</strong>.</p><ul><li>One use per household.</li>'
          '<li>Renews weekly until cancelled.</li></ul>',
        'Get my half off', 'Not today'
     from campaigns where publisher_id = $1`,
    `insert into creatives (offer_id, creative_type, is_primary, type, width, height, url)
     select o.id, t.kind, t.kind = 'offer_image', 'jpg', t.w, t.h,
       'https://cdn.example/' || o.id || '-' || t.kind || '.jpg'
     from offers o cross join (values ('offer_image', 600, 600), ('hero_image', 1200, 628), ('icon_image', 256,
       256)) t (kind, w, h) where o.publisher_id = $1`,
  ];
  for (const statement of sql) await pool.query(statement, statement.includes('$1') ? [publisherId] : []);
  return publisherId;
}

/** Returns the ID of a user who has a history. */
export const knownUser = (index: number): string => `known-${index}`;

/** Block size of SHA-256, in bytes. */
const blockBytes = 64;

/** Number of users per insert statement. */
const slice = 50_000;

/**
 * Creates database histories for users who recently saw three offers. The keyed hashes equal those that the server
 * computes.
 */
export async function createHistories(
  pool: pg.Pool,
  { publisherId, users, pepper }: { publisherId: number; users: number; pepper: string },
): Promise<void> {
  const pad = (byte: number): Buffer =>
    Buffer.from(Buffer.concat([Buffer.from(pepper)], blockBytes).map((keyByte) => keyByte ^ byte));
  for (let from = 0; from < users; from += slice) {
    await pool.query(
      `with seen as materialized (
        select o.id % 97 as slot, string_agg('\\x01'::bytea || int4send(o.id) || int4send(o.campaign_id)
          || int4send(c.advertiser_id) || substr(int8send($6::bigint), 3) || int4send(1) || int8send(0), '')
          as exposures
        from offers o join campaigns c on c.id = o.campaign_id where o.publisher_id = $1 group by 1
      )
      insert into user_history (user_key, publisher_id, exposures, updated_at)
      select ('${pepperMark(pepper)}' || encode(substr(sha256($3::bytea || sha256($2::bytea
        || convert_to($1::integer::text, 'UTF8') || '\\x00' || convert_to('known-' || n, 'UTF8'))), 3, 14),
        'hex'))::uuid, $1, seen.exposures, now()
      from generate_series($4::integer, $5::integer - 1) n join seen on seen.slot = n % 97`,
      [publisherId, pad(0x36), pad(0x5c), from, Math.min(users, from + slice), Date.now() - 3_600_000],
    );
  }
}
