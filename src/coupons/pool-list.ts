import { type Static, Type } from '@sinclair/typebox';
import type { Executor } from '../platform/db/pool.ts';
import { dayMs } from '../platform/lib/time.ts';
import { readStock, stockView } from './stock.ts';

/**
 * States of a pool, most urgent first: expired; without codes; few codes left; expiring soon; none of these. An offer
 * whose pool is empty or expired is paused or gives all users the fallback code.
 */
export const poolStates = ['expired', 'empty', 'low', 'expiring', 'available'] as const;
export type PoolState = (typeof poolStates)[number];

/** Time before its expiry at which a pool starts to be listed as expiring, in milliseconds. */
const expiringMs = 14 * dayMs;

/** Schema of a pool in the list of all pools of a publisher. */
export const listedPool = Type.Object(
  {
    offer_id: Type.Integer(),
    offer: Type.String({ description: 'Title of the offer.' }),
    campaign_id: Type.Integer(),
    campaign: Type.String({ description: 'Name of the campaign.' }),
    kind: Type.Union([Type.Literal('codes'), Type.Literal('shared')]),
    state: Type.Union(
      poolStates.map((state) => Type.Literal(state)),
      {
        description:
          'Most urgent state: `expired`, `empty` (no codes left), `low` (below a threshold of the pool), `expiring` ' +
          '(within 14 days) or `available`.',
      },
    ),
    expires_at: Type.Union([Type.String({ format: 'date-time' }), Type.Null()]),
    has_fallback: Type.Boolean(),
    paused_since: Type.Union([Type.String({ format: 'date-time' }), Type.Null()]),
    ...stockView.properties,
  },
  { title: 'ListedCouponPool' },
);

export type ListedPool = Static<typeof listedPool>;

type PoolRow = {
  offer_id: number;
  offer: string;
  campaign_id: number;
  campaign: string;
  kind: 'codes' | 'shared';
  expires_at: Date | null;
  has_fallback: boolean;
  paused_since: Date | null;
};

/** Returns all pools of a publisher's offers with their stock, in the order of the offers' IDs. */
export async function listPools(executor: Executor, publisherId: number, nowMs: number): Promise<ListedPool[]> {
  const { rows } = await executor.query<PoolRow>(
    `select p.offer_id, coalesce(nullif(o.title, ''), o.short_headline, '') as offer, c.id as campaign_id,
      c.name as campaign, case when p.shared_code is null then 'codes' else 'shared' end as kind, p.expires_at,
      p.fallback_sealed is not null as has_fallback, p.drained_at as paused_since
    from coupon_pools p join offers o on o.id = p.offer_id join campaigns c on c.id = o.campaign_id
    where p.publisher_id = $1 and o.deleted_at is null order by p.offer_id`,
    [publisherId],
  );
  const stocks = await readStock(executor, { publisherId }, nowMs);
  const stockOf = new Map(stocks.map(({ offerId, view }) => [offerId, view]));
  return rows.flatMap(({ expires_at: expires, paused_since: paused, ...pool }) => {
    const stock = stockOf.get(pool.offer_id);
    if (stock === undefined) return [];
    const isExpiring = expires !== null && expires.getTime() - nowMs <= expiringMs;
    const state: PoolState = stock.expired
      ? 'expired'
      : stock.left === 0
        ? 'empty'
        : stock.low
          ? 'low'
          : isExpiring
            ? 'expiring'
            : 'available';
    return {
      ...pool,
      ...stock,
      state,
      expires_at: expires?.toISOString() ?? null,
      paused_since: paused?.toISOString() ?? null,
    };
  });
}
