import { type Executor, whenCommitted } from '../platform/db/pool.ts';
import { minuteMs } from '../platform/lib/time.ts';
import type { SecretBox } from '../platform/security/secret-box.ts';
import type { BlockReader } from './blocks.ts';
import { type Coupon, type CouponWant, expiryOf } from './coupon.ts';
import {
  type Confirmed,
  type CouponKey,
  claimExpiredHold,
  confirmHolds,
  deleteHolds,
  findCoupons,
  type LastStocks,
  lockStock,
  markDrained,
  type NewCoupon,
  type RenewedHold,
  readFallbacks,
  renewHolds,
  type Stock,
  type StoredCoupon,
  writeCoupons,
} from './rows.ts';
import { couponContext, fallbackContext } from './seals.ts';

/** Coupon request with the user's keys, the current key first. `id` identifies the combination of user and offer. */
export type Keyed = CouponWant & { userKeys: readonly [string, ...string[]]; id: string };

export type IssueTools = {
  secretBox: SecretBox;
  readCodes: BlockReader;
  /** Returns the digest for exact lookups of a code. */
  digestOf: (code: string) => string;
  /** Normalises the case and Unicode form of a code, which lookups ignore. */
  foldCode: (code: string) => string;
  /** Stocks from which codes can be planned (plan.ts). */
  lastStocks: LastStocks;
};

type RequestKey = CouponKey & { id: string };

const keysOf = (wants: readonly Keyed[]): RequestKey[] =>
  wants.flatMap(({ userKeys, offer, id }) => userKeys.map((userKey) => ({ userKey, offer, id })));

/** Returns coupons by request ID. */
function byRequest(keys: readonly RequestKey[], rows: readonly StoredCoupon[]): Map<string, StoredCoupon> {
  const coupons = new Map<string, StoredCoupon>();
  if (rows.length === 0) return coupons;
  const rowsByKey = new Map(rows.map((row) => [`${row.user_key} ${row.offer_id}`, row]));
  for (const { userKey, offer, id } of keys) {
    const row = rowsByKey.get(`${userKey} ${offer.id}`);
    if (row !== undefined) coupons.set(id, row);
  }
  return coupons;
}

/** Loads the existing coupons of users, keyed by request ID. */
export async function findOf(executor: Executor, wants: readonly Keyed[]): Promise<Map<string, StoredCoupon>> {
  const keys = keysOf(wants);
  return byRequest(keys, await findCoupons(executor, keys));
}

export const openCoupon = ({ secretBox }: { secretBox: SecretBox }, row: StoredCoupon): string =>
  secretBox.open(row.sealed, couponContext([row.user_key, row.offer_id]));

export const toCoupon = (code: string, expiresAt: Date | string | null, { offer }: CouponWant): Coupon => ({
  code,
  expires_at: expiresAt === null ? null : new Date(expiresAt).toISOString(),
  terms: offer.coupon?.terms ?? '',
});

/** Whether a code or pool has expired. */
export const isOver = (expiresAt: Date | null, nowMs: number): boolean =>
  expiresAt !== null && expiresAt.getTime() <= nowMs;

type Issue = { isHold: boolean; nowMs: number };

/**
 * Issues or holds a code for each request: the user's existing code or, if none exists, a new one.
 * @returns coupons by request ID; requests for which no code was available are missing
 */
export async function issueCoupons(
  tools: IssueTools,
  executor: Executor,
  all: readonly Keyed[],
  { isHold, nowMs }: Issue,
): Promise<Map<string, Coupon>> {
  const wants = [...new Map(all.map((want) => [want.id, want])).values()];
  const keys = keysOf(wants);
  const { stocks, coupons: stored } = await lockStock(executor, wants, keys);
  const positions = new Map([...stocks.values()].map(({ offerId, next }) => [offerId, next]));
  const existing = byRequest(keys, stored ?? (await findCoupons(executor, keys)));
  const coupons = new Map<string, Coupon>();
  const confirmed: Confirmed[] = [];
  const renewed: RenewedHold[] = [];
  /** Held codes whose pool has expired since. `ended` contains the requests whose issued code has expired. */
  const lapsed: StoredCoupon[] = [];
  const ended: Keyed[] = [];
  for (const want of wants) {
    const row = existing.get(want.id);
    if (row === undefined) continue;
    const isPoolOver = isOver(stocks.get(want.offer.id)?.expiresAt ?? null, nowMs);
    if (row.held_until !== null && isPoolOver) {
      lapsed.push(row);
      existing.delete(want.id);
      continue;
    }
    if (row.held_until === null && isOver(row.expires_at, nowMs)) {
      ended.push(want);
      continue;
    }
    const isConfirmed = !isHold && row.held_until !== null;
    const expiresAt = isConfirmed ? expiryOf(want.offer.coupon, nowMs) : row.expires_at;
    coupons.set(want.id, toCoupon(openCoupon(tools, row), expiresAt, want));
    if (isConfirmed)
      confirmed.push({ userKey: row.user_key, offerId: row.offer_id, sessionId: want.sessionId, expiresAt });
    else if (row.held_until !== null)
      renewed.push({ userKey: row.user_key, offerId: row.offer_id, heldUntilMs: holdEndOf(want, nowMs) });
  }
  if (lapsed.length > 0) await deleteHolds(executor, lapsed);
  for (const { offer_id } of lapsed) count(stocks, [{ offerId: offer_id }], 'held', -1);
  for (const [id, code] of await readFallbackCodes(tools, executor, ended))
    coupons.set(id, toCoupon(code, null, ended.find((want) => want.id === id) as Keyed));
  const fresh = wants.filter(({ id }) => !existing.has(id));
  const codes = await allocateCodes(tools, executor, { fresh, stocks, nowMs });
  const added = fresh.flatMap((want) => {
    const code = codes.get(want.id);
    if (code === undefined) return [];
    const coupon = newCoupon(tools, want, code, { isHold, nowMs });
    coupons.set(want.id, toCoupon(code, coupon.expiresAt, want));
    return [coupon];
  });
  count(stocks, added, isHold ? 'held' : 'given', 1);
  count(stocks, confirmed, 'held', -1);
  count(stocks, confirmed, 'given', 1);
  if (confirmed.length > 0) await confirmHolds(executor, confirmed, nowMs);
  if (renewed.length > 0) await renewHolds(executor, renewed);
  if (added.length + confirmed.length + lapsed.length > 0)
    await writeCoupons(executor, { coupons: added, stocks: [...stocks.values()] }, nowMs);
  const drained = [...stocks.values()].filter(
    ({ next, last, isOwn, expiresAt }) => (isOwn && next > last) || isOver(expiresAt, nowMs),
  );
  if (drained.length > 0) await markDrained(executor, drained, nowMs);
  whenCommitted(executor, () => {
    for (const { offerId, next, last } of stocks.values()) {
      const isAlone = tools.lastStocks.get(offerId)?.next === positions.get(offerId);
      tools.lastStocks.set(offerId, { next, last, isAlone });
    }
  });
  return coupons;
}

