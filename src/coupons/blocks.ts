import { LRUCache } from 'lru-cache';
import { bigints, byteas, integers } from '../platform/db/binary-array.ts';
import type { Executor } from '../platform/db/pool.ts';
import type { SecretBox } from '../platform/security/secret-box.ts';
import { blockContext } from './seals.ts';

/**
 * Number of codes that are encrypted together as one block. Decrypting a block of 15 kB takes 10 µs, as long as
 * decrypting two single codes.
 */
export const blockSize = 1000;

/** Decrypted block that contains the codes from position `first` onward. */
type Block = { first: number; codes: readonly string[] };

/** Position of a code within an offer's pool. */
type Place = { offerId: number; position: number };

type BlockRow = { offer_id: number; first_position: string; sealed: Buffer };

/** Block that is not stored yet. `text` contains its codes, one per line. */
export type NewBlock = { first: number; size: number; text: string };

export const openBlock = (box: SecretBox, row: BlockRow): string[] =>
  box.open(row.sealed, blockContext([row.offer_id, row.first_position])).split('\n');

/** Returns the codes at the given positions, in the same order. Positions without a code are null. */
export type BlockReader = (executor: Executor, places: readonly Place[]) => Promise<(string | null)[]>;

/**
 * Creates a reader that looks up codes by position. For each pool, the decrypted block from which codes are currently
 * issued is cached in memory. The cache never becomes stale, because a position is never reassigned to another code.
 */
export function createBlockReader(box: SecretBox): BlockReader {
  const cache = new LRUCache<number, Block>({ max: 200 });
  const find = ({ offerId, position }: Place): string | undefined => {
    const block = cache.get(offerId);
    return block === undefined ? undefined : block.codes[position - block.first];
  };
  return async (executor, places) => {
    const codes = places.map(find);
    const missing = places.filter((_, index) => codes[index] === undefined);
    const blocks = missing.length === 0 ? [] : await readBlocks(executor, box, missing);
    for (const [offerId, block] of blocks) cache.set(offerId, block);
    return places.map(
      ({ offerId, position }, index) =>
        codes[index] ??
        blocks
          .filter(([id]) => id === offerId)
          .map(([, { first, codes }]) => codes[position - first])
          .find((match) => match !== undefined) ??
        null,
    );
  };
}

async function readBlocks(executor: Executor, box: SecretBox, places: readonly Place[]): Promise<[number, Block][]> {
  const { rows } = await executor.query<BlockRow>({
    name: 'read_coupon_blocks',
    text: `select distinct on (b.offer_id, b.first_position) b.offer_id, b.first_position, b.sealed
from unnest($1::integer[], $2::bigint[]) as wanted (offer_id, position)
cross join lateral (
  select offer_id, first_position, sealed from coupon_blocks
  where offer_id = wanted.offer_id and first_position <= wanted.position
  order by first_position desc limit 1
) b
order by b.offer_id, b.first_position`,
    values: [integers(places, ({ offerId }) => offerId), bigints(places, ({ position }) => position)],
  });
  return rows.map((row) => [row.offer_id, { first: Number(row.first_position), codes: openBlock(box, row) }]);
}

/** Inserts encrypted blocks of codes into a pool. */
export async function insertBlocks(
  executor: Executor,
  box: SecretBox,
  offerId: number,
  blocks: readonly NewBlock[],
): Promise<void> {
  await executor.query({
    name: 'insert_coupon_blocks',
    text: `insert into coupon_blocks (offer_id, first_position, size, sealed)
select $1, first_position, size, sealed
from unnest($2::bigint[], $3::integer[], $4::bytea[]) as block (first_position, size, sealed)`,
    values: [
      offerId,
      bigints(blocks, ({ first }) => first),
      integers(blocks, ({ size }) => size),
      byteas(blocks, ({ first, text }) => box.seal(text, blockContext([offerId, first]))),
    ],
  });
}

/** Yields all codes of a pool, block by block, including codes that have already been issued. */
export async function* readAllCodes(executor: Executor, box: SecretBox, offerId: number): AsyncGenerator<string[]> {
  for (let after = '0'; ; ) {
    const { rows } = await executor.query<BlockRow>(
      `select offer_id, first_position, sealed from coupon_blocks
      where offer_id = $1 and first_position > $2 order by first_position limit 100`,
      [offerId, after],
    );
    for (const row of rows) yield openBlock(box, row);
    if (rows.length < 100) return;
    after = rows.at(-1)?.first_position ?? after;
  }
}
