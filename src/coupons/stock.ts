import { Type } from '@sinclair/typebox';
import type { Executor } from '../platform/db/pool.ts';
import { dayMs, dayOf, hourMs } from '../platform/lib/time.ts';
import type { SecretBox } from '../platform/security/secret-box.ts';
import { openBlock } from './blocks.ts';
import { blockContext } from './seals.ts';

/** Schema of a pool's stock in responses. */
export const stockView = Type.Object(
  {
    total: Type.Integer({ description: 'Number of codes: given, held and left.' }),
    given: Type.Integer(),
    redeemed: Type.Integer({ description: 'Number of codes that the advertiser reported as redeemed.' }),
    left: Type.Integer({ description: 'Number of codes left. Always 1 for a shared code.' }),
    held: Type.Integer({ description: 'Number of codes held for selected offers that are not confirmed yet.' }),
    cancelled: Type.Integer({
      description: 'Number of codes that the advertiser reported as cancelled. They are not given to other users.',
    }),
    hours_left: Type.Union([Type.Number(), Type.Null()], {
      description: "Number of hours that the codes last at today's rate, or `null` if no code was given today.",
    }),
    low: Type.Boolean({ description: 'Whether the stock is below a threshold of the pool.' }),
    expired: Type.Boolean({ description: 'Whether the pool has expired. An expired pool gives no codes.' }),
    guess_odds: Type.Union([Type.Integer(), Type.Null()], {
      description:
        'Number of possible codes per valid code, for the pattern that is easiest to guess. Below 1,000,000, codes ' +
        'are easy to guess. `null` if no code was generated from a pattern.',
    }),
    loading: Type.Union([Type.Object({ received: Type.Integer(), total: Type.Integer() }), Type.Null()], {
      description: 'Progress of an upload: number of lines that were read. `null` if no upload is running.',
    }),
  },
  { title: 'CouponStock' },
);

export type StockView = {
  total: number;
  given: number;
  redeemed: number;
  left: number;
  held: number;
  cancelled: number;
  hours_left: number | null;
  low: boolean;
  expired: boolean;
  guess_odds: number | null;
  loading: { received: number; total: number } | null;
};

/** Stock to report for an offer that has no pool. */
export const noStock: StockView = {
  total: 0,
  given: 0,
  redeemed: 0,
  left: 0,
  held: 0,
  cancelled: 0,
  hours_left: null,
  low: false,
  expired: false,
  guess_odds: null,
  loading: null,
};

type StockRow = {
  offer_id: number;
  publisher_id: number;
  is_shared: boolean;
  unused: string;
  last_position: string;
  given: string;
  held: string;
  ended: string;
  redeemed: string;
  cancelled: string;
  given_today: string;
  low_share: number;
  low_hours: number;
  paused: boolean;
  expired: boolean;
  guess_odds: string | null;
  received: string | null;
  lines: string | null;
};

/** Pool with its stock. `supply` changes whenever codes are added, and never returns to an earlier value. */
export type PoolStock = {
  offerId: number;
  publisherId: number;
  isShared: boolean;
  paused: boolean;
  supply: string;
  view: StockView;
};

/**
 * Age, in milliseconds, after which a progress record is ignored because the process that wrote it has presumably died.
 */
const loadSeenMs = 60_000;

/** Reads the stock of one pool, of all pools of a publisher, or of all pools if the filter is null. */
export async function readStock(
  executor: Executor,
  filter: { offerId: number } | { publisherId: number } | null,
  nowMs: number,
): Promise<PoolStock[]> {
  const { rows } = await executor.query<StockRow>(
    `select p.offer_id, p.publisher_id, p.shared_code is not null as is_shared, p.drained_at is not null as paused,
      coalesce(p.expires_at <= $2::timestamptz, false) as expired,
      s.last_position, s.last_position - s.next_position + 1 as unused, s.given, s.held, s.redeemed, s.cancelled,
      case when s.held = 0 then 0 else (
        select count(*) from coupons c where c.offer_id = p.offer_id and c.held_until <= $2::timestamptz
      ) end as ended,
      case when s.day = $3::date then s.given - s.given_before else 0 end as given_today,
      p.low_share, p.low_hours, p.guess_odds, l.received, l.total as lines
    from coupon_pools p join coupon_stock s using (offer_id)
    left join coupon_loads l on l.offer_id = p.offer_id and l.seen_at > $4::timestamptz
    where ($1::integer is null or p.offer_id = $1) and ($5::integer is null or p.publisher_id = $5)
    order by p.offer_id`,
    [
      filter !== null && 'offerId' in filter ? filter.offerId : null,
      ...[new Date(nowMs), dayOf(nowMs), new Date(nowMs - loadSeenMs)],
      filter !== null && 'publisherId' in filter ? filter.publisherId : null,
    ],
  );
  return rows.map((row) => ({
    offerId: row.offer_id,
    publisherId: row.publisher_id,
    isShared: row.is_shared,
    paused: row.paused,
    supply: row.last_position,
    view: viewOf(row, nowMs),
  }));
}