const holdEndOf = ({ offer }: CouponWant, nowMs: number): number => nowMs + (offer.coupon?.holdMinutes ?? 0) * minuteMs;

/** Builds the row of a code that is issued or held. */
export function newCoupon(tools: IssueTools, want: Keyed, code: string, { isHold, nowMs }: Issue): NewCoupon {
  const { userKeys, offer, publisherId, sessionId } = want;
  const [userKey] = userKeys;
  const [digest, normalised] = [tools.digestOf(code), tools.foldCode(code)];
  return {
    userKey,
    offerId: offer.id,
    publisherId,
    sessionId,
    sealed: tools.secretBox.seal(code, couponContext([userKey, offer.id])),
    digest,
    foldedDigest: normalised === code ? digest : tools.digestOf(normalised),
    expiresAt: expiryOf(offer.coupon, nowMs),
    heldUntilMs: isHold ? holdEndOf(want, nowMs) : null,
  };
}

type CodeRequest = { fresh: readonly Keyed[]; stocks: ReadonlyMap<number, Stock>; nowMs: number };

/**
 * Allocates codes to users who have none, as far as codes are available: first unused codes, then codes whose hold has
 * expired, then the fallback code. An expired pool provides only its fallback code.
 */
async function allocateCodes(tools: IssueTools, executor: Executor, { fresh, stocks, nowMs }: CodeRequest) {
  const codes = new Map<string, string>();
  const places: { id: string; offerId: number; position: number }[] = [];
  const without: Keyed[] = [];
  for (const want of fresh) {
    const { coupon: pool, id: offerId } = want.offer;
    const stock = stocks.get(offerId);
    if (stock !== undefined && isOver(stock.expiresAt, nowMs)) without.push(want);
    else if (pool?.sharedCode != null) codes.set(want.id, pool.sharedCode);
    else if (stock !== undefined && stock.next <= stock.last) {
      places.push({ id: want.id, offerId, position: stock.next });
      stock.next += 1;
    } else without.push(want);
  }
  const read = places.length === 0 ? [] : await tools.readCodes(executor, places);
  for (const [index, { id }] of places.entries()) {
    const code = read[index] ?? null;
    if (code === null) throw new Error('a pool has no code where its stock says that there is one');
    codes.set(id, code);
  }
  for (const want of without) {
    const stock = stocks.get(want.offer.id);
    if (stock === undefined || stock.held <= 0 || isOver(stock.expiresAt, nowMs)) continue;
    const ended = await claimExpiredHold(executor, want.offer.id, nowMs);
    if (ended === null) continue;
    stock.held -= 1;
    codes.set(want.id, openCoupon(tools, ended));
  }
  const rest = without.filter(({ id }) => !codes.has(id));
  for (const [id, code] of await readFallbackCodes(tools, executor, rest)) codes.set(id, code);
  return codes;
}

/** Reads the fallback codes, keyed by request ID. Pools without a fallback code are left out. */
async function readFallbackCodes(
  { secretBox }: IssueTools,
  executor: Executor,
  wants: readonly Keyed[],
): Promise<Map<string, string>> {
  const codes = new Map<string, string>();
  if (wants.length === 0) return codes;
  for (const { offer_id: offerId, sealed } of await readFallbacks(executor, wants)) {
    const code = secretBox.open(sealed, fallbackContext([offerId]));
    for (const { id, offer } of wants) if (offer.id === offerId) codes.set(id, code);
  }
  return codes;
}

function count(
  stocks: ReadonlyMap<number, Stock>,
  rows: readonly { offerId: number }[],
  what: 'given' | 'held',
  by: number,
): void {
  for (const { offerId } of rows) {
    const stock = stocks.get(offerId);
    if (stock !== undefined) stock[what] += by;
  }
}
