import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { maxUploadBytes } from '../../src/catalog-admin/images.ts';
import { drawStripes } from '../catalog/images/image-fixtures.ts';
import { runCommand } from '../command-line/support.ts';
import { addTenant } from '../isolation/tenant.ts';
import { createTestApp, type TestApp } from '../support/test-app.ts';
import { callsOf, keyWith } from './support.ts';

let t: TestApp;
let admin: ReturnType<typeof callsOf>;
let managerKey: string;
let offer: number;
let campaign_id: number;
let png: Buffer;
beforeAll(async () => {
  t = await createTestApp();
  await t.deps.catalog.refresh();
  admin = callsOf(t);
  managerKey = await keyWith(t, ['offers/management']);
  const [first] = (await admin('GET', 'offers?limit=1')).body.data;
  [offer, campaign_id] = [first.id, first.campaign_id];
  png = await drawStripes(60, 30);
});
afterAll(() => t.close());
beforeEach(async () => {
  await t.pool.query('delete from drafts');
});

type UploadOptions = { key?: string; bytes?: Buffer; type?: string; headers?: Record<string, string> };

/** Proposes a change with an image, like `curl -F`. */
async function hand(fields: Readonly<Record<string, unknown>>, options: UploadOptions = {}) {
  const { key = managerKey, bytes = png, type = 'image/png', headers = {} } = options;
  const form = new FormData();
  for (const [name, value] of Object.entries(fields))
    form.set(name, typeof value === 'string' ? value : JSON.stringify(value));
  form.set('image', new Blob([new Uint8Array(bytes)], { type }), 'a.bin');
  const sent = new Response(form);
  const answer = await t.app.inject({
    method: 'POST',
    url: '/manage/v1/drafts',
    payload: Buffer.from(await sent.arrayBuffer()),
    headers: { authorization: `Bearer ${key}`, 'content-type': String(sent.headers.get('content-type')), ...headers },
  });
  const body = answer.json();
  return { status: answer.statusCode, body, details: body.error?.details ?? [] };
}

const newOffer = (changes: object = {}) => ({ resource: 'offers', changes: { campaign_id, title: 'New', ...changes } });
const newCreative = (changes: object = {}) => ({ resource: 'creatives', changes: { offer_id: offer, ...changes } });
const fileOf = (id: number, key = managerKey, query = '') =>
  t.app.inject({ url: `/manage/v1/drafts/${id}/picture${query}`, headers: { authorization: `Bearer ${key}` } });
const countLeft = async (): Promise<number> =>
  (await t.pool.query('select from drafts union all select from draft_pictures')).rowCount ?? 0;

