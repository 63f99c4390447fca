import sharp from 'sharp';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { maxUploadBytes } from '../../src/catalog-admin/images.ts';
import { drawStripes } from '../catalog/images/image-fixtures.ts';
import { signInAs, type TestUser } from '../dashboard/support.ts';
import { callsOf, runSchedule } from '../drafts/support.ts';
import { createTestApp, type TestApp } from '../support/test-app.ts';
import { advertisersOf, pathOf, type TestAdvertiser, uploadAs } from './support.ts';

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

const upload = (user: TestUser, path: string, bytes: Buffer, type?: string, fields?: Record<string, string>) =>
  uploadAs(t, user, path, { bytes, ...(type !== undefined && { type }), ...(fields !== undefined && { fields }) });

const propose = (bytes = png, type?: string) =>
  upload(own.user, pathOf(own, `/offers/${own.offer}/pictures`), bytes, type);

const draftOf = async () => (await call('GET', 'drafts')).body.data[0];
const imagesOf = async (offer: number) => (await call('GET', `creatives?offer_id=${offer}`)).body.data as unknown[];
const countKept = async (): Promise<number> => (await t.pool.query('select from draft_pictures')).rowCount ?? 0;

/** Adds 49 copies of the pending draft. */
const manyMore = `with made as (
    insert into drafts (publisher_id, campaign_id, advertiser_id, resource, subject, changes, base, note, state,
      proposer_kind, proposer_id, proposed_by, created_at, updated_at)
    select publisher_id, campaign_id, advertiser_id, resource, subject, changes, base, note, state, proposer_kind,
      proposer_id, proposed_by, created_at, updated_at from drafts, generate_series(2, 50) returning id
  ) insert into draft_pictures (draft_id, bytes) select id, '\\x00' from made`;

describe('an image that an advertiser proposes', () => {
  test('is visible to both sides while it waits, goes live once it is approved, and can be reverted', async () => {
    const before = await imagesOf(own.offer);
    expect((await propose()).headers.location).toMatch(/\/drafts\/\d+$/);
    const draft = await draftOf();
    expect(draft).toMatchObject({
      state: 'waiting',
      resource: 'creatives',
      row_id: null,
      changes: { offer_id: own.offer, creative_type: 'hero_image', type: 'png', width: 60, height: 30 },
    });
    expect(await imagesOf(own.offer)).toEqual(before);
    const theirs = pathOf(own, `/drafts/${draft.id}`);
    const ours = `/dashboard/p/${t.publisher.id}/drafts/${draft.id}`;
    for (const [user, path] of [
      [own.user, theirs],
      [admin, ours],
    ] as const) {
      expect((await user.get(path)).body).toContain(`src="${path}/picture"`);
      const response = await user.get(`${path}/picture`);
      expect([response.statusCode, response.headers['content-type']]).toEqual([200, 'image/png']);
      expect(response.rawPayload.equals(png)).toBe(true);
    }
    const live = (await call('POST', `drafts/${draft.id}/approve`, {})).body.data;
    expect(live.state).toBe('live');
    const served = await t.app.inject({ url: `/images/${live.row_id}.png`, headers: { accept: 'image/png' } });
    expect((await sharp(served.rawPayload).metadata()).width).toBe(60);
    await call('POST', `drafts/${draft.id}/undo`);
    expect(await imagesOf(own.offer)).toEqual(before);
  });

  test('is live immediately for a trusted advertiser', async () => {
    await call('PATCH', `advertisers/${own.id}`, { trusted: true });
    await propose();
    await call('PATCH', `advertisers/${own.id}`, { trusted: false });
    const { state, row_id } = await draftOf();
    expect(state).toBe('live');
    expect((await t.app.inject(`/images/${row_id}.png`)).statusCode).toBe(200);
  });

  test('can be approved after it was refused, and is deleted when it is withdrawn', async () => {
    await propose();
    const { id } = await draftOf();
    await call('POST', `drafts/${id}/refuse`, { reason: 'Too dark.' });
    await call('POST', `drafts/${id}/undo`);
    expect((await call('POST', `drafts/${id}/approve`, {})).body.data.state).toBe('live');
    await propose();
    const next = await draftOf();
    await own.user.post(pathOf(own, `/drafts/${next.id}/withdraw`));
    expect([await countKept(), (await draftOf()).has_picture]).toEqual([1, false]);
  });

  test('is validated like any upload, and is not stored if it is malicious, broken or too large', async () => {
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
      expect([422, 413], type).toContain(statusCode);
    }
    expect([await countKept(), await draftOf()]).toEqual([0, undefined]);
  });

  test('422: keeps the entered values when an external image is rejected', async () => {
    const typed = { url: 'https://pictures.example/a.png', type: 'webp', width: '0', height: '321' };
    const path = pathOf(own, `/offers/${own.offer}/pictures`);
    const { statusCode, body } = await own.user.post(path, { creative_type: 'hero_image', ...typed });
    expect(statusCode).toBe(422);
    expect(body).toContain('value="https://pictures.example/a.png"');
    expect(body).toMatch(/name="height"[^>]*value="321"/);
    expect(body).toMatch(/value="webp" selected/);
    expect(body).toMatch(/name="width"[^>]*aria-invalid/);
  });

  test('404: cannot be proposed for or by another advertiser', async () => {
    expect((await upload(own.user, pathOf(own, `/offers/${other.offer}/pictures`), png)).statusCode).toBe(404);
    expect((await upload(own.user, pathOf(other, `/offers/${other.offer}/pictures`), png)).statusCode).toBe(404);
    await propose();
    const { id } = await draftOf();
    expect((await other.user.get(pathOf(other, `/drafts/${id}/picture`))).statusCode).toBe(404);
    expect((await other.user.get(pathOf(own, `/drafts/${id}/picture`))).statusCode).toBe(404);
    expect((await own.user.get(pathOf(own, `/drafts/${id}/picture`))).statusCode).toBe(200);
  });

  test('counts towards the limit of fifty waiting images', async () => {
    await propose();
    await t.pool.query(manyMore);
    expect(await countKept()).toBe(50);
    await propose();
    expect(await countKept()).toBe(50);
  });
});

