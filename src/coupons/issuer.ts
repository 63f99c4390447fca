import type { Executor } from '../platform/db/pool.ts';
import type { SecretBox } from '../platform/security/secret-box.ts';
import { createUserKeys } from '../platform/security/user-key.ts';
import { createBlockReader } from './blocks.ts';
import type { Coupon, CouponWant } from './coupon.ts';
import { findOf, type IssueTools, isOver, issueCoupons, type Keyed, openCoupon, toCoupon } from './issue.ts';
import { releaseHolds } from './rows.ts';

/** Gives codes (docs/reference/perks-and-wallet.md#coupons). Offers without codes must not be asked for. */
export type CouponIssuer = {
  /**
   * Gives each user a code, in the transaction of the fact that earns it: one for a user and offer, however often it is
   * asked for. Locks the stock of the pools, in the order of their offers, to the end of the transaction.
   * @returns the coupons in the order of `wants`; null where none is left
   */
  give: (executor: Executor, wants: readonly CouponWant[], nowMs: number) => Promise<Coupon[]>;
  /** Keeps a code for each user until the pool's `holdMinutes` are over. */
  hold: (executor: Executor, wants: readonly CouponWant[], nowMs: number) => Promise<void>;
  /** Ends what is held. */
  release: (executor: Executor, wants: readonly CouponWant[], nowMs: number) => Promise<void>;
  /** The coupons that users were given; null where there is none, or it has ended. */
  find: (executor: Executor, wants: readonly CouponWant[], nowMs: number) => Promise<Coupon[]>;
};

/** What developers get in place of a code. */
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

  const keyed = (want: CouponWant): Keyed => {
    const keys = userKeys.allOf(want.publisherId, want.pubUserId) as [string, ...string[]];
    return { ...want, userKeys: keys, id: `${keys[0]} ${want.offer.id}` };
  };

  /** Asks for the coupons of all but developers, whose code is made up. */
  async function each(wants: readonly CouponWant[], ask: (asked: readonly Keyed[]) => Promise<Map<string, Coupon>>) {
    const asked = wants.map((want) => (want.dev ? null : keyed(want)));
    const real = asked.filter((want) => want !== null);
    const coupons = real.length === 0 ? new Map<string, Coupon>() : await ask(real);
    return wants.map((want, index) => {
      const id = asked[index]?.id;
      return id === undefined ? toCoupon(testCode, null, want) : (coupons.get(id) ?? null);
    });
  }

  return {
    give: (executor, wants, nowMs) =>
      each(wants, (asked) => issueCoupons(tools, executor, asked, { isHold: false, nowMs })),
    hold: async (executor, wants, nowMs) => {
      await each(wants, (asked) => issueCoupons(tools, executor, asked, { isHold: true, nowMs }));
    },
    release: async (executor, wants, nowMs) => {
      if (wants.length > 0) await releaseHolds(executor, wants.map(keyed), nowMs);
    },
    find: (executor, wants, nowMs) =>
      each(wants, async (asked) => {
        const found = await findOf(executor, asked);
        const given = asked.filter(({ id }) => {
          const row = found.get(id);
          return row !== undefined && row.held_until === null && !isOver(row.expires_at, nowMs);
        });
        return new Map(
          given.map((want) => {
            const row = found.get(want.id) as NonNullable<ReturnType<typeof found.get>>;
            return [want.id, toCoupon(openCoupon(tools, row), row.expires_at, want)];
          }),
        );
      }),
  };
}

/** A code without differences of case and Unicode form: `ｓｐｒｉｎｇ` and `Spring` are equal. */
export const foldCode = (code: string): string => code.normalize('NFKC').toLowerCase().toUpperCase().normalize('NFKC');

/** Keyed hashes of a code, under the present pepper first, by which its advertiser finds it. */
export function createCodeDigests(config: Secrets): (code: string) => readonly string[] {
  const keys = createUserKeys(config.userPepper, config.earlierPeppers);
  // No publisher has the id 0, so no user has the digest of a code.
  return (code) => keys.allOf(0, code);
}
