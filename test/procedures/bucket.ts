import { AwsClient } from 'aws4fetch';
import { createPublisher } from '../../bench/catalogue.ts';
import { drawStripes } from '../catalog/images/image-fixtures.ts';
import { startChaosPostgres } from '../chaos/postgres.ts';
import { type ServerProcess, startServerProcess } from '../support/server-process.ts';
import { openPool } from './service.ts';
import { type Swift, startSwift } from './swift.ts';

const name = 'images';
const key = 'bucket';

/**
 * Tests images in a bucket of a real object store: storing them, reading them from another process, rejected
 * credentials, and reporting missing images openly.
 */
export async function bucket(): Promise<string> {
  const swift = await startSwift();
  const postgres = await startChaosPostgres();
  const pool = openPool(postgres.url);
  const servers: ServerProcess[] = [];
  const serve = async (secret = swift.secretAccessKey): Promise<string> => {
    servers.push(await startServerProcess({ databaseUrl: postgres.url, env: envOf(swift, secret) }));
    return (servers.at(-1) as ServerProcess).url;
  };
  try {
    await createBucket(swift);
    await createPublisher(pool, { key, campaigns: 1 });
    const { rows } = await pool.query<{ id: number }>('select min(id) as id from offers');
    const offerId = rows[0]?.id as number;
    const image = await drawStripes(80, 60);

    const first = await serve();
    const path = await upload(first, offerId, image);
    const { rows: stored } = await pool.query('select count(*)::int as n from creative_images where bytes is not null');
    expectSame('images in the database', stored[0]?.n, 0);
    const second = await serve(); // knows nothing but the bucket
    for (const url of [first, second]) expectSame('the image', await read(url + path), digestOf(image));
    expectSame('resized image', (await fetch(`${second}${path}?width=20`)).status, 200);

    const wrong = await serve('wrong');
    expectSame('image read with a wrong secret', (await fetch(wrong + path)).status, 503);
    expectSame('upload with a wrong secret', (await send(wrong, offerId, await drawStripes(70, 50))).status, 503);
    await swift.stop();
    const late = await serve();
    expectSame('image read while the store is down', (await fetch(late + path)).status, 503);
    expectSame('upload while the store is down', (await send(late, offerId, await drawStripes(60, 40))).status, 503);
    await swift.start();
    expectSame('image after the store is back', await read(late + path), digestOf(image));
    const { rows: creatives } = await pool.query('select count(*)::int as n from creative_images');
    expectSame('number of stored images', creatives[0]?.n, 1);
    return 'images are stored in the bucket and found by other processes; 503 without the store, none lost';
  } finally {
    await Promise.all(servers.map((server) => server.stop()));
    await pool.end();
    await postgres.close();
    await swift.close();
  }
}

const envOf = ({ endpoint, region, accessKeyId }: Swift, secret: string): Record<string, string> => ({
  IMAGE_STORE: `s3://${name}/of/perkwire?${new URLSearchParams({ endpoint, region })}`,
  S3_ACCESS_KEY_ID: accessKeyId,
  S3_SECRET_ACCESS_KEY: secret,
  LOG_LEVEL: 'fatal',
});

async function createBucket({ endpoint, ...credentials }: Swift): Promise<void> {
  const client = new AwsClient({ ...credentials, service: 's3', retries: 0 });
  const { status } = await client.fetch(`${endpoint}/${name}`, { method: 'PUT' });
  expectSame('the bucket', status, 200);
}

function send(url: string, offerId: number, image: Buffer): Promise<Response> {
  const body = new FormData();
  body.set('offer_id', String(offerId));
  body.set('creative_type', 'hero_image');
  body.set('image', new Blob([new Uint8Array(image)], { type: 'image/png' }), 'image.png');
  return fetch(`${url}/manage/v1/creatives?api_key=${key}`, { method: 'POST', body });
}

/** @returns the path of the image */
async function upload(url: string, offerId: number, image: Buffer): Promise<string> {
  const answer = await send(url, offerId, image);
  const text = await answer.text();
  if (answer.status !== 201) throw new Error(`the upload was answered ${answer.status}: ${text}`);
  return `/images/${(JSON.parse(text) as { data: { id: number } }).data.id}.png`;
}

const digestOf = (bytes: Buffer): string => bytes.toString('base64');

async function read(url: string): Promise<string> {
  const answer = await fetch(url);
  return answer.ok ? digestOf(Buffer.from(await answer.arrayBuffer())) : `answered ${answer.status}`;
}

function expectSame(what: string, actual: unknown, expected: unknown): void {
  if (actual !== expected) throw new Error(`${what}: ${String(actual)} instead of ${String(expected)}`);
}