test("an image uploaded by a publisher's user also waits if changes need approval", async () => {
  await call('PATCH', `publishers/${t.publisher.id}`, { approval_required: true });
  const manager = await signInAs(t, 'manager');
  const sent = await upload(manager, `/dashboard/p/${t.publisher.id}/offers/${own.offer}/pictures`, png);
  await call('PATCH', `publishers/${t.publisher.id}`, { approval_required: false });
  const { id, state } = await draftOf();
  expect([sent.headers.location, state]).toEqual([`/dashboard/p/${t.publisher.id}/drafts/${id}`, 'waiting']);
  expect((await call('POST', `drafts/${id}/approve`, {})).body.data.state).toBe('live');
});

describe('the first image of a new offer', () => {
  const fields = { title: 'New, with an image', cta_yes: 'Yes', cta_no: 'No', weight: '1' };
  const newOffer = (campaign = own.campaign, bytes = png, type?: string) =>
    upload(own.user, pathOf(own, '/offers'), bytes, type, { ...fields, campaign_id: String(campaign) });
  const countOffers = async () => Number((await t.pool.query('select count(*) from offers')).rows[0].count);
  const idOf = async () => (await draftOf()).id as number;

  const expectBoth = async (offer: number) => {
    expect((await call('GET', `offers/${offer}`)).body.data.title).toBe(fields.title);
    const [image, ...others] = (await call('GET', `creatives?offer_id=${offer}`)).body.data;
    expect([others, image]).toMatchObject([[], { creative_type: 'offer_image', is_primary: true, width: 60 }]);
    const served = await t.app.inject({ url: image.path, headers: { accept: 'image/png' } });
    expect(served.rawPayload.equals(png)).toBe(true);
    expect((await draftOf()).has_picture).toBe(true);
  };

  test("is visible to both sides while the advertiser's offer waits, and goes live with it", async () => {
    const form = await own.user.get(pathOf(own, `/offers/new?campaign_id=${own.campaign}`));
    expect(form.body).toMatch(/<form[^>]*enctype="multipart\/form-data"[\s\S]*type="file"[^>]*name="image"/);
    const before = await countOffers();
    expect((await newOffer()).headers.location).toMatch(/\/drafts\/\d+$/);
    const draft = await draftOf();
    expect(draft).toMatchObject({ state: 'waiting', resource: 'offers', row_id: null, has_picture: true });
    expect(await countOffers()).toBe(before);
    const ours = `/dashboard/p/${t.publisher.id}/drafts/${draft.id}`;
    for (const [user, path] of [
      [own.user, pathOf(own, `/drafts/${draft.id}`)],
      [admin, ours],
    ] as const) {
      expect((await user.get(path)).body).toContain(`src="${path}/picture"`);
      const response = await user.get(`${path}/picture`);
      expect([response.headers['content-type'], response.rawPayload.equals(png)]).toEqual(['image/png', true]);
    }
    const live = (await call('POST', `drafts/${draft.id}/approve`, {})).body.data;
    expect(live).toMatchObject({ state: 'live', has_picture: true });
    await expectBoth(live.row_id);
    expect((await call('POST', `drafts/${draft.id}/undo`)).body.data.state).toBe('undone');
    expect((await call('GET', `offers/${live.row_id}`)).status).toBe(404);
    expect(await imagesOf(live.row_id)).toEqual([]);
  });

  test("is kept if a manager's changes need approval, and goes live at the scheduled time", async () => {
    await call('PATCH', `publishers/${t.publisher.id}`, { approval_required: true });
    const manager = await signInAs(t, 'manager');
    const formFields = { ...fields, campaign_id: String(own.campaign) };
    const sent = await upload(manager, `/dashboard/p/${t.publisher.id}/offers`, png, 'image/png', formFields);
    await call('PATCH', `publishers/${t.publisher.id}`, { approval_required: false });
    const id = await idOf();
    expect(sent.headers.location).toBe(`/dashboard/p/${t.publisher.id}/drafts/${id}`);
    const live_at = new Date(t.deps.now() + 3_600_000).toISOString();
    expect((await call('POST', `drafts/${id}/approve`, { live_at })).body.data).toMatchObject({
      state: 'scheduled',
      has_picture: true,
    });
    await t.pool.query("update drafts set live_at = now() - interval '1 second' where id = $1", [id]);
    await runSchedule(t);
    await expectBoth((await draftOf()).row_id);
  });

  test('is live immediately with the offer of a trusted advertiser', async () => {
    await call('PATCH', `advertisers/${own.id}`, { trusted: true });
    await newOffer();
    await call('PATCH', `advertisers/${own.id}`, { trusted: false });
    await expectBoth((await draftOf()).row_id);
  });

  test('is deleted when the draft is withdrawn, and counts towards the limit of fifty waiting images', async () => {
    await newOffer();
    await own.user.post(pathOf(own, `/drafts/${await idOf()}/withdraw`));
    expect([await countKept(), (await draftOf()).has_picture]).toEqual([0, false]);
    await t.pool.query('delete from drafts');
    await newOffer();
    await t.pool.query(manyMore);
    const refused = await newOffer();
    expect([refused.statusCode, await countKept()]).toEqual([422, 50]);
    expect(refused.body).toContain('50 images are already waiting');
  });

  test('prevents the offer from going live if the previous release deleted it', async () => {
    await newOffer();
    const id = await idOf();
    await t.pool.query("update draft_pictures set bytes = ''");
    expect((await draftOf()).has_picture).toBe(false);
    expect(await call('POST', `drafts/${id}/approve`, {})).toMatchObject({ status: 409 });
    expect((await admin.get(`/dashboard/p/${t.publisher.id}/drafts/${id}/picture`)).statusCode).toBe(404);
  });

  test("422, 404: rejects malicious bytes, an existing offer and another advertiser's campaign", async () => {
    const before = await countOffers();
    const hostile = await newOffer(own.campaign, Buffer.from('<script>alert(1)</script>'));
    expect([hostile.statusCode, hostile.body.includes(fields.title)]).toEqual([422, true]);
    expect((await newOffer(own.campaign, png, 'image/jpeg')).statusCode).toBe(422);
    const sent = await upload(own.user, pathOf(own, `/offers/${own.offer}`), png, 'image/png', fields);
    expect(sent.statusCode).toBe(422);
    expect((await newOffer(other.campaign)).statusCode).toBe(404);
    expect([await countKept(), await draftOf(), await countOffers()]).toEqual([0, undefined, before]);
  });
});

test('an image that the previous release stored without its type is shown and goes live', async () => {
  await propose();
  await t.pool.query('update draft_pictures set type = null, width = null, height = null');
  const { id } = await draftOf();
  const response = await own.user.get(pathOf(own, `/drafts/${id}/picture`));
  expect(response.headers['content-type']).toBe('image/png');
  expect((await call('POST', `drafts/${id}/approve`, {})).body.data.state).toBe('live');
});

test('an image draft without a URL or a file is rejected', async () => {
  const changes = { offer_id: own.offer, creative_type: 'hero_image', type: 'png', width: 1, height: 1, url: null };
  const { status, details } = await call('POST', 'drafts', { resource: 'creatives', changes });
  expect([status, details]).toMatchObject([400, [{ path: '/url' }]]);
});

describe('the dates of a campaign', () => {
  test("are entered in the publisher's time zone, which is shown", async () => {
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

  test('stay unchanged if they are not edited, whatever their stored format', async () => {
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