describe('POST /manage/v1/drafts with an image', () => {
  test.each([
    ['a new creative', newCreative, { type: 'png', width: 60, height: 30, creative_type: 'offer_image' }],
    ['a new offer', newOffer, { title: 'New' }],
  ])('201: accepts %s, whose file can be fetched before and after it is live', async (_name, proposal, changes) => {
    const { status, body } = await hand({ ...proposal(), note: 'For spring' });
    expect([status, body.data]).toMatchObject([201, { has_picture: true, note: 'For spring', changes }]);
    const { id } = body.data;
    const file = await fileOf(id);
    expect([file.statusCode, file.headers['content-type']]).toEqual([200, 'image/png']);
    expect(file.rawPayload.equals(png)).toBe(true);
    const live = (await admin('POST', `drafts/${id}/approve`, {})).body.data;
    const of = proposal === newOffer ? live.row_id : offer;
    const creatives: { width: number }[] = (await admin('GET', `creatives?offer_id=${of}&limit=100`)).body.data;
    expect(creatives.filter(({ width }) => width === 60)).toHaveLength(1);
    expect((await fileOf(id)).rawPayload.equals(png)).toBe(true);
    expect((await admin('POST', `drafts/${id}/undo`)).status).toBe(200);
  });

  test('is processed once per Idempotency-Key, and rejects another image with the same key', async () => {
    const headers = { 'idempotency-key': 'image-1' };
    const first = await hand(newOffer(), { headers });
    expect((await hand(newOffer(), { headers })).body.data.id).toBe(first.body.data.id);
    expect((await hand(newOffer(), { headers, bytes: await drawStripes(30, 30) })).status).toBe(422);
    expect(await countLeft()).toBe(2);
  });

  test.each([
    [
      'an image for an existing offer',
      () => ({ resource: 'offers', row_id: offer, changes: { title: 'X' } }),
      '/image',
    ],
    ['an image for a campaign', () => ({ resource: 'campaigns', row_id: campaign_id, changes: {} }), '/image'],
    ['a size, which is read from the image', () => newCreative({ width: 9 }), '/changes/width'],
    ['a URL in addition to the image', () => newCreative({ url: 'https://x.example/a.png' }), '/changes/url'],
    ['changes that are not JSON', () => ({ resource: 'offers', changes: '{"title"' }), '/changes'],
    ['unknown fields', () => ({ ...newOffer(), colour: 'red' }), '/colour'],
    ['an invalid row id', () => ({ ...newOffer(), row_id: 'x' }), '/row_id'],
    ['an invalid offer', () => newOffer({ title: 'x'.repeat(91) }), '/title'],
  ])('400: rejects %s', async (_name, fields, path) => {
    const { status, details } = await hand(fields());
    expect([status, details[0]]).toMatchObject([400, { path }]);
    expect(await countLeft()).toBe(0);
  });

  test('400 and 413: stores nothing of malicious, mislabelled, broken, missing or large files', async () => {
    const script = Buffer.from('<script>alert(1)</script>');
    expect((await hand(newOffer(), { bytes: script })).details).toMatchObject([{ path: '/image' }]);
    expect((await hand(newOffer(), { type: 'image/jpeg' })).status).toBe(400);
    expect((await hand(newCreative(), { bytes: png.subarray(0, png.length >> 1) })).status).toBe(400);
    const large = Buffer.concat([png, Buffer.alloc(maxUploadBytes + 1 - png.length)]);
    expect((await hand(newOffer(), { bytes: large })).status).toBe(413);
    expect((await hand({ ...newOffer(), note: 'x'.repeat(300_000) })).status).toBe(413);
    expect(await countLeft()).toBe(0);
  });

  test('404: serves no file for a draft without one, or to another publisher', async () => {
    const plain = (await admin('POST', 'drafts', newOffer())).body.data;
    expect(plain.has_picture).toBe(false);
    expect((await fileOf(plain.id)).statusCode).toBe(404);
    const { id } = (await hand(newOffer())).body.data;
    const other = await addTenant(t, 'Annabel');
    expect((await fileOf(id, other.key)).statusCode).toBe(404);
    expect((await fileOf(id, managerKey, `?publisher_id=${other.publisherId}`)).statusCode).toBe(404);
    expect((await hand(newOffer(), { key: other.key })).status).not.toBe(201);
  });
});

test('perkwire drafts propose uploads the file in --image', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'drafts-'));
  const [changes, image] = [join(folder, 'new.json'), join(folder, 'box.png')];
  await writeFile(changes, JSON.stringify(newOffer().changes));
  await writeFile(image, png);
  const env = { PERKWIRE_URL: await t.app.listen({ port: 0, host: '127.0.0.1' }), PERKWIRE_KEY: managerKey };
  const { code, err } = await runCommand(['drafts', 'propose', 'offers', changes, '--image', image], env);
  expect([code, err]).toEqual([0, '']);
  const [draft] = (await admin('GET', 'drafts')).body.data;
  expect(draft).toMatchObject({ resource: 'offers', has_picture: true });
  expect((await fileOf(draft.id)).rawPayload.equals(png)).toBe(true);
  const refused = await runCommand(['drafts', 'propose', 'offers', String(offer), changes, '--image', image], env);
  expect([refused.code === 0, refused.err]).toEqual([
    false,
    expect.stringContaining('/image: You can submit an image'),
  ]);
  await rm(folder, { recursive: true });
});
