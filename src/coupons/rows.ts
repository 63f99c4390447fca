import { LRUCache } from 'lru-cache';
import type { CouponPool } from '../catalog/types.ts';
import { bigints, byteas, integers, timestamps, uuids } from '../platform/db/binary-array.ts';
import type { Executor } from '../platform/db/pool.ts';

/**
 * Stock of a pool, read while its row is locked. All numbers are counts of codes. `isOwn` states whether each user gets
 * an individual code.
 */
export type Stock = {
  offerId: number;
  next: number;
  last: number;
  given: number;
  held: number;
  isOwn: boolean;
  /** Expiry of the pool, or null if it does not expire. */
  expiresAt: Date | null;
};

/** Stock of a pool after the last code that this process assigned. */
type LastStock = {
  next: number;
  last: number;
  /** Whether no other process assigned a code between the last two batches of this process. */
  isAlone: boolean;
};

export type LastStocks = LRUCache<number, LastStock>;

/** Creates the memory for stocks, by offer ID. */
export const createLastStocks = (): LastStocks => new LRUCache({ max: 1000 });

type OfOffer = { offer: { id: number; coupon: CouponPool | null } };

type StockColumn = 'next_position' | 'last_position' | 'given' | 'held';

/** Stored coupon of a user. */
export type StoredCoupon = {
  user_key: string;
  offer_id: number;
  sealed: Buffer;
  expires_at: Date | null;
  held_until: Date | null;
};

const storedColumns = 'user_key, offer_id, sealed, expires_at, held_until';

/** User and offer for which to find a coupon. */
export type CouponKey = { userKey: string } & OfOffer;

/**
 * Index lookups for the coupons of users. There is one lookup per key: on a fast-growing table, the planner's
 * statistics are out of date, so it might choose a slower plan.
 */
export const foundSql = (userKeys: string, offerIds: string): string => `
select c.* from unnest(${userKeys}::uuid[], ${offerIds}::integer[]) as asked (user_key, offer_id)
cross join lateral (
  select ${storedColumns} from coupons where user_key = asked.user_key and offer_id = asked.offer_id limit 1
) c`;

/*
 * If the statement had to wait for a lock, it sees the coupons as they were before the wait. The version of the locked
 * stock row then differs from the version that the statement sees without locking, because coupons are only added
 * together with a change to their stock.
 */
const lockSql = `
with locked as materialized (
  select s.offer_id, next_position, last_position, given, held, p.expires_at as pool_expires_at, s.xmin::text as version
  from coupon_stock s join coupon_pools p on p.offer_id = s.offer_id
  where s.offer_id = any($1::integer[]) order by s.offer_id for no key update of s
), found as materialized (${foundSql('$2', '$3')}
)
select locked.*, (select xmin::text from coupon_stock s where s.offer_id = locked.offer_id) as seen_version,
  null::uuid as user_key, null::bytea as sealed, null::timestamptz as expires_at, null::timestamptz as held_until
from locked
union all
select offer_id, null, null, null, null, null, null, null, user_key, sealed, expires_at, held_until from found`;

type LockedRow =
  | (Record<StockColumn, string> & {
      offer_id: number;
      user_key: null;
      pool_expires_at: Date | null;
      version: string;
      seen_version: string | null;
    })
  | StoredCoupon;

/**
 * Locks the stock rows of pools in offer order, so that concurrent transactions can't deadlock. Also finds the coupons
 * that users already have. `coupons` is null if they must be read again, because the statement had to wait.
 */
