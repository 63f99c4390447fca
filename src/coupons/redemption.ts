import { type Static, Type } from '@sinclair/typebox';
import type pg from 'pg';
import { openConversionSecret } from '../catalog/conversion-secret.ts';
import { AppError } from '../platform/errors.ts';
import { problem } from '../platform/problem.ts';
import { isSignedWith } from '../platform/security/hex-signature.ts';
import type { SecretBox } from '../platform/security/secret-box.ts';
import { maxCodeLength } from './code-text.ts';
import { foldCode } from './issuer.ts';

/** Redemption status of a code, as reported by its advertiser. */
export type Redemption = 'redeemed' | 'cancelled';

const text = (maxLength: number, description: string) => Type.String({ maxLength, description });

const int32 = { minimum: 1, maximum: 2 ** 31 - 1 };

/** Body of a redemption report (docs/reference/perks-and-wallet.md#redemptions). */
export const redemptionBody = Type.Object(
  {
    advertiser_id: Type.Integer({ ...int32, description: 'ID of the advertiser whose secret signs the report.' }),
    offer_id: Type.Integer(int32),
    code: text(maxCodeLength, 'Code as the user presented it.'),
    signature: text(
      64,
      'HMAC-SHA256 in hex of `advertiser_id`, `offer_id`, `code` and `redeemed` or `cancelled`, one per line.',
    ),
  },
  { title: 'CouponReport' },
);

type Report = Static<typeof redemptionBody>;

type Reported = { offer_id: number; status: Redemption; changed: boolean };

export type RedemptionDeps = {
  pool: pg.Pool;
  secretBox: SecretBox;
  digestsOf: (code: string) => readonly string[];
  now: () => number;
};

/**
 * Records a redemption report. The call is idempotent. A code that matches exactly is preferred. Otherwise, a unique
 * match that ignores case and Unicode form is used, because some shops store codes in lower case. The signature is
 * verified first, so that codes can't be guessed by trial and error.
 * @throws AppError invalid_signature; coupon_not_found; conflict for a shared or cancelled code
 */
export async function recordRedemption(
  { pool, secretBox, digestsOf, now }: RedemptionDeps,
  report: Report,
  status: Redemption,
): Promise<Reported> {
  const { advertiser_id: advertiserId, offer_id: offerId, signature } = report;
  const { rows: advertisers } = await pool.query<{ sealed: Buffer | null }>({
    name: 'find_coupon_advertiser',
    text: 'select conversion_secret_sealed as sealed from advertisers where id = $1',
    values: [advertiserId],
  });
  const sealed = advertisers[0]?.sealed ?? null;
  const signed = [advertiserId, offerId, report.code, status].join('\n');
  if (sealed === null || !isSignedWith(openConversionSecret(secretBox, sealed), signed, signature))
    throw new AppError('invalid_signature');
  const code = report.code.trim();
  const { rows } = await pool.query<{ matches: number; was: Redemption | null; changed: number }>({
    name: 'record_coupon_redemption',
    text: recordSql,
    values: [offerId, digestsOf(code), advertiserId, status === 'redeemed', new Date(now()), digestsOf(foldCode(code))],
  });
  const { matches = 0, was = null, changed = 0 } = rows[0] ?? {};
  if (matches === 0) throw new AppError('coupon_not_found');
  if (matches > 1) throw new AppError('conflict', { message: problem('severalUsersHaveCode') });
  if (status === 'redeemed' && was === 'cancelled')
    throw new AppError('conflict', { message: problem('codeCancelled') });
  return { offer_id: offerId, status, changed: changed > 0 };
}

/**
 * SQL for the codes that match digests if case and Unicode form are ignored. Most codes are equal to their normalised
 * form. Only the others are in a second index.
 */
export const equivalentSql = (columns: string, digests: string, condition: string): string => `
  select ${columns} from coupons c
  where c.digest = any(${digests}) and c.folded_digest = c.digest and ${condition}
  union all
  select ${columns} from coupons c
  where c.folded_digest = any(${digests}) and c.folded_digest <> c.digest and ${condition}`;

/** `$4` is true for a redemption and false for a cancellation, which reverts an earlier redemption. */
const recordSql = `with exact as (
  select c.user_key, c.offer_id, c.redeemed_at, c.cancelled_at
  from coupons c join offers o on o.id = c.offer_id join campaigns p on p.id = o.campaign_id
  where c.offer_id = $1 and c.digest = any($2::uuid[]) and c.held_until is null and p.advertiser_id = $3
  limit 2
), equivalent as (
  select c.* from (${equivalentSql(
    'c.user_key, c.offer_id, c.redeemed_at, c.cancelled_at',
    '$6::uuid[]',
    'c.offer_id = $1 and c.held_until is null',
  )}
  ) c join offers o on o.id = c.offer_id join campaigns p on p.id = o.campaign_id
  where p.advertiser_id = $3 and not exists (select from exact)
  limit 2
), found as (
  select * from exact union all select * from equivalent
), one as (
  select * from found where (select count(*) from found) = 1
), changed as (
  update coupons c set redeemed_at = case when $4 then $5::timestamptz else c.redeemed_at end,
    cancelled_at = case when $4 then null else $5::timestamptz end
  from one where c.user_key = one.user_key and c.offer_id = one.offer_id and c.cancelled_at is null
    and ($4 = false or c.redeemed_at is null)
  returning c.offer_id, one.redeemed_at is not null as was_redeemed
), counted as (
  update coupon_stock s set redeemed = s.redeemed + case when $4 then 1 when x.was_redeemed then -1 else 0 end,
    cancelled = s.cancelled + case when $4 then 0 else 1 end
  from changed x where s.offer_id = x.offer_id
)
select (select count(*)::int from found) as matches, (select count(*)::int from changed) as changed,
  (select case when cancelled_at is not null then 'cancelled' when redeemed_at is not null then 'redeemed' end
    from one) as was`;
