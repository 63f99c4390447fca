import { bigints, byteas, integers, timestamps, uuids } from '../platform/db/binary-array.ts';
import type { Executor } from '../platform/db/pool.ts';
import { type Coupon, expiryOf } from './coupon.ts';
import { type IssueTools, isOver, type Keyed, newCoupon, openCoupon, toCoupon } from './issue.ts';
import { foundSql, type NewCoupon, type StoredCoupon, timeOf } from './rows.ts';

/*
 * Codes that are planned from the stock as this process last saw it. The statement of the wrap then assigns them
 * itself, provided that the stock has not changed and none of the users has a code. This saves the transaction and two
 * statements per batch of wraps.
 */

/** Codes to take from a pool, from position `next` onward. `users` also counts users of shared codes. */
type Take = { offerId: number; next: number; last: number; codes: number; users: number };

/** Planned rows of `coupons`, and their changes to the stock. */
export type Assignment = { coupons: readonly NewCoupon[]; takes: readonly Take[]; nowMs: number };

/** Planned coupons by request ID. `committed` or `refused` must be called with the outcome of the statement. */
export type Plan = {
  coupons: ReadonlyMap<string, Coupon>;
  assignment: Assignment;
  committed: () => void;
  refused: () => void;
};

type PlanOptions = { nowMs: number; owned: readonly StoredCoupon[] };

/**
 * Plans a code for each request: the user's code from `owned` or, if none exists, the next one of the pool.
 * @returns null if the codes must be assigned with locks: the stock is unknown, nearly empty or shared with other
 * processes, or a request concerns a held or expired code or an earlier pepper
 */
export async function planCoupons(
  tools: IssueTools,
  executor: Executor,
  all: readonly Keyed[],
  { nowMs, owned }: PlanOptions,
): Promise<Plan | null> {
  const { lastStocks } = tools;
  const wants = [...new Map(all.map((want) => [want.id, want])).values()];
  const ownedById = new Map(owned.map((row) => [`${row.user_key} ${row.offer_id}`, row]));
  const coupons = new Map<string, Coupon>();
  const takes = new Map<number, Take>();
  const fresh: { want: Keyed; position: number | null }[] = [];
  for (const want of wants) {
    const { offer, userKeys } = want;
    const pool = offer.coupon;
    if (pool === null || pool.holdMinutes !== null || userKeys.length > 1) return null;
    const row = ownedById.get(want.id);
    if (row !== undefined) {
      if (row.held_until !== null || isOver(row.expires_at, nowMs)) return null;
      coupons.set(want.id, toCoupon(openCoupon(tools, row), row.expires_at, want));
      continue;
    }
    const stock = lastStocks.get(offer.id);
    if (stock === undefined || !stock.isAlone) return null;
    const { next, last } = stock;
    const take = takes.get(offer.id) ?? { offerId: offer.id, next, last, codes: 0, users: 0 };
    takes.set(offer.id, take);
    take.users += 1;
    const isOwn = pool.sharedCode === null;
    fresh.push({ want, position: isOwn ? next + take.codes : null });
    if (isOwn) take.codes += 1;
    // The last code pauses the offer, so it is assigned with locks.
    if (isOwn && next + take.codes > last) return null;
  }
  const places = fresh.flatMap(({ want, position }) =>
    position === null ? [] : [{ offerId: want.offer.id, position }],
  );
  const codes = places.length === 0 ? [] : await tools.readCodes(executor, places);
  const added: NewCoupon[] = [];
  let read = 0;
  for (const { want, position } of fresh) {
    const code = (position === null ? want.offer.coupon?.sharedCode : codes[read++]) ?? null;
    if (code === null) return null;
    added.push(newCoupon(tools, want, code, { isHold: false, nowMs }));
    coupons.set(want.id, toCoupon(code, expiryOf(want.offer.coupon, nowMs), want));
  }
  return {
    coupons,
    assignment: { coupons: added, takes: [...takes.values()], nowMs },
    committed: () => {
      for (const { offerId, next, last, codes } of takes.values())
        lastStocks.set(offerId, { next: next + codes, last, isAlone: true });
    },
    refused: () => {
      for (const offerId of takes.keys()) lastStocks.delete(offerId);
    },
  };
}

