import { createHash } from 'node:crypto';
import sharp from 'sharp';
import type { TestBase } from '../../support/test-modules.ts';

/** Draws an image of solid stripes: the left third is red, the middle green, the right third blue. */
export async function drawStripes(width: number, height: number): Promise<Buffer> {
  const stripe = (offset: number, colour: string) => ({
    input: { create: { width: Math.ceil(width / 3), height, channels: 3 as const, background: colour } },
    left: Math.floor(offset),
    top: 0,
  });
  return sharp({ create: { width, height, channels: 3, background: '#00f' } })
    .composite([stripe(0, '#f00'), stripe(width / 3, '#0f0')])
    .png()
    .toBuffer();
}

/**
 * Stores an image as a creative of the first offer.
 * @returns the path of the creative
 */
export async function storeTestImage(
  { pool }: TestBase,
  bytes: Buffer,
  type: string,
  size = { width: 1, height: 1 },
): Promise<string> {
  const { rows } = await pool.query<{ id: number }>(
    `insert into creatives (offer_id, creative_type, type, width, height)
    values ((select min(id) from offers), 'offer_image', $1, $2, $3) returning id`,
    [type, size.width, size.height],
  );
  const id = rows[0]?.id as number;
  await pool.query('insert into creative_images values ($1, $2, $3)', [
    id,
    bytes,
    createHash('sha256').update(bytes).digest(),
  ]);
  return `/images/${id}.${type}`;
}
