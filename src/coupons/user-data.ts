import { readSlices } from '../platform/db/pool.ts';
import type { RetentionStep } from '../platform/db/retention.ts';
import { firstUuid7After } from '../platform/lib/uuid7.ts';
import type { SecretBox } from '../platform/security/secret-box.ts';
import type { EraseOfUser, EraseWithSessions, ExportRows } from '../platform/user-data.ts';
import { couponContext } from './seals.ts';

/** Deletes a user's codes, and reduces the number of held codes in the stock accordingly. */
const eraseSql = (where: string): string => `with gone as (
  delete from coupons where ${where} returning offer_id, held_until is not null as held
), counts as (
  select offer_id, count(*) filter (where held) as held from gone group by offer_id
), moved as (
  update coupon_stock s set held = s.held - counts.held from counts
  where counts.offer_id = s.offer_id and counts.held > 0
)
select count(*)::int as count from gone`;

/** Deletes the user's codes from all sessions up to the time of the erasure request. */
export const eraseCouponsOfUser: EraseOfUser = async (pool, { subject, until }, onErased) => {
  const { rows } = await pool.query<{ count: number }>(
    eraseSql('user_key = any($1::uuid[]) and session_id < $2::uuid'),
    [subject.userKeys, firstUuid7After(until)],
  );
  await onErased({ coupons: rows[0]?.count ?? 0 });
};

/** Deletes the codes that were issued in the given sessions. */
export const eraseCouponsOfSessions: EraseWithSessions = async (executor, sessions) => {
  const { rows } = await executor.query<{ count: number }>(
    eraseSql('user_key = any($1::uuid[]) and session_id = any($2::uuid[])'),
    [[...new Set(sessions.flatMap(({ pubUserKeys }) => pubUserKeys))], sessions.map(({ id }) => id)],
  );
  return { coupons: rows[0]?.count ?? 0 };
};

type ExportedRow = { user_key: string; offer_id: number; sealed: Buffer };

/**
 * Exports a user's codes: for a `pub_user_id`, all codes; for an `ad_fp`, the codes issued in that device's sessions.
 */
export const exportCoupons = (box: SecretBox): ExportRows =>
  async function* (executor, { subject, pubUserKeys, sessionIds }) {
    const slices = readSlices<ExportedRow & Record<string, unknown>>(
      executor,
      `select user_key, offer_id, sealed, session_id, given_at, expires_at, redeemed_at, cancelled_at from coupons
      where user_key = any($1::uuid[]) and held_until is null and (not $3 or session_id = any($2::uuid[]))
      order by given_at, offer_id`,
      [pubUserKeys, sessionIds, subject.namedBy === 'ad_fp'],
    );
    for await (const rows of slices)
      yield rows.map(({ user_key, sealed, ...row }) => ({
        ...row,
        code: box.open(sealed, couponContext([user_key, row.offer_id])),
      }));
  };

/**
 * Deletes users' codes RETENTION_RAW_DAYS after they expired. Codes without an expiry are deleted RETENTION_ROLLUP_DAYS
 * after they were issued.
 */
export const applyCouponRetention: RetentionStep = async (pool, { retentionRawDays, retentionRollupDays }, nowMs) => {
  const { rowCount } = await pool.query(
    `delete from coupons where held_until is null
      and coalesce(expires_at + $2 * interval '1 day', given_at + $3 * interval '1 day') < $1`,
    [new Date(nowMs), retentionRawDays, retentionRollupDays],
  );
  return { coupons: rowCount ?? 0 };
};