/**
 * Returns SQL for a `with` list that assigns planned codes. `can_assign` contains whether the plan still holds. If it
 * does not, nothing is assigned. `stale_stocks` contains the pools whose stock has changed, and `owned` the coupons
 * that users already have.
 *
 * The stock rows are locked in offer order. If the statement had to wait for a lock, it doesn't see coupons of the
 * transaction that it waited for. It then fails with a unique violation if one of the users got a code.
 * @param first number of the first parameter; the values come from `assignmentValues`
 * @param condition SQL condition without which nothing is assigned
 */
export const assignmentSql = (first: number, condition: string): string => {
  const parameter = (index: number): string => `$${first + index}`;
  const [userKeys, offerIds, now] = [parameter(0), parameter(1), parameter(8)];
  const [poolIds, nexts, codes, users] = [9, 10, 11, 12].map(parameter);
  return `stocks as materialized (
  select s.offer_id, s.next_position, s.last_position, coalesce(p.expires_at > ${now}::timestamptz, true) as is_valid
  from coupon_stock s join coupon_pools p on p.offer_id = s.offer_id
  where s.offer_id = any(${poolIds}::integer[]) order by s.offer_id for no key update of s
), takes as materialized (
  select * from unnest(${poolIds}::integer[], ${nexts}::bigint[], ${codes}::integer[], ${users}::integer[])
    as take (offer_id, next, codes, users)
), stale_stocks as materialized (
  select takes.offer_id from takes left join stocks on stocks.offer_id = takes.offer_id
  where (next_position = next and is_valid and (codes = 0 or next + codes <= last_position)) is not true
), owned as materialized (${foundSql(userKeys, offerIds)}
), can_assign as materialized (
  select not exists (select from stale_stocks) and not exists (select from owned) and ${condition} as is_ok
), moved as (
  update coupon_stock s set next_position = s.next_position + takes.codes, given = s.given + takes.users
  from takes where s.offer_id = takes.offer_id and (select is_ok from can_assign)
), assigned as (
  insert into coupons
    (user_key, offer_id, publisher_id, session_id, sealed, digest, folded_digest, expires_at, given_at)
  select coupon.*, ${now}::timestamptz
  from unnest(${userKeys}::uuid[], ${offerIds}::integer[], ${parameter(2)}::integer[], ${parameter(3)}::uuid[],
    ${parameter(4)}::bytea[], ${parameter(5)}::uuid[], ${parameter(6)}::uuid[], ${parameter(7)}::timestamptz[])
    as coupon
  where (select is_ok from can_assign)
)`;
};

/** Returns the parameter values of `assignmentSql`, in order. */
export const assignmentValues = ({ coupons, takes, nowMs }: Assignment): unknown[] => [
  uuids(coupons, ({ userKey }) => userKey),
  integers(coupons, ({ offerId }) => offerId),
  integers(coupons, ({ publisherId }) => publisherId),
  uuids(coupons, ({ sessionId }) => sessionId),
  byteas(coupons, ({ sealed }) => sealed),
  uuids(coupons, ({ digest }) => digest),
  uuids(coupons, ({ foldedDigest }) => foldedDigest),
  timestamps(coupons, ({ expiresAt }) => timeOf(expiresAt)),
  new Date(nowMs),
  integers(takes, ({ offerId }) => offerId),
  bigints(takes, ({ next }) => next),
  integers(takes, ({ codes }) => codes),
  integers(takes, ({ users }) => users),
];

/** SQL that returns the rows of `owned` as JSON, or null if there are none. */
export const ownedJsonSql = `(
  select json_agg(json_build_object('user_key', user_key, 'offer_id', offer_id, 'sealed', encode(sealed, 'hex'),
    'expires_at', expires_at, 'held_until', held_until)) from owned)`;

/** Row of `ownedJsonSql`. */
export type OwnedJson = {
  user_key: string;
  offer_id: number;
  sealed: string;
  expires_at: string | null;
  held_until: string | null;
};

export const ownedOf = (json: readonly OwnedJson[] | null): StoredCoupon[] =>
  (json ?? []).map(({ user_key, offer_id, sealed, expires_at, held_until }) => ({
    user_key,
    offer_id,
    sealed: Buffer.from(sealed, 'hex'),
    expires_at: expires_at === null ? null : new Date(expires_at),
    held_until: held_until === null ? null : new Date(held_until),
  }));