export async function lockStock(
  executor: Executor,
  wants: readonly OfOffer[],
  keys: readonly CouponKey[],
): Promise<{ stocks: Map<number, Stock>; coupons: StoredCoupon[] | null }> {
  const own = new Map(wants.map(({ offer }) => [offer.id, offer.coupon?.sharedCode === null]));
  const { rows } = await executor.query<LockedRow>({
    name: 'lock_coupon_stock',
    text: lockSql,
    values: [
      integers([...own.keys()], (id) => id),
      uuids(keys, ({ userKey }) => userKey),
      integers(keys, ({ offer }) => offer.id),
    ],
  });
  const stocks = new Map<number, Stock>();
  const coupons: StoredCoupon[] = [];
  let isCurrent = true;
  for (const row of rows) {
    if (row.user_key !== null) {
      coupons.push(row);
      continue;
    }
    isCurrent &&= row.version === row.seen_version;
    stocks.set(row.offer_id, {
      offerId: row.offer_id,
      next: Number(row.next_position),
      last: Number(row.last_position),
      given: Number(row.given),
      held: Number(row.held),
      isOwn: own.get(row.offer_id) === true,
      expiresAt: row.pool_expires_at,
    });
  }
  return { stocks, coupons: isCurrent ? coupons : null };
}

export async function findCoupons(executor: Executor, keys: readonly CouponKey[]): Promise<StoredCoupon[]> {
  const { rows } = await executor.query<StoredCoupon>({
    name: 'find_coupons',
    text: foundSql('$1', '$2'),
    values: [uuids(keys, ({ userKey }) => userKey), integers(keys, ({ offer }) => offer.id)],
  });
  return rows;
}

export type NewCoupon = {
  userKey: string;
  offerId: number;
  publisherId: number;
  sessionId: string;
  sealed: Buffer;
  digest: string;
  foldedDigest: string;
  expiresAt: string | null;
  heldUntilMs: number | null;
};

/** Inserts new coupons, if any, and updates the locked stocks from which they were taken. */
export async function writeCoupons(
  executor: Executor,
  { coupons, stocks }: { coupons: readonly NewCoupon[]; stocks: readonly Stock[] },
  nowMs: number,
): Promise<void> {
  await executor.query({
    name: 'write_coupons',
    text: `with moved as (
  update coupon_stock s set next_position = m.next, given = m.given, held = m.held
  from unnest($10::integer[], $11::bigint[], $12::bigint[], $13::bigint[]) as m (offer_id, next, given, held)
  where s.offer_id = m.offer_id
)
insert into coupons
  (user_key, offer_id, publisher_id, session_id, sealed, digest, expires_at, held_until, folded_digest, given_at)
select *, $9::timestamptz from unnest($1::uuid[], $2::integer[], $3::integer[], $4::uuid[], $5::bytea[], $6::uuid[],
  $7::timestamptz[], $8::timestamptz[], $14::uuid[])`,
    values: [
      uuids(coupons, ({ userKey }) => userKey),
      integers(coupons, ({ offerId }) => offerId),
      integers(coupons, ({ publisherId }) => publisherId),
      uuids(coupons, ({ sessionId }) => sessionId),
      byteas(coupons, ({ sealed }) => sealed),
      uuids(coupons, ({ digest }) => digest),
      timestamps(coupons, ({ expiresAt }) => timeOf(expiresAt)),
      timestamps(coupons, ({ heldUntilMs }) => heldUntilMs),
      new Date(nowMs),
      integers(stocks, ({ offerId }) => offerId),
      bigints(stocks, ({ next }) => next),
      bigints(stocks, ({ given }) => given),
      bigints(stocks, ({ held }) => held),
      uuids(coupons, ({ foldedDigest }) => foldedDigest),
    ],
  });
}

/** Held code that is now issued because the user has earned it. */
export type Confirmed = { userKey: string; offerId: number; sessionId: string; expiresAt: string | Date | null };

export const timeOf = (time: string | Date | null): number | null => (time === null ? null : new Date(time).getTime());

/** Converts held codes to issued codes. */
export async function confirmHolds(executor: Executor, holds: readonly Confirmed[], nowMs: number): Promise<void> {
  await executor.query({
    name: 'confirm_coupon_holds',
    text: `update coupons c set held_until = null, given_at = $5::timestamptz, session_id = h.session_id,
  expires_at = h.expires_at
from unnest($1::uuid[], $2::integer[], $3::uuid[], $4::timestamptz[]) as h (user_key, offer_id, session_id, expires_at)
where c.user_key = h.user_key and c.offer_id = h.offer_id`,
    values: [
      uuids(holds, ({ userKey }) => userKey),
      integers(holds, ({ offerId }) => offerId),
      uuids(holds, ({ sessionId }) => sessionId),
      timestamps(holds, ({ expiresAt }) => timeOf(expiresAt)),
      new Date(nowMs),
    ],
  });
}

