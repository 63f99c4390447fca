import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { deleteOldImages } from '../../src/drafts/draft.ts';
import { sendDraftMails } from '../../src/drafts/mails.ts';
import { dayMs, minuteMs } from '../../src/platform/lib/time.ts';
import { uploadAs } from '../advertisers/support.ts';
import { drawStripes } from '../catalog/images/image-fixtures.ts';
import { errorsIn, signInAs, type TestUser } from '../dashboard/support.ts';
import { type MailServer, startMailServer } from '../support/mail-server.ts';
import { createTestApp, type TestApp } from '../support/test-app.ts';
import { callsOf } from './support.ts';

let t: TestApp;
let server: MailServer;
let manager: TestUser;
let admin: TestUser;
let call: ReturnType<typeof callsOf>;
let campaign: number;
let png: Buffer;
let clock = Date.now();
const own = (path: string): string => `/dashboard/p/${t.publisher.id}${path}`;
beforeAll(async () => {
  server = await startMailServer();
  t = await createTestApp({ config: { mail: server.mail }, now: () => clock });
  call = callsOf(t);
  await call('PATCH', `publishers/${t.publisher.id}`, { approval_required: true, dates_approved: false });
  admin = await signInAs(t, 'admin');
  campaign = (await call('GET', 'campaigns?limit=1')).body.data[0].id;
  png = await drawStripes(60, 30);
});
afterAll(async () => {
  await t.close();
  await server.close();
});
beforeEach(async () => {
  await t.pool.query('delete from drafts');
  manager = await signInAs(t, 'manager');
  server.mails.length = 0;
  clock += minuteMs;
});

const textOf = (body: string): string => body.replaceAll(/<[^>]*>/g, ' ').replaceAll(/\s+/g, ' ');
const idIn = (location: unknown): number => Number(/\/drafts\/(\d+)$/.exec(String(location))?.[1]);
const draftOf = async (id: number) => (await call('GET', `drafts/${id}`)).body.data;

/** Proposes an offer with an image, as the manager. */
async function proposeOffer(): Promise<number> {
  const answer = await uploadAs(t, manager, own('/offers'), {
    bytes: png,
    fields: { campaign_id: String(campaign), title: 'Two months free', cta_yes: 'Yes', cta_no: 'No', weight: '1' },
  });
  expect([answer.statusCode, errorsIn(answer.body)]).toEqual([303, []]);
  const { rows } = await t.pool.query<{ id: number }>('select max(id) as id from drafts');
  clock += 1000;
  return rows[0]?.id as number;
}

const refuse = (id: number) => admin.post(own(`/drafts/${id}/refuse`), { reason: 'One month, please.' });
const fields = { title: 'One month free', cta_yes: 'Yes', cta_no: 'No' };
const proposeAgain = (id: number, by = manager) => by.post(own(`/drafts/${id}/edit`), fields);
describe('a draft of a manager that was refused', () => {
  test('can be edited and proposed again with its image', async () => {
    const id = await proposeOffer();
    await refuse(id);
    const page = (await manager.get(own(`/drafts/${id}`))).body;
    expect(page).toContain('One month, please.');
    expect(page).toContain(own(`/drafts/${id}/edit`));
    const form = (await manager.get(own(`/drafts/${id}/edit`))).body;
    expect(form).toContain('value="Two months free"');
    expect(form).toContain(`src="${own(`/drafts/${id}/picture`)}"`);
    const next = await draftOf(idIn((await proposeAgain(id)).headers.location));
    expect(next).toMatchObject({ state: 'waiting', revises: id, has_picture: true, advertiser_id: null });
    expect(next.changes).toMatchObject({ title: 'One month free', campaign_id: campaign });
    const approved = await call('POST', `drafts/${next.id}/approve`, {});
    expect(approved.status).toBe(200);
    const { data } = (await call('GET', `creatives?offer_id=${approved.body.data.row_id}`)).body;
    expect(data).toHaveLength(1);
  });

  test('is e-mailed to its author, and counted until the author opens it', async () => {
    const id = await proposeOffer();
    await refuse(id);
    clock += 2 * minuteMs;
    await sendDraftMails(t.deps);
    expect(server.mails.flatMap(({ to }) => to)).toEqual([manager.email]);
    const list = textOf((await manager.get(own('/drafts'))).body);
    expect(list).toMatch(/Decisions on your drafts: Two months free Rejected/);
    await manager.get(own(`/drafts/${id}`));
    expect(textOf((await manager.get(own('/drafts'))).body)).not.toContain('Decisions on your drafts');
    // Other users and the user who decided are not notified.
    expect(textOf((await admin.get(own('/drafts'))).body)).not.toContain('Decisions on your drafts');
  });

  test('is proposed again only once, and not by analysts, advertisers or other publishers', async () => {
    const id = await proposeOffer();
    await refuse(id);
    expect((await proposeAgain(id, await signInAs(t, 'analyst'))).statusCode).toBe(403);
    await proposeAgain(id);
    const second = await manager.post(own(`/drafts/${id}/edit`), { ...fields, title: 'From another tab' });
    expect(second.statusCode).toBe(422);
    expect(second.body).toContain('This draft has been decided or proposed again in the meantime.');
    expect(second.body).toContain('value="From another tab"');
    expect((await t.pool.query('select from drafts')).rowCount).toBe(2);
  });

  test('shows errors next to the fields, and keeps what was typed', async () => {
    const id = await proposeOffer();
    await refuse(id);
    const long = 'x'.repeat(2000);
    const { statusCode, body } = await manager.post(own(`/drafts/${id}/edit`), { ...fields, title: long });
    expect(statusCode).toBe(422);
    expect(body).toContain('href="#f-title"');
    expect(body).toContain(long);
  });
});

test('a rejection without a reason leads to the field for the reason', async () => {
  const id = await proposeOffer();
  const { statusCode, body } = await admin.post(own(`/drafts/${id}/refuse`), { reason: '' });
  expect(statusCode).toBe(422);
  expect(body).toMatch(/role="alert"[\s\S]*href="#f-reason"/);
});

test('a draft of an advertiser is not edited by the publisher', async () => {
  const id = await proposeOffer();
  await t.pool.query('update drafts set advertiser_id = (select min(id) from advertisers) where id = $1', [id]);
  await refuse(id);
  expect((await manager.get(own(`/drafts/${id}`))).body).not.toContain(`/drafts/${id}/edit`);
  expect((await proposeAgain(id)).headers.location).toBe(own(`/drafts/${id}`));
  expect((await t.pool.query('select from drafts')).rowCount).toBe(1);
});

test('an image is deleted 30 days after its draft went live or was replaced, if it is not needed', async () => {
  const refused = await proposeOffer();
  await refuse(refused);
  const replaced = await proposeOffer();
  await refuse(replaced);
  const live = idIn((await proposeAgain(replaced)).headers.location);
  await call('POST', `drafts/${live}/approve`, {});
  const withImage = async () =>
    (await t.pool.query<{ draft_id: number }>('select draft_id from draft_pictures order by 1')).rows.map(
      ({ draft_id: id }) => id,
    );
  await deleteOldImages(t.pool, clock + 29 * dayMs);
  expect(await withImage()).toEqual([refused, replaced, live]);
  await deleteOldImages(t.pool, clock + 31 * dayMs);
  expect(await withImage()).toEqual([refused]);
});
