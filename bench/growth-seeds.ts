import type pg from 'pg';
import { ensurePartitions } from '../src/platform/db/partitions.ts';

/** Returns the API key of a publisher. */
export const growthKey = (publisherId: number): string => `growth-${publisherId}`;

/**
 * Inserts publishers with IDs from 1 upwards, each with the same number of campaigns. A campaign has one offer with
 * three images. Triggers are skipped, because they would take most of the time.
 */
export async function seedCatalogue(
  pool: pg.Pool,
  { publishers, offersPerPublisher }: { publishers: number; offersPerPublisher: number },
): Promise<void> {
  const client = await pool.connect();
  try {
    await ensurePartitions(pool, Date.now());
    await client.query(`set session_replication_role = 'replica'`);
    const sql = [
      `insert into publishers (name, sdk_id, offers_per_response, usp_enabled, wallet_enabled, offerwall_enabled)
      select 'Shop ' || n, substr(md5(n::text), 1, 16), 5, true, true, true from generate_series(1, ${publishers}) n`,
      `insert into api_keys (publisher_id, name, key_hash, permissions)
      select id, 'growth', sha256(convert_to('growth-' || id, 'UTF8')),
        '{ads/offers,configurations,offers/management}' from publishers`,
      `insert into themes (publisher_id, name, unit, is_default, usp_enabled)
      select id, 'Perks', 'mou', true, true from publishers`,
      `insert into placements (publisher_id, name) select id, 'checkout' from publishers`,
      `insert into advertisers (publisher_id, name) select p.id, 'Advertiser ' || n
      from publishers p, generate_series(1, ${Math.ceil(offersPerPublisher / 2)}) n`,
      `insert into campaigns (publisher_id, advertiser_id, name, weight, offer_description, landing_url, payout_amount,
        activated_at)
      select publisher_id, id, 'Campaign ' || n || ' of ' || name, n,
        'A campaign of the bench, with a description of usual length.', 'https://shop.example/landing/' || id,
        1 + n, now()
      from advertisers, generate_series(1, ${Math.min(2, offersPerPublisher)}) n`,
      'insert into campaign_publishers (campaign_id, publisher_id) select id, publisher_id from campaigns',
      `insert into offers (publisher_id, campaign_id, title, description, mini_text, short_headline, short_description,
        terms_and_conditions, cta_yes, cta_no)
      select publisher_id, id, 'Half off your first order from ' || name,
        'Fresh things, picked today and at your door tomorrow. Half off the first order, cancel at any time.',
        'New customers only. One use per household.', 'Half off your first order',
        'Half off and free delivery on your first order.',
        '<p>For <strong>new customers</strong>.</p><ul><li>One use per household.</li></ul>', 'Get my half off',
        'Not today' from campaigns`,
      `insert into creatives (offer_id, creative_type, is_primary, type, width, height, url)
      select o.id, t.kind, t.kind = 'offer_image', 'jpg', 600, 600, 'https://cdn.example/' || o.id || t.kind || '.jpg'
      from offers o cross join (values ('offer_image'), ('hero_image'), ('icon_image')) t (kind)`,
    ];
    for (const statement of sql) await client.query(statement);
  } finally {
    await client.query(`set session_replication_role = 'origin'`);
    client.release();
  }
}

const sessionIdSql = `(lpad(to_hex((extract(epoch from now()) * 1000)::bigint), 12, '0')
  || '7' || substr(md5(s::text), 1, 3) || '8' || substr(md5(s::text), 4, 15))::uuid`;

/** Number of events per session, and of sessions per transaction. */
const [eventsPerSession, sessionsPerTransaction] = [5, 2000];

/** Inserts sessions with their events, in transactions of 10,000 events, as under load. */
export async function seedEvents(pool: pg.Pool, events: number): Promise<void> {
  await seedCatalogue(pool, { publishers: 20, offersPerPublisher: 10 });
  const sessions = events / eventsPerSession;
  for (let from = 1; from <= sessions; from += sessionsPerTransaction) {
    const series = `generate_series(${from}, ${Math.min(sessions, from + sessionsPerTransaction - 1)}) s`;
    await pool.query(
      `with added as (
        insert into sessions (day, id, publisher_id, placement, country, device, os, offer_ids, campaign_ids, dev, usp,
          usp_check_all, created_at)
        select current_date, ${sessionIdSql}, 1 + s % 20, 'checkout', (array['US', 'DE', 'FR', 'GB'])[1 + s % 4],
          (array['mobile', 'desktop', 'tablet'])[1 + s % 3], 'ios', array[1 + s % 200], array[1 + s % 200],
          false, false, false, now() from ${series})
      insert into events (day, session_id, offer_id, kind, publisher_id, campaign_id, position, at)
      select current_date, ${sessionIdSql}, 1 + (s + n) % 200, (array['impression', 'impression', 'click', 'close',
          'impression'])[1 + n], 1 + s % 20, 1 + (s + n) % 200, n + 1, now()
      from ${series}, generate_series(0, ${eventsPerSession - 1}) n`,
    );
  }
  await pool.query('vacuum analyze sessions, events');
}

/** Inserts an endpoint of the first publisher, and today's deliveries with one attempt each. 1% of them have failed. */
export async function seedDeliveries(pool: pg.Pool, deliveries: number): Promise<void> {
  await pool.query(
    `insert into webhook_endpoints (publisher_id, event, url, method, secret_sealed, enabled)
    values (1, 'usp.selection', 'https://shop.example/hook', 'POST', '\\x00', true)`,
  );
  await pool.query(
    `insert into deliveries (day, id, publisher_id, endpoint_id, event, pub_user_id, payload, status, attempts,
      created_at, finished_at)
    select current_date, ${sessionIdSql}, 1, (select min(id) from webhook_endpoints), 'usp.selection',
      'user-' || s % 5000, '\\x7b7d', case when s % 100 = 0 then 'failed' else 'delivered' end, 1, now(), now()
    from generate_series(1, ${deliveries}) s`,
  );
  await pool.query(
    `insert into delivery_attempts (day, delivery_id, generation, publisher_id, endpoint_id, started_at, finished_at,
      outcome, status_code, total_ms)
    select day, id, 1, publisher_id, endpoint_id, created_at, finished_at, status,
      case status when 'failed' then 400 else 200 end, 35 from deliveries`,
  );
  await pool.query('vacuum analyze deliveries, delivery_attempts');
}

/** Inserts the same number of endpoints for each publisher. */
export async function seedEndpoints(pool: pg.Pool, perPublisher: number): Promise<void> {
  await pool.query(
    `insert into webhook_endpoints (publisher_id, events, url, method, secret_sealed, enabled)
    select p.id, '{usp.selection}', 'https://shop.example/hook/' || n, 'POST', '\\x00', true
    from publishers p, generate_series(1, ${perPublisher}) n`,
  );
}
