import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { deleteOldDrafts } from '../../src/drafts/draft.ts';
import { dayMs } from '../../src/platform/lib/time.ts';
import { drawStripes } from '../catalog/images/image-fixtures.ts';
import { signInAs, type TestUser } from '../dashboard/support.ts';
import { callsOf } from '../drafts/support.ts';
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

const texts = { title: 'Two months free', cta_yes: 'Yes', cta_no: 'No' };
const idIn = (location: unknown): number => Number(/\/drafts\/(\d+)$/.exec(String(location))?.[1]);
const draftOf = async (id: number) => (await call('GET', `drafts/${id}`)).body.data;
const countDrafts = async () => (await t.pool.query('select from drafts')).rowCount;

/** Proposes a new offer with an image, as the advertiser. */
async function proposeOffer(fields: Record<string, string> = {}): Promise<number> {
  const answer = await uploadAs(t, own.user, pathOf(own, '/offers'), {
    bytes: png,
    fields: { ...texts, campaign_id: String(own.campaign), ...fields },
  });
  expect(answer.statusCode, answer.body).toBe(303);
  return idIn(answer.headers.location);
}

async function proposeRefused(): Promise<number> {
  const id = await proposeOffer();
  await call('POST', `drafts/${id}/refuse`, { reason: 'One month, please.' });
  return id;
}

/** Proposes a draft again without selecting another image. */
const proposeAgain = (id: number, { user }: TestAdvertiser = own, of = own) =>
  user.post(pathOf(of, '/offers'), {
    ...texts,
    title: 'One month free',
    campaign_id: String(of.campaign),
    revises: String(id),
  });