/** Minimum time since the start of the day for estimating the rate at which codes are issued, in milliseconds. */
const minRateMs = hourMs;

function viewOf(row: StockRow, nowMs: number): StockView {
  const ended = Number(row.ended);
  const left = row.is_shared ? 1 : Number(row.unused) + ended;
  const [given, held] = [Number(row.given), Number(row.held) - ended];
  const total = row.is_shared ? 1 : given + held + left;
  const today = Number(row.given_today);
  const sinceMs = Math.max(nowMs % dayMs, minRateMs);
  const hoursLeft = row.is_shared || today === 0 ? null : Math.round((left * sinceMs * 10) / today / hourMs) / 10;
  const isFew = 100 * left <= row.low_share * total;
  return {
    total,
    given,
    redeemed: Number(row.redeemed),
    left,
    held,
    cancelled: Number(row.cancelled),
    hours_left: hoursLeft,
    low: !row.is_shared && (isFew || (hoursLeft !== null && hoursLeft <= row.low_hours)),
    expired: row.expired,
    guess_odds: row.guess_odds === null ? null : Number(row.guess_odds),
    loading: row.received === null ? null : { received: Number(row.received), total: Number(row.lines) },
  };
}

/** Starts counting issued codes for a new day. The daily rate is estimated from this count. */
export async function beginDay(executor: Executor, nowMs: number): Promise<void> {
  await executor.query(
    `update coupon_stock set given_before = given, day = $1::date
    where offer_id in (
      select offer_id from coupon_stock where day < $1::date order by offer_id for no key update skip locked
    )`,
    [dayOf(nowMs)],
  );
}

/**
 * Removes a pool's unissued codes and permanently skips their positions. Issued codes remain stored in the current
 * block.
 * @returns the number of removed codes
 */
export async function removeUngiven(
  executor: Executor,
  box: SecretBox,
  offerId: number,
  nowMs: number,
): Promise<number> {
  const { rows } = await executor.query<{ next: string; last: string }>(
    'select next_position as next, last_position as last from coupon_stock where offer_id = $1 for no key update',
    [offerId],
  );
  const [next, last] = [Number(rows[0]?.next), Number(rows[0]?.last)];
  const { rowCount: ended } = await executor.query(
    'delete from coupons where offer_id = $1 and held_until <= $2::timestamptz',
    [offerId, new Date(nowMs)],
  );
  await executor.query('delete from coupon_blocks where offer_id = $1 and first_position >= $2', [offerId, next]);
  const { rows: cut } = await executor.query<{ offer_id: number; first_position: string; sealed: Buffer }>(
    `select offer_id, first_position, sealed from coupon_blocks
    where offer_id = $1 and first_position < $2 and first_position + size > $2`,
    [offerId, next],
  );
  for (const row of cut) {
    const issuedCodes = openBlock(box, row).slice(0, next - Number(row.first_position));
    await executor.query(
      'update coupon_blocks set sealed = $3, size = $4 where offer_id = $1 and first_position = $2',
      [
        offerId,
        row.first_position,
        box.seal(issuedCodes.join('\n'), blockContext([offerId, row.first_position])),
        issuedCodes.length,
      ],
    );
  }
  await executor.query(
    `update coupon_stock set next_position = last_position + 1, held = held - $2 where offer_id = $1`,
    [offerId, ended ?? 0],
  );
  return last - next + 1 + (ended ?? 0);
}