/** Hold with a new end time. */
export type RenewedHold = { userKey: string; offerId: number; heldUntilMs: number };

/** Extends holds. The stock must be locked. */
export async function renewHolds(executor: Executor, holds: readonly RenewedHold[]): Promise<void> {
  await executor.query({
    name: 'renew_coupon_holds',
    text: `update coupons c set held_until = h.held_until
from unnest($1::uuid[], $2::integer[], $3::timestamptz[]) as h (user_key, offer_id, held_until)
where c.user_key = h.user_key and c.offer_id = h.offer_id`,
    values: [
      uuids(holds, ({ userKey }) => userKey),
      integers(holds, ({ offerId }) => offerId),
      timestamps(holds, ({ heldUntilMs }) => heldUntilMs),
    ],
  });
}

/** Allocates a code whose hold has expired, or returns null if none exists. The stock must be locked. */
export async function claimExpiredHold(
  executor: Executor,
  offerId: number,
  nowMs: number,
): Promise<StoredCoupon | null> {
  const { rows } = await executor.query<StoredCoupon>({
    name: 'take_expired_coupon_hold',
    text: `delete from coupons where (user_key, offer_id) = (
  select user_key, offer_id from coupons
  where offer_id = $1 and held_until is not null and held_until <= $2::timestamptz
  order by held_until limit 1
) returning ${storedColumns}`,
    values: [offerId, new Date(nowMs)],
  });
  return rows[0] ?? null;
}

/** Deletes held codes. The stock must be locked, and the caller must adjust the number of held codes in it. */
export async function deleteHolds(
  executor: Executor,
  holds: readonly { user_key: string; offer_id: number }[],
): Promise<void> {
  await executor.query({
    name: 'delete_coupon_holds',
    text: `delete from coupons c using unnest($1::uuid[], $2::integer[]) as h (user_key, offer_id)
where c.user_key = h.user_key and c.offer_id = h.offer_id and c.held_until is not null`,
    values: [uuids(holds, (hold) => hold.user_key), integers(holds, (hold) => hold.offer_id)],
  });
}

/** Releases held codes, so that they become available to any user. */
export async function releaseHolds(
  executor: Executor,
  wants: readonly (OfOffer & { userKeys: readonly string[] })[],
  nowMs: number,
): Promise<void> {
  await executor.query({
    name: 'release_coupon_holds',
    text: `update coupons set held_until = least(held_until, $3::timestamptz)
where held_until is not null and user_key = any($1::uuid[]) and offer_id = any($2::integer[])`,
    values: [
      uuids(
        wants.flatMap(({ userKeys }) => userKeys),
        (key) => key,
      ),
      integers(wants, ({ offer }) => offer.id),
      new Date(nowMs),
    ],
  });
}

export async function readFallbacks(
  executor: Executor,
  wants: readonly OfOffer[],
): Promise<{ offer_id: number; sealed: Buffer }[]> {
  const { rows } = await executor.query<{ offer_id: number; sealed: Buffer }>(
    `select offer_id, fallback_sealed as sealed from coupon_pools
    where offer_id = any($1::integer[]) and fallback_sealed is not null`,
    [wants.map(({ offer }) => offer.id)],
  );
  return rows;
}

/** Pauses the offers whose pools have issued their last code, unless the pool has a fallback code. */
export async function markDrained(executor: Executor, stocks: readonly Stock[], nowMs: number): Promise<void> {
  await executor.query(
    `update coupon_pools set drained_at = $2
    where offer_id = any($1::integer[]) and drained_at is null and fallback_sealed is null`,
    [stocks.map(({ offerId }) => offerId), new Date(nowMs)],
  );
}
