import type { LightMyRequestResponse as Response } from 'fastify';
import sharp from 'sharp';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { csrfTokenOf } from '../../src/accounts/access.ts';
import { maxUploadBytes } from '../../src/catalog/image-upload.ts';
import { drawStripes } from '../catalog/images/pictures.ts';
import { origin, signInAs, type TestUser } from '../dashboard/support.ts';
import { callsOf } from '../drafts/support.ts';
import { createTestApp, type TestApp } from '../support/test-app.ts';
import { advertisersOf, pathOf, type TestAdvertiser } from './support.ts';

let t: TestApp;
let own: TestAdvertiser;
let other: TestAdvertiser;
let admin: TestUser;
let call: ReturnType<typeof callsOf>;
let png: Buffer;
beforeAll(async () => {
  t = await createTestApp();
  [own, other] = (await advertisersOf(t, 2)) as [TestAdvertiser, TestAdvertiser];
  admin = await signInAs(t, 'admin');
  call = callsOf(t);
  png = await drawStripes(60, 30);
});
afterAll(() => t?.close());
beforeEach(async () => {
  await t.pool.query('delete from drafts');
});

const boundary = 'the-boundary';

/** Hands in a picture as a browser's form does. */
function upload(
  { cookie }: Pick<TestUser, 'cookie'>,
  path: string,
  bytes: Buffer,
  type = 'image/png',
): Promise<Response> {
  const fields = { _csrf: csrfTokenOf(cookie.split('=')[1] ?? ''), creative_type: 'hero_image' };
  const parts = Object.entries(fields).map(
    ([name, value]) => `--${boundary}\r\ncontent-disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`,
  );
  const file = 'content-disposition: form-data; name="image"; filename="a.bin"';
  const head = `${parts.join('')}--${boundary}\r\n${file}\r\ncontent-type: ${type}\r\n\r\n`;
  const payload = Buffer.concat([Buffer.from(head), bytes, Buffer.from(`\r\n--${boundary}--\r\n`)]);
  const headers = { origin, cookie, 'content-type': `multipart/form-data; boundary=${boundary}` };
  return t.app.inject({ method: 'POST', url: path, headers, payload });
}

const propose = (bytes = png, type?: string) =>
  upload(own.user, pathOf(own, `/offers/${own.offer}/pictures`), bytes, type);

const draftOf = async () => (await call('GET', 'drafts')).body.data[0];
const picturesOf = async (offer: number) => (await call('GET', `creatives?offer_id=${offer}`)).body.data as unknown[];
const countKept = async (): Promise<number> => (await t.pool.query('select from draft_pictures')).rowCount ?? 0;

describe('a picture that an advertiser hands in', () => {
  test('waits, is shown to both sides, is live once it is approved, and is taken back', async () => {
    const before = await picturesOf(own.offer);
    expect((await propose()).headers.location).toMatch(/\/drafts\/\d+$/);
    const draft = await draftOf();
    expect(draft).toMatchObject({
      ...{ state: 'waiting', resource: 'creatives', row_id: null },
      changes: { offer_id: own.offer, creative_type: 'hero_image', type: 'png', width: 60, height: 30 },
    });
    expect(await picturesOf(own.offer)).toEqual(before);
    const theirs = pathOf(own, `/drafts/${draft.id}`);
    const ours = `/dashboard/p/${t.publisher.id}/drafts/${draft.id}`;
    for (const [user, path] of [
      [own.user, theirs],
      [admin, ours],
    ] as const) {
      expect((await user.get(path)).body).toContain(`src="${path}/picture"`);
      const shown = await user.get(`${path}/picture`);
      expect([shown.statusCode, shown.headers['content-type']]).toEqual([200, 'image/png']);
      expect(shown.rawPayload.equals(png)).toBe(true);
    }
    const live = (await call('POST', `drafts/${draft.id}/approve`, {})).body.data;
    expect(live.state).toBe('live');
    const served = await t.app.inject({ url: `/images/${live.row_id}.png`, headers: { accept: 'image/png' } });
    expect((await sharp(served.rawPayload).metadata()).width).toBe(60);
    expect(await countKept()).toBe(0);
    expect((await admin.get(`${ours}/picture`)).statusCode).toBe(404);
    expect((await admin.get(ours)).body).toContain(`/images/${live.row_id}.png`);
    await call('POST', `drafts/${draft.id}/undo`);
    expect(await picturesOf(own.offer)).toEqual(before);
  });

  test('is live at once for a trusted advertiser', async () => {
    await call('PATCH', `advertisers/${own.id}`, { trusted: true });
    await propose();
    await call('PATCH', `advertisers/${own.id}`, { trusted: false });
    const { state, row_id } = await draftOf();
    expect(state).toBe('live');
    expect((await t.app.inject(`/images/${row_id}.png`)).statusCode).toBe(200);
  });

  test('can be approved after it was refused; withdrawn, nothing of it is left', async () => {
    await propose();
    const { id } = await draftOf();
    await call('POST', `drafts/${id}/refuse`, { reason: 'Too dark.' });
    await call('POST', `drafts/${id}/undo`);
    expect((await call('POST', `drafts/${id}/approve`, {})).body.data.state).toBe('live');
    await propose();
    const next = await draftOf();
    await own.user.post(pathOf(own, `/drafts/${next.id}/withdraw`));
    expect(await countKept()).toBe(0);
  });

  test('is checked as every upload is: what is hostile, broken or too large leaves nothing', async () => {
    const huge = await sharp({ create: { width: 20_001, height: 1, channels: 3, background: 'red' } })
      .png()
      .toBuffer();
    const entities = '<!DOCTYPE svg [<!ENTITY a "b">]><svg xmlns="http://www.w3.org/2000/svg">&a;</svg>';
    const hostile: [Buffer, string][] = [
      [Buffer.from('<script>alert(1)</script>'), 'image/png'],
      [Buffer.from('<html><svg></svg></html>'), 'text/html'],
      [Buffer.from(entities), 'image/svg+xml'],
      [png.subarray(0, png.length >> 1), 'image/png'],
      [png, 'image/jpeg'],
      [huge, 'image/png'],
      [Buffer.concat([png, Buffer.alloc(maxUploadBytes)]), 'image/png'],
    ];
    for (const [bytes, type] of hostile) {
      const { statusCode } = await propose(bytes, type);
      expect([303, 413], type).toContain(statusCode);
    }
    expect([await countKept(), await draftOf()]).toEqual([0, undefined]);
  });

  test('404: for an offer of another, and by another', async () => {
    expect((await upload(own.user, pathOf(own, `/offers/${other.offer}/pictures`), png)).statusCode).toBe(404);
    expect((await upload(own.user, pathOf(other, `/offers/${other.offer}/pictures`), png)).statusCode).toBe(404);
    await propose();
    const { id } = await draftOf();
    expect((await other.user.get(pathOf(other, `/drafts/${id}/picture`))).statusCode).toBe(404);
    expect((await other.user.get(pathOf(own, `/drafts/${id}/picture`))).statusCode).toBe(404);
    expect((await own.user.get(pathOf(own, `/drafts/${id}/picture`))).statusCode).toBe(200);
  });

  test('is one of fifty that may wait', async () => {
    await propose();
    await t.pool.query(
      `with made as (
        insert into drafts (publisher_id, campaign_id, advertiser_id, resource, subject, changes, base, note, state,
          proposer_kind, proposer_id, proposed_by, created_at, updated_at)
        select publisher_id, campaign_id, advertiser_id, resource, subject, changes, base, note, state, proposer_kind,
          proposer_id, proposed_by, created_at, updated_at from drafts, generate_series(2, 50) returning id
      ) insert into draft_pictures (draft_id, bytes) select id, '\\x00' from made`,
    );
    expect(await countKept()).toBe(50);
    await propose();
    expect(await countKept()).toBe(50);
  });
});

