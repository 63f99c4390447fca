import { newUuid7 } from '../src/platform/lib/uuid7.ts';
import { createClickIdCodec } from '../src/tracking/clicks/click-id.ts';
import { processSecrets } from '../test/support/server-process.ts';
import { getRequest, type LoadResult } from './load.ts';
import type { ReportRow } from './report.ts';
import { type Stage, untilRolledUp } from './stage.ts';

/** Measures calls of `next` after a warm-up, like the `measure` function of the benchmark. */
export type Measure = (what: string, connections: number, port: number, next: () => string) => Promise<LoadResult>;

type Ports = { port: number; barePort: number; seconds: number };

/** Maximum number of conversion requests prepared per second of load. */
const maxPerS = 12_000;

/**
 * Measures conversions of prepared clicks, one per click, and the bare route that the beacons use. Compares the number
 * of stored rows with the number of responses.
 */
export async function benchConversions(
  stage: Stage,
  measure: Measure,
  { port, barePort, seconds }: Ports,
): Promise<ReportRow[]> {
  const result: ReportRow[] = [];
  for (const connections of [1, 16, 64]) {
    const clicks = await makeClicks(stage.pool, Math.ceil(maxPerS * (seconds + Math.min(5, seconds))));
    await untilRolledUp(stage.pool);
    const count = async (): Promise<number> =>
      Number((await stage.pool.query('select count(*) from conversions')).rows[0].count);
    const before = await count();
    let sent = 0;
    const measured = await measure(
      `conversion, ${connections} connections`,
      connections,
      port,
      () => clicks[sent++] as string,
    );
    const bareNext = getRequest('/beacon?t=x');
    const bare = await measure('  bare', connections, barePort, () => bareNext);
    const what = `conversion, ${connections} connection${connections === 1 ? '' : 's'}`;
    result.push({ what, measured, bare, note: `${(await count()) - before} rows for ${sent} responses` });
  }
  return result;
}

/**
 * Creates sessions with one click each.
 * @returns the requests that report their conversions
 */
export async function makeClicks(pool: Stage['pool'], clicks: number): Promise<string[]> {
  const { rows } = await pool.query<{ id: number; campaign_id: number; publisher_id: number }>(
    'select id, campaign_id, publisher_id from offers order by id limit 1',
  );
  const offer = rows[0] as { id: number; campaign_id: number; publisher_id: number };
  const codec = createClickIdCodec([{ id: 1, secret: processSecrets.TOKEN_KEYS.slice(2) }]);
  const nowMs = Date.now();
  const ids = Array.from({ length: clicks }, () => newUuid7(nowMs));
  const values = [new Date(nowMs), ids, offer.publisher_id, offer.id, offer.campaign_id];
  await pool.query(
    `insert into sessions (day, id, publisher_id, placement, offer_ids, campaign_ids, dev, usp, usp_check_all,
      created_at, custom)
    select ($1::timestamptz at time zone 'utc')::date, id, $3, 'checkout', array[$4::integer], array[$5::integer],
      false, false, false, $1, '{"order":"1"}'
    from unnest($2::uuid[]) id`,
    values,
  );
  await pool.query(
    `insert into events (day, session_id, offer_id, kind, publisher_id, campaign_id, position, at)
    select ($1::timestamptz at time zone 'utc')::date, id, $4, 'click', $3, $5, 1, $1 from unnest($2::uuid[]) id`,
    values,
  );
  return ids.map((sessionId) =>
    getRequest(
      `/track?click_id=${codec.mint({ sessionId, offerId: offer.id })}` +
        `&event=purchase&payout=12.50&currency=USD&txn_id=${sessionId.slice(-12)}`,
    ),
  );
}
