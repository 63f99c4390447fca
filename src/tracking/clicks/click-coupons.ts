import type pg from 'pg';
import type { Coupon, CouponWant } from '../../coupons/coupon.ts';
import type { CouponIssuer } from '../../coupons/issuer.ts';
import { offerAt } from '../../offers/offer-view.ts';
import type { BatchMeters } from '../../platform/db/batch.ts';
import { createBatcher } from '../../platform/db/batcher.ts';
import { uuids } from '../../platform/db/binary-array.ts';
import type { DatabaseHealth } from '../../platform/db/health.ts';
import { type Executor, transaction } from '../../platform/db/pool.ts';
import { daysOf } from '../event-rows.ts';
import type { TrackedRequest } from '../verify-token.ts';
import type { Landing } from './landing.ts';

/**
 * Issues coupon codes on clicks (docs/reference/perks-and-wallet.md#coupons). Must not be called for offers without
 * coupons.
 */
export type ClickCoupons = {
  /**
   * Issues a code to the user if the coupon pool issues codes on clicks. Otherwise returns the user's existing code if
   * the landing page needs one. Resolves after the commit.
   * @returns the code, or null if none exists
   */
  codeOf: (click: TrackedRequest, landing: Landing) => Promise<string | null>;
  /** Resolves when no request is queued or in progress. */
  drain: () => Promise<void>;
};

type ClickCouponDeps = {
  pool: pg.Pool;
  dbHealth: DatabaseHealth;
  batchMeters: BatchMeters;
  coupons: CouponIssuer;
};

export function createClickCoupons({ pool, dbHealth, batchMeters, coupons }: ClickCouponDeps): ClickCoupons {
  const batcher = createBatcher<TrackedRequest, string | null>({
    write: (clicks) => transaction(pool, (executor) => codesOf(executor, coupons, clicks)),
    dbHealth,
    meter: batchMeters('click_coupons'),
  });
  return {
    codeOf: async (click, landing) => {
      const { claims, suspicious } = click.event;
      const isAsked = click.offer.coupon?.giveAt === 'click' || landing.needsCoupon;
      // Clicks with a QR code token and clicks by bots have no user.
      const isUser = claims.sessionId !== null && suspicious !== 'bot';
      const code = isAsked && isUser ? await batcher.add(click) : null;
      return code ?? offerAt(click.offer, click.event.atMs).coupon?.sharedCode ?? null;
    },
    drain: batcher.drain,
  };
}

/** Returns the codes of these clicks, in order. A code is null if the session has no user or no code is left. */
async function codesOf(executor: Executor, coupons: CouponIssuer, clicks: readonly TrackedRequest[]) {
  const users = await findUsers(executor, clicks);
  const wants = clicks.flatMap((click, index): (CouponWant & { index: number })[] => {
    const { sessionId, claims } = click.event;
    const pubUserId = users.get(sessionId);
    if (pubUserId === undefined) return [];
    return [{ offer: click.offer, publisherId: claims.publisherId, pubUserId, sessionId, dev: claims.dev, index }];
  });
  const codes = clicks.map((): string | null => null);
  const put = (wantsOfCodes: typeof wants, codesFound: readonly Coupon[]): void => {
    for (const [at, { index }] of wantsOfCodes.entries()) codes[index] = codesFound[at]?.code ?? null;
  };
  const isIssuedAtClick = ({ offer }: CouponWant): boolean => offer.coupon?.giveAt === 'click';
  const [atClick, others] = [wants.filter(isIssuedAtClick), wants.filter((want) => !isIssuedAtClick(want))];
  const atMs = Math.max(0, ...clicks.map(({ event }) => event.atMs));
  if (atClick.length > 0) put(atClick, await coupons.issue(executor, atClick, atMs));
  if (others.length > 0) put(others, await coupons.find(executor, others, atMs));
  return codes;
}

/** Loads the users of the clicks' sessions. */
async function findUsers(executor: Executor, clicks: readonly TrackedRequest[]): Promise<Map<string, string>> {
  const events = clicks.map(({ event }) => event);
  const { rows } = await executor.query<{ id: string; pub_user_id: string }>({
    name: 'find_click_users',
    text: `select id, pub_user_id from sessions
where day = any($1::date[]) and id = any($2::uuid[]) and pub_user_id is not null`,
    values: [daysOf(events), uuids(events, ({ sessionId }) => sessionId)],
  });
  return new Map(rows.map(({ id, pub_user_id: user }) => [id, user]));
}
