import type { Executor } from '../platform/db/pool.ts';
import type { SecretBox } from '../platform/security/secret-box.ts';
import { createUserKeys } from '../platform/security/user-key.ts';
import { createBlockReader } from './blocks.ts';
import type { Coupon, CouponWant } from './coupon.ts';
import { findOf, type IssueTools, isOver, issueCoupons, type Keyed, openCoupon, toCoupon } from './issue.ts';
import { type Plan, planCoupons } from './plan.ts';
import { createLastStocks, releaseHolds, type StoredCoupon } from './rows.ts';

/** Issues coupon codes (docs/reference/perks-and-wallet.md#coupons). All offers passed to it must have a pool. */
export type CouponIssuer = {
  /**
   * Issues a code to each user, in the same transaction as the event that earned it. A user gets only one code per
   * offer, no matter how often it is requested. The pools' stock rows are locked in offer order until the transaction
   * ends.
   * @returns coupons in the order of `wants`; null where no code is left
   */
  issue: (executor: Executor, wants: readonly CouponWant[], nowMs: number) => Promise<Coupon[]>;
  /** Holds a code for each user, for as many minutes as the pool's `holdMinutes`. */
  hold: (executor: Executor, wants: readonly CouponWant[], nowMs: number) => Promise<void>;
  /** Releases codes that are held for the users. */
  release: (executor: Executor, wants: readonly CouponWant[], nowMs: number) => Promise<void>;
  /** Finds coupons that have already been issued. Returns null for each coupon that doesn't exist or has expired. */
  find: (executor: Executor, wants: readonly CouponWant[], nowMs: number) => Promise<Coupon[]>;
  /**
   * Plans a code for each user, without locks. A statement that contains `assignmentSql` must then assign them.
   * @param owned coupons that the users already have, as far as they are known
   * @returns null if the codes can only be issued with `issue`
   */
  plan: (
    executor: Executor,
    wants: readonly CouponWant[],
    options: { nowMs: number; owned: readonly StoredCoupon[] },
  ) => Promise<CouponPlan | null>;
};

/** Planned coupons, in the order of the requests. */
export type CouponPlan = Omit<Plan, 'coupons'> & { coupons: readonly Coupon[] };

/** Code issued in dev sessions. */
const testCode = 'TEST-CODE';

type Secrets = { userPepper: string; earlierPeppers: readonly string[] };

export function createCouponIssuer({ secretBox, config }: { secretBox: SecretBox; config: Secrets }): CouponIssuer {
  const userKeys = createUserKeys(config.userPepper, config.earlierPeppers);
  const digestsOf = createCodeDigests(config);
  const tools: IssueTools = {
    secretBox,
    readCodes: createBlockReader(secretBox),
    digestOf: (code) => digestsOf(code)[0] as string,
    foldCode,
    lastStocks: createLastStocks(),
  };

  const withKeys = (want: CouponWant): Keyed => {
    const keys = userKeys.allOf(want.publisherId, want.pubUserId) as [string, ...string[]];
    return { ...want, userKeys: keys, id: `${keys[0]} ${want.offer.id}` };
  };

  /** Returns the requests with their user keys. Dev sessions are null, because they get a test code. */
  const withKeysEach = (wants: readonly CouponWant[]): (Keyed | null)[] =>
    wants.map((want) => (want.dev ? null : withKeys(want)));

  const inOrder = (
    wants: readonly CouponWant[],
    keyedWants: readonly (Keyed | null)[],
    coupons: ReadonlyMap<string, Coupon>,
  ): Coupon[] =>
    wants.map((want, index) => {
      const id = keyedWants[index]?.id;
      return id === undefined ? toCoupon(testCode, null, want) : (coupons.get(id) ?? null);
    });

  /** Runs an operation for all requests except those of dev sessions. */
  async function forUsers(
    wants: readonly CouponWant[],
    run: (keyedWants: readonly Keyed[]) => Promise<Map<string, Coupon>>,
  ) {
    const keyedWants = withKeysEach(wants);
    const real = keyedWants.filter((want) => want !== null);
    return inOrder(wants, keyedWants, real.length === 0 ? new Map<string, Coupon>() : await run(real));
  }

  return {
    plan: async (executor, wants, options) => {
      const keyedWants = withKeysEach(wants);
      const real = keyedWants.filter((want) => want !== null);
      const plan = await planCoupons(tools, executor, real, options);
      return plan === null ? null : { ...plan, coupons: inOrder(wants, keyedWants, plan.coupons) };
    },
    issue: (executor, wants, nowMs) =>
      forUsers(wants, (keyedWants) => issueCoupons(tools, executor, keyedWants, { isHold: false, nowMs })),
    hold: async (executor, wants, nowMs) => {
      await forUsers(wants, (keyedWants) => issueCoupons(tools, executor, keyedWants, { isHold: true, nowMs }));
    },
    release: async (executor, wants, nowMs) => {
      if (wants.length > 0) await releaseHolds(executor, wants.map(withKeys), nowMs);
    },
    find: (executor, wants, nowMs) =>
      forUsers(wants, async (keyedWants) => {
        const coupons = await findOf(executor, keyedWants);
        const issued = keyedWants.filter(({ id }) => {
          const row = coupons.get(id);
          return row !== undefined && row.held_until === null && !isOver(row.expires_at, nowMs);
        });
        return new Map(
          issued.map((want) => {
            const row = coupons.get(want.id) as NonNullable<ReturnType<typeof coupons.get>>;
            return [want.id, toCoupon(openCoupon(tools, row), row.expires_at, want)];
          }),
        );
      }),
  };
}

/** Normalises the case and Unicode form of a code, so that `ｓｐｒｉｎｇ` and `Spring` become equal. */
export const foldCode = (code: string): string => code.normalize('NFKC').toLowerCase().toUpperCase().normalize('NFKC');

/**
 * Creates a function that returns the keyed hashes by which an advertiser's code can be looked up. The hash with the
 * current pepper comes first.
 */
export function createCodeDigests(config: Secrets): (code: string) => readonly string[] {
  const keys = createUserKeys(config.userPepper, config.earlierPeppers);
  // Use publisher ID 0, which does not exist, so that a code digest can never equal a user key.
  return (code) => keys.allOf(0, code);
}
