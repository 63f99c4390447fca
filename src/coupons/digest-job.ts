import type pg from 'pg';
import { byteas, integers, uuids } from '../platform/db/binary-array.ts';
import type { SecretBox } from '../platform/security/secret-box.ts';
import { foldCode } from './issuer.ts';
import { couponContext } from './seals.ts';

/** Number of rows per statement. `maxBatches` is the maximum number of statements per run. */
const batchRows = 500;
const maxBatches = 20;

type FoldDeps = { pool: pg.Pool; secretBox: SecretBox; digestsOf: (code: string) => readonly string[] };

type UnfoldedCoupon = { user_key: string; offer_id: number; sealed: Buffer; digest: string };

/**
 * Backfills the digests that ignore case and Unicode form, for codes issued by an earlier version. A code that can't be
 * decrypted gets its exact digest instead.
 * @returns the number of updated rows
 */
export async function foldDigests({ pool, secretBox, digestsOf }: FoldDeps): Promise<number> {
  let changed = 0;
  for (let batch = 0; batch < maxBatches; batch += 1) {
    const { rows } = await pool.query<UnfoldedCoupon>(
      `select user_key, offer_id, sealed, digest from coupons where folded_digest is null order by offer_id limit $1`,
      [batchRows],
    );
    const digests = rows.map(({ user_key, offer_id, sealed, digest }) => {
      try {
        return digestsOf(foldCode(secretBox.open(sealed, couponContext([user_key, offer_id]))))[0] ?? digest;
      } catch {
        return digest;
      }
    });
    if (rows.length > 0)
      await pool.query(
        `update coupons c set folded_digest = f.folded_digest
        from unnest($1::uuid[], $2::integer[], $3::uuid[], $4::bytea[]) as f (user_key, offer_id, folded_digest, sealed)
        where c.user_key = f.user_key and c.offer_id = f.offer_id and c.sealed = f.sealed`,
        [
          uuids(rows, (row) => row.user_key),
          integers(rows, (row) => row.offer_id),
          uuids(digests, (digest) => digest),
          byteas(rows, (row) => row.sealed),
        ],
      );
    changed += rows.length;
    if (rows.length < batchRows) break;
  }
  return changed;
}