test('a picture that somebody of a publisher uploads waits, too, where changes need approval', async () => {
  await call('PATCH', `publishers/${t.publisher.id}`, { approval_required: true });
  const manager = await signInAs(t, 'manager');
  const sent = await upload(manager, `/dashboard/p/${t.publisher.id}/offers/${own.offer}/pictures`, png);
  await call('PATCH', `publishers/${t.publisher.id}`, { approval_required: false });
  const { id, state } = await draftOf();
  expect([sent.headers.location, state]).toEqual([`/dashboard/p/${t.publisher.id}/drafts/${id}`, 'waiting']);
  expect((await call('POST', `drafts/${id}/approve`, {})).body.data.state).toBe('live');
});

test('a draft of a picture without a URL or a file is refused', async () => {
  const changes = { offer_id: own.offer, creative_type: 'hero_image', type: 'png', width: 1, height: 1, url: null };
  const { status, details } = await call('POST', 'drafts', { resource: 'creatives', changes });
  expect([status, details]).toMatchObject([400, [{ path: '/url' }]]);
});

describe('the dates of a campaign', () => {
  test('are typed in the time zone of the publisher, which is named', async () => {
    await call('PATCH', `publishers/${t.publisher.id}`, { time_zone: 'Europe/Berlin' });
    const { landing_url, offer_description } = (await call('GET', `campaigns/${own.campaign}`)).body.data;
    const path = pathOf(own, `/campaigns/${own.campaign}`);
    const fields = { landing_url, offer_description, note: '', start_at: '', end_at: '2031-07-01T12:30' };
    await own.user.post(path, fields);
    const draft = await draftOf();
    expect(draft.changes.schedule.end_at).toBe('2031-07-01T12:30:00+02:00');
    await call('POST', `drafts/${draft.id}/approve`, {});
    const { body } = await own.user.get(path);
    expect(body).toMatch(/type="datetime-local"[^>]*name="end_at"|name="end_at"[^>]*type="datetime-local"/);
    expect(body).toContain('value="2031-07-01T12:30"');
    expect(body).toContain('Europe/Berlin time');
  });

  test('that are not touched change nothing, however they are stored', async () => {
    const { rules, landing_url, offer_description } = (await call('GET', `campaigns/${own.campaign}`)).body.data;
    const schedule = { start_at: '2026-01-01T00:00:30Z', end_at: '2031-01-01T00:00:00-08:00' };
    await call('PATCH', `campaigns/${own.campaign}`, { rules: { ...rules, schedule } });
    const path = pathOf(own, `/campaigns/${own.campaign}`);
    const { body } = await own.user.get(path);
    const [, start_at = '', end_at = ''] =
      /name="start_at"[\s\S]*?value="([^"]*)"[\s\S]*?name="end_at"[\s\S]*?value="([^"]*)"/.exec(body) ?? [];
    expect(start_at).toMatch(/^2026-01-01T/);
    await own.user.post(path, { landing_url, offer_description: `${offer_description}!`, note: '', start_at, end_at });
    expect((await draftOf()).changes).toEqual({ offer_description: `${offer_description}!` });
  });
});
