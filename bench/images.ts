import type pg from 'pg';
import sharp from 'sharp';
import { saveOriginal } from '../src/catalog-admin/images.ts';
import { getRequest, type LoadOptions, type LoadResult } from './load.ts';
import type { ReportRow } from './report.ts';

type Measure = (what: string, connections: number, port: number, next: LoadOptions['next']) => Promise<LoadResult>;

/** Size of a generated photograph with noise, which is harder to compress than most photographs. */
const original = { width: 1600, height: 900 };

/** Benchmarks cached images and images that have to be rendered, each at a new size. */
export async function benchImages(pool: pg.Pool, measure: Measure, port: number): Promise<ReportRow[]> {
  const path = await storePhotograph(pool);
  const hit = getRequest(`${path}?width=640`, 'accept: image/webp\r\n');
  let size = 0;
  const miss = (): string => {
    size += 1;
    return getRequest(
      `${path}?width=${400 + (size % 200)}&height=${200 + Math.floor(size / 200)}`,
      'accept: image/webp\r\n',
    );
  };
  return [
    {
      what: 'image, 640 px WebP from the cache, 16 connections',
      measured: await measure('image, cache hit', 16, port, () => hit),
      bare: null,
      note: '',
    },
    {
      what: 'image, about 500 px WebP, newly rendered, 2 connections',
      measured: await measure('image, cache miss', 2, port, miss),
      bare: null,
      note: `${size} sizes`,
    },
  ];
}

async function storePhotograph(pool: pg.Pool): Promise<string> {
  const bytes = await sharp({
    create: { ...original, channels: 3, background: '#88a', noise: { type: 'gaussian', mean: 128, sigma: 12 } },
  })
    .jpeg()
    .toBuffer();
  const { rows } = await pool.query<{ id: number }>(
    `insert into creatives (offer_id, creative_type, type, width, height)
    values ((select min(id) from offers), 'hero_image', 'jpg', $1, $2) returning id`,
    [original.width, original.height],
  );
  const id = rows[0]?.id as number;
  await saveOriginal(pool, null, id, bytes);
  return `/images/${id}.jpg`;
}
