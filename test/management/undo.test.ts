import type { LightMyRequestResponse as Response } from 'fastify';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import type { Undo } from '../../src/shell/context.ts';
import { signInAs, type TestUser } from '../dashboard/support.ts';
import { callsOf } from '../drafts/support.ts';
import { createTestApp, type TestApp } from '../support/test-app.ts';

/** The button in the message after saving undoes the change. */

let t: TestApp;
let manager: TestUser;
let call: ReturnType<typeof callsOf>;
let offer: { id: number; campaign_id: number };
beforeAll(async () => {
  t = await createTestApp();
  manager = await signInAs(t, 'manager');
  call = callsOf(t);
  [offer] = (await call('GET', 'offers?limit=1')).body.data;
});
afterAll(() => t?.close());
beforeEach(async () => {
  await call('PATCH', `offers/${offer.id}`, { title: 'As it was', weight: 1 });
});

const own = (path: string): string => `/dashboard/p/${t.publisher.id}${path}`;
const rowOf = async (kind = 'offers', id = offer.id) => (await call('GET', `${kind}/${id}`)).body.data;

/** Returns the undo form in a response's message, or null if none exists. */
function undoIn(answer: Response): Undo | null {
  const flash = answer.cookies.find(({ name }) => name === 'perkwire_flash')?.value ?? '';
  const fields = Buffer.from(flash.split('.')[2] ?? '', 'base64url').toString();
  return fields === '' ? null : (JSON.parse(fields) as Undo);
}

const messageIn = ({ cookies }: Response): string =>
  Buffer.from(cookies.find(({ name }) => name === 'perkwire_flash')?.value.split('.')[1] ?? '', 'base64url').toString();

const press = (undo: Undo | null, user = manager): Promise<Response> =>
  user.post(undo?.to ?? '/none', undo?.values as Record<string, string>);

async function save(changes: Record<string, string>): Promise<Undo | null> {
  const { title, weight, cta_yes, cta_no, active } = await rowOf();
  const fields = { title, weight: String(weight), cta_yes, cta_no, ...(active && { active: 'on' }), ...changes };
  const saved = await manager.post(own(`/offers/${offer.id}`), fields);
  expect(saved.statusCode, saved.body).toBe(303);
  return undoIn(saved);
}

test('restores the previous values of a saved offer, keeps later changes and adds an audit log entry', async () => {
  const undo = await save({ title: 'New' });
  await call('PATCH', `offers/${offer.id}`, { weight: 9 });
  const answer = await press(undo);
  expect([answer.statusCode, messageIn(answer)]).toEqual([303, 'Change to As it was undone.']);
  expect(await rowOf()).toMatchObject({ title: 'As it was', weight: 9 });
  const [entry] = (await call('GET', `audit?resource=offers&resource_id=${offer.id}&limit=1`)).body.data;
  expect(entry).toMatchObject({ actor_label: manager.email, changes: { title: { old: 'New', new: 'As it was' } } });
});

test('409: does not overwrite values that have changed since, and names them', async () => {
  const undo = await save({ title: 'New' });
  await call('PATCH', `offers/${offer.id}`, { title: 'Newer' });
  const answer = await press(undo);
  expect(answer.statusCode).toBe(409);
  expect(answer.body).toContain('Nothing was undone because Headline has been changed again since you saved it.');
  expect((await rowOf()).title).toBe('Newer');
});

test('applies an undo once if the button is pressed twice', async () => {
  const undo = await save({ title: 'New' });
  const both = await Promise.all([press(undo), press(undo)]);
  expect(both.map(({ statusCode }) => statusCode).sort()).toEqual([303, 409]);
  expect((await rowOf()).title).toBe('As it was');
});

test('offers no undo for a save without changes', async () => {
  expect(await save({})).toBeNull();
});

test('removes a new row, and can undo that removal', async () => {
  const created = await manager.post(own('/advertisers'), { name: 'Made by mistake' });
  const removed = await press(undoIn(created));
  const [, id = ''] = /advertisers\/(\d+)/.exec(undoIn(created)?.to ?? '') ?? [];
  expect(messageIn(removed)).toBe('Made by mistake removed.');
  expect((await call('GET', `advertisers/${id}`)).status).toBe(404);
  await press(undoIn(removed));
  expect((await call('GET', `advertisers/${id}`)).status).toBe(200);
});

test('404: users can undo only their own changes to that row of that publisher', async () => {
  const undo = await save({ title: 'New' });
  const { rows } = await t.pool.query<{ id: string }>(
    `select min(id) as id from audit_log where publisher_id = $1 and resource = 'offers' and actor_kind = 'key'`,
    [t.publisher.id],
  );
  const other = await signInAs(t, 'manager');
  expect((await press(undo, other)).statusCode).toBe(404);
  for (const entry of ['', '0', 'x', '9'.repeat(30), String(rows[0]?.id)])
    expect((await press({ to: undo?.to ?? '', values: { entry } })).statusCode, entry).toBe(404);
  const another = undo?.to.replace(`/offers/${offer.id}/`, `/offers/${offer.id + 1}/`) ?? '';
  expect((await press({ to: another, values: undo?.values ?? {} })).statusCode).toBe(404);
  expect((await press(undo, await signInAs(t, 'analyst'))).statusCode).toBe(403);
  expect((await rowOf()).title).toBe('New');
});

test('turns an undo into a draft if changes have since come to require approval', async () => {
  const undo = await save({ title: 'New' });
  await call('PATCH', `publishers/${t.publisher.id}`, { approval_required: true });
  const answer = await press(undo);
  await call('PATCH', `publishers/${t.publisher.id}`, { approval_required: false });
  expect(answer.headers.location).toMatch(/\/drafts\/\d+$/);
  const [draft] = (await call('GET', `drafts?row_id=${offer.id}`)).body.data;
  expect(draft).toMatchObject({ state: 'waiting', changes: { title: 'As it was' } });
  expect((await rowOf()).title).toBe('New');
});
