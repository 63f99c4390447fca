import type { Executor } from '../platform/db/pool.ts';
import type { SecretBox } from '../platform/security/secret-box.ts';
import { createUserKeys } from '../platform/security/user-key.ts';
import { createBlockReader } from './blocks.ts';
import type { Coupon, CouponWant } from './coupon.ts';
import { findOf, type IssueTools, isOver, issueCoupons, type Keyed, openCoupon, toCoupon } from './issue.ts';
import { releaseHolds } from './rows.ts';

/** Issues codes (docs/reference/perks-and-wallet.md#coupons). All offers must have codes. */
export type CouponIssuer = {
  /**
   * Issues a code for each user, in the transaction of the fact that earns it. A user gets one code per offer, however
   * often it is requested. Locks the stock of the pools, in the order of their offers, until the end of the
   * transaction.
   * @returns the coupons in the order of `wants`; null if no code is left
   */
  give: (executor: Executor, wants: readonly CouponWant[], nowMs: number) => Promise<Coupon[]>;
  /** Holds a code for each user for the `holdMinutes` of the pool. */
  hold: (executor: Executor, wants: readonly CouponWant[], nowMs: number) => Promise<void>;
  /** Releases held codes. */
  release: (executor: Executor, wants: readonly CouponWant[], nowMs: number) => Promise<void>;
  /** Finds issued coupons. The result is null for a coupon that is missing or expired. */
  find: (executor: Executor, wants: readonly CouponWant[], nowMs: number) => Promise<Coupon[]>;
};

/** Code for developers. */
const testCode = 'TEST-CODE';

type Secrets = { userPepper: string; earlierPeppers: readonly string[] };

export function createCouponIssuer({ secretBox, config }: { secretBox: SecretBox; config: Secrets }): CouponIssuer {
  const userKeys = createUserKeys(config.userPepper, config.earlierPeppers);
  const digestsOf = createCodeDigests(config);
  const tools: IssueTools = {
    secretBox,
    readCodes: createBlockReader(secretBox),
    digestOf: (code) => digestsOf(code)[0] as string,
    foldedDigestOf: (code) => digestsOf(foldCode(code))[0] as string,
  };

  const withKeys = (want: CouponWant): Keyed => {
    const keys = userKeys.allOf(want.publisherId, want.pubUserId) as [string, ...string[]];
    return { ...want, userKeys: keys, id: `${keys[0]} ${want.offer.id}` };
  };

  /** Runs an operation for all wants except those of developers, who get a test code. */
  async function forUsers(
    wants: readonly CouponWant[],
    ask: (asked: readonly Keyed[]) => Promise<Map<string, Coupon>>,
  ) {
    const keyedWants = wants.map((want) => (want.dev ? null : withKeys(want)));
    const real = keyedWants.filter((want) => want !== null);
    const coupons = real.length === 0 ? new Map<string, Coupon>() : await ask(real);
    return wants.map((want, index) => {
      const id = keyedWants[index]?.id;
      return id === undefined ? toCoupon(testCode, null, want) : (coupons.get(id) ?? null);
    });
  }

  return {
    give: (executor, wants, nowMs) =>
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

/** Normalizes case and Unicode form of a code: `ｓｐｒｉｎｇ` and `Spring` are equal. */
export const foldCode = (code: string): string => code.normalize('NFKC').toLowerCase().toUpperCase().normalize('NFKC');

/** Keyed hashes of a code, with the current pepper first, by which its advertiser finds it. */
export function createCodeDigests(config: Secrets): (code: string) => readonly string[] {
  const keys = createUserKeys(config.userPepper, config.earlierPeppers);
  // No publisher has the id 0, so no user key equals the digest of a code.
  return (code) => keys.allOf(0, code);
}