describe('a refused draft', () => {
  test('can be edited and proposed again with its image, which is then served', async () => {
    const id = await proposeRefused();
    const path = pathOf(own, `/drafts/${id}`);
    const refusedPage = await own.user.get(path);
    expect(refusedPage.body).toContain('One month, please.');
    expect(refusedPage.body).toContain(`${path}/edit`);
    const form = (await own.user.get(`${path}/edit`)).body;
    expect(form).toContain('value="Two months free"');
    expect(form).toContain(`src="${path}/picture"`);
    expect(form).toContain('One month, please.');

    const next = await draftOf(idIn((await proposeAgain(id)).headers.location));
    expect(next).toMatchObject({ state: 'waiting', revises: id, has_picture: true });
    expect((await draftOf(id)).state).toBe('refused');
    const image = await admin.get(`/dashboard/p/${t.publisher.id}/drafts/${next.id}/picture`);
    expect(image.rawPayload.equals(png)).toBe(true);
    const { row_id } = (await call('POST', `drafts/${next.id}/approve`, {})).body.data;
    const [creative] = (await call('GET', `creatives?offer_id=${row_id}`)).body.data;
    const served = await t.app.inject({ url: creative.path, headers: { accept: 'image/png' } });
    expect(served.rawPayload.equals(png)).toBe(true);
  });

  test('shows the approver why it was refused, and what has changed since', async () => {
    const id = await proposeRefused();
    const nextId = idIn((await proposeAgain(id)).headers.location);
    const { body } = await admin.get(`/dashboard/p/${t.publisher.id}/drafts/${nextId}`);
    expect(body).toContain(`Replaces draft #${id}, which was rejected`);
    expect(body).toContain('One month, please.');
    expect(body).toMatch(/Headline <span class="badge info">Changed since/);
    expect(body).not.toMatch(/“Yes” button <span class="badge/);
    const before = (await admin.get(`/dashboard/p/${t.publisher.id}/drafts/${id}`)).body;
    expect(before).toContain(`Proposed again as draft #${nextId}`);
  });

  test('409: is proposed again only once, and its refusal cannot be undone after that', async () => {
    const id = await proposeRefused();
    const answers = await Promise.all([proposeAgain(id), proposeAgain(id)]);
    expect(answers.map(({ statusCode }) => statusCode).sort()).toEqual([303, 422]);
    expect((await proposeAgain(id)).body).toContain('already been replaced by draft');
    expect(await countDrafts()).toBe(2);
    expect((await call('POST', `drafts/${id}/undo`)).status).toBe(409);
    const edit = await own.user.get(pathOf(own, `/drafts/${id}/edit`));
    expect(edit.headers.location).toBe(pathOf(own, `/drafts/${id}`));
  });

  test('404: cannot be read, edited or proposed again by another advertiser', async () => {
    const id = await proposeRefused();
    for (const path of [`/drafts/${id}`, `/drafts/${id}/edit`, `/drafts/${id}/picture`])
      expect((await other.user.get(pathOf(other, path))).statusCode, path).toBe(404);
    expect((await proposeAgain(id, other, other)).statusCode).toBe(404);
    expect((await proposeAgain(id, other)).statusCode).toBe(404);
    const changes = { ...texts, campaign_id: own.campaign };
    expect((await call('POST', 'drafts', { resource: 'offers', changes, revises: id })).status).toBe(404);
    expect(await countDrafts()).toBe(1);
  });

  test('404: cannot be proposed again for a campaign that was removed, nor approved', async () => {
    const [refused, waiting] = [await proposeRefused(), await proposeOffer()];
    await t.pool.query('update campaigns set deleted_at = now() where id = $1', [own.campaign]);
    expect((await own.user.get(pathOf(own, `/drafts/${refused}/edit`))).statusCode).toBe(404);
    expect((await proposeAgain(refused)).statusCode).toBe(404);
    expect((await call('POST', `drafts/${waiting}/approve`, {})).status).toBeGreaterThanOrEqual(400);
    await t.pool.query('update campaigns set deleted_at = null where id = $1', [own.campaign]);
    expect((await draftOf(waiting)).state).toBe('waiting');
  });

  test('409: does not tell the advertiser which user approved a draft in the meantime', async () => {
    const id = await proposeOffer();
    await admin.post(`/dashboard/p/${t.publisher.id}/drafts/${id}/approve`, {});
    const answer = await proposeAgain(id);
    expect(answer.body).toContain('The draft is already live.');
    expect(answer.body).not.toContain(admin.email);
  });

  test('alerts the publisher only about the first revision, however often it is withdrawn and repeated', async () => {
    await t.pool.query("delete from operational_events where event = 'draft.waiting'");
    const id = await proposeRefused();
    for (let round = 0; round < 3; round += 1) {
      const nextId = idIn((await proposeAgain(id)).headers.location);
      await own.user.post(pathOf(own, `/drafts/${nextId}/withdraw`), {});
    }
    const { rows } = await t.pool.query(
      "select subject from operational_events where event = 'draft.waiting' and subject like '% draft %'",
    );
    expect(rows).toHaveLength(1);
  });

  test('422: keeps the copy and the image if the new image is malicious', async () => {
    const id = await proposeRefused();
    const answer = await uploadAs(t, own.user, pathOf(own, '/offers'), {
      bytes: Buffer.from('<script>alert(1)</script>'),
      fields: { ...texts, title: 'One month free', campaign_id: String(own.campaign), revises: String(id) },
    });
    expect(answer.statusCode).toBe(422);
    expect(answer.body).toContain('value="One month free"');
    expect(answer.body).toContain(`src="${pathOf(own, `/drafts/${id}/picture`)}"`);
    expect(await countDrafts()).toBe(1);
  });

  test('takes a new image instead of the earlier one', async () => {
    const id = await proposeRefused();
    const bytes = await drawStripes(80, 40);
    const fields = { ...texts, campaign_id: String(own.campaign), revises: String(id) };
    const answer = await uploadAs(t, own.user, pathOf(own, '/offers'), { bytes, fields });
    const image = await own.user.get(pathOf(own, `/drafts/${idIn(answer.headers.location)}/picture`));
    expect(image.rawPayload.equals(bytes)).toBe(true);
  });

  test('is proposed again in the form for its image or campaign', async () => {
    const answer = await uploadAs(t, own.user, pathOf(own, `/offers/${own.offer}/pictures`), { bytes: png });
    const image = idIn(answer.headers.location);
    await call('POST', `drafts/${image}/refuse`, { reason: 'Too dark.' });
    const form = (await own.user.get(pathOf(own, `/drafts/${image}/edit`))).body;
    expect(form).toMatch(/value="hero_image" selected/);
    const fields = { creative_type: 'icon_image', revises: String(image) };
    const again = await own.user.post(pathOf(own, `/offers/${own.offer}/pictures`), fields);
    expect(await draftOf(idIn(again.headers.location))).toMatchObject({
      changes: { creative_type: 'icon_image', width: 60, height: 30 },
      has_picture: true,
      revises: image,
    });

    const path = pathOf(own, `/campaigns/${own.campaign}`);
    const proposal = {
      landing_url: 'https://new.example/',
      offer_description: 'New',
      note: '',
      start_at: '',
      end_at: '',
    };
    const campaign = idIn((await own.user.post(path, proposal)).headers.location);
    await call('POST', `drafts/${campaign}/refuse`, { reason: 'Which page?' });
    const campaignForm = (await own.user.get(pathOf(own, `/drafts/${campaign}/edit`))).body;
    expect(campaignForm).toContain('value="https://new.example/"');
    const next = await own.user.post(path, { ...proposal, offer_description: 'Newer', revises: String(campaign) });
    expect(await draftOf(idIn(next.headers.location))).toMatchObject({ revises: campaign, state: 'waiting' });
  });
});

test('a waiting draft can be edited: the new one takes its image, and the old one is withdrawn', async () => {
  const id = await proposeOffer();
  const next = await draftOf(idIn((await proposeAgain(id)).headers.location));
  expect(next).toMatchObject({ state: 'waiting', has_picture: true, changes: { title: 'One month free' } });
  expect(await draftOf(id)).toMatchObject({ state: 'withdrawn', has_picture: false });
});

test.each([
  ['en', 'Edit proposal', 'Drafts', 'Cancel'],
  ['de', 'Vorschlag bearbeiten', 'Entwürfe', 'Abbrechen'],
])('the page that edits a draft says so, and links to the draft (%s)', async (language, title, drafts, cancel) => {
  const id = await proposeOffer();
  const path = pathOf(own, `/drafts/${id}`);
  const { body } = await own.user.get(`${path}/edit`, { 'accept-language': language });
  expect(/<h1[^>]*>([^<]*)/.exec(body)?.[1]).toBe(title);
  const trail = /<nav class="trail".*?<\/nav>/s.exec(body)?.[0];
  expect(trail).toMatch(new RegExp(`href="${pathOf(own, '/drafts')}"[^>]*>${drafts}<`));
  expect(trail).toContain(`href="${path}"`);
  expect(body).toMatch(new RegExp(`href="${path}">${cancel}<`));
  const values = { creative_type: 'offer_image' };
  const upload = { bytes: png, fields: values };
  const image = idIn(
    (await uploadAs(t, own.user, pathOf(own, `/offers/${own.offer}/pictures`), upload)).headers.location,
  );
  expect((await own.user.get(pathOf(own, `/drafts/${image}/edit`), { 'accept-language': language })).body).toContain(
    title,
  );
  expect((await own.user.get(pathOf(own, `/offers/new?campaign_id=${own.campaign}`))).body).toContain('Propose offer');
});

test('400, 409: a draft that is live, or that is for another row, cannot be replaced', async () => {
  const id = await proposeRefused();
  const answer = await own.user.post(pathOf(own, `/offers/${own.offer}`), { ...texts, revises: String(id) });
  expect([answer.statusCode, answer.body.includes('for a different row')]).toEqual([422, true]);
  const live = await proposeOffer();
  await call('POST', `drafts/${live}/approve`, {});
  expect((await proposeAgain(live)).statusCode).toBe(422);
});

test.each(['approve', 'refuse', 'undo'] as const)('a draft keeps its image after "%s", for both sides', async (end) => {
  const id = await proposeOffer();
  const reason = end === 'refuse' ? { reason: 'No.' } : {};
  await call('POST', `drafts/${id}/${end === 'undo' ? 'approve' : end}`, reason);
  if (end === 'undo') await call('POST', `drafts/${id}/undo`);
  const isStored = async (user: TestUser, path: string) => {
    expect((await user.get(path)).body).toContain(`src="${path}/picture"`);
    expect((await user.get(`${path}/picture`)).rawPayload.equals(png)).toBe(true);
  };
  await isStored(own.user, pathOf(own, `/drafts/${id}`));
  await isStored(admin, `/dashboard/p/${t.publisher.id}/drafts/${id}`);
  await deleteOldDrafts(t.pool, t.deps.now() + 399 * dayMs);
  await isStored(own.user, pathOf(own, `/drafts/${id}`));
  await deleteOldDrafts(t.pool, t.deps.now() + 401 * dayMs);
  expect((await t.pool.query('select from draft_pictures')).rowCount).toBe(0);
});

test('an account whose access was revoked cannot read the image any more', async () => {
  const id = await proposeOffer();
  const account = await signInAs(t, 'advertiser', null, own.id);
  const path = pathOf(own, `/drafts/${id}/picture`);
  const answer = await account.get(path);
  expect([answer.statusCode, answer.headers['cache-control']]).toEqual([200, 'no-store']);
  await t.pool.query('update memberships set disabled = true where user_id = $1', [account.userId]);
  const { statusCode, rawPayload } = await account.get(path);
  expect([statusCode === 200, rawPayload.equals(png)]).toEqual([false, false]);
});

describe('the comparison', () => {
  const rowsIn = (body: string): string[][] => {
    const table = /<div class="table comparison"([\s\S]*?)<\/table>/.exec(body)?.[1] ?? '';
    return [...table.matchAll(/<tr>([\s\S]*?)<\/tr>/g)]
      .slice(1)
      .map(([, row = '']) =>
        [...row.matchAll(/<t[hd][^>]*>([\s\S]*?)<\/t[hd]>/g)].map(([, cell = '']) => textOf(cell)),
      );
  };
  const textOf = (markup: string): string =>
    markup
      .replaceAll(/<[^>]*>/g, '')
      .replaceAll('&quot;', '"')
      .trim();
  const pageOf = async (id: number) => (await admin.get(`/dashboard/p/${t.publisher.id}/drafts/${id}`)).body;

  test('lists the fields of an offer in the order of the form, under the same names', async () => {
    const fields = {
      adv_pixel_url: 'https://pixel.example/',
      language: 'de',
      useraction_cta: 'Shop',
      mini_text: 'Small print',
      short_headline: 'Short',
      description: 'Text',
      useraction_url: 'https://shop.example/',
    };
    const id = await proposeOffer(fields);
    const rows = rowsIn(await pageOf(id)).map(([name]) => name);
    const form = (await own.user.get(pathOf(own, `/drafts/${id}/edit`))).body;
    const labels = [...form.matchAll(/<label for="f-[^"]*">([^<]*)</g)].map(([, label = '']) => textOf(label));
    expect(rows[0]).toBe('Campaign');
    expect(rows.slice(1)).toEqual(labels.filter((label) => rows.includes(label)));
    expect(rows).toHaveLength(2 + Object.keys({ ...texts, ...fields }).length);
  });

  test('shows names and amounts instead of IDs and numbers, to the publisher', async () => {
    const { rules } = (await call('GET', `campaigns/${own.campaign}`)).body.data;
    const [{ name: placement }] = (await call('GET', 'placements?limit=1')).body.data;
    await call('PATCH', `placements/${placement}`, { display_name: 'Order page' });
    const changes = {
      advertiser_id: other.id,
      payout_amount: 2.5,
      rules: { ...rules, targeting: { placements: { include: [placement] } } },
    };
    const draft = await call('POST', 'drafts', { resource: 'campaigns', row_id: own.campaign, changes });
    const rows = rowsIn(await pageOf(draft.body.data.id));
    expect(rows.map(([name]) => name)).toEqual(['Advertiser', 'Placements', 'Payout']);
    expect(rows[0]?.slice(1)).toEqual([own.name, other.name]);
    expect(rows[1]?.at(-1)).toBe('Order page');
    expect(rows[2]?.at(-1)).toMatch(/^\D{1,3}2\.50/);
  });

  test('marks the words that change', async () => {
    await call('PATCH', `offers/${own.offer}`, { title: 'Two months free' });
    const changes = { title: 'One month free' };
    const draft = await call('POST', 'drafts', { resource: 'offers', row_id: own.offer, changes });
    const body = await pageOf(draft.body.data.id);
    expect(body).toContain('<del>Two months</del> free');
    expect(body).toContain('<ins>One month</ins> free');
  });
});

test("an advertiser's form is the publisher's editor, with counters and a preview", async () => {
  const { body } = await own.user.get(pathOf(own, `/offers/${own.offer}`));
  expect(body).toContain('data-max="90"');
  expect(body).toContain(`data-frame="${pathOf(own, '/preview')}"`);
  const { rows } = await t.pool.query<{ title: string }>(
    `select o.title from offers o join campaigns c on c.id = o.campaign_id
    where c.advertiser_id <> $1 and o.title <> ''`,
    [own.id],
  );
  expect(rows.length).toBeGreaterThan(0);
  expect(rows.filter(({ title }) => body.includes(title))).toEqual([]);
  const frame = await own.user.get(pathOf(own, '/preview'));
  expect([frame.statusCode, frame.headers['content-security-policy']]).toEqual([
    ...[200, expect.stringContaining("frame-ancestors 'self'")],
  ]);
  expect((await other.user.get(pathOf(own, '/preview'))).statusCode).toBe(404);
});

test('a new offer without a headline is rejected with its other copy kept, and is not proposed', async () => {
  const before = await countDrafts();
  const fields = { ...texts, campaign_id: String(own.campaign), title: ' ', note: 'Please hurry' };
  const answer = await own.user.post(pathOf(own, '/offers'), fields);
  expect(answer.statusCode).toBe(422);
  expect(answer.body).toContain('id="f-title-error"');
  expect(answer.body).toContain('Please hurry</textarea>');
  expect(await countDrafts()).toBe(before);
});
