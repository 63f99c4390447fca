import { afterAll, beforeAll, expect, test } from 'vitest';
import { isLastAdmin } from '../../src/accounts/memberships.ts';
import { findMember } from '../../src/accounts/users.ts';
import type { CustomRole } from '../../src/shell/context.ts';
import { type Caller, createManagementApp, type ManagementApp } from '../catalog/resources/support.ts';
import { runCommand } from '../command-line/support.ts';
import { openAs, signInAs } from '../dashboard/support.ts';
import { violations } from '../support/axe.ts';
import { openBrowser } from '../support/browser.ts';

let t: ManagementApp;
let ann: Caller;
let base: string;
beforeAll(async () => {
  t = await createManagementApp();
  base = await t.app.listen({ port: 0, host: '127.0.0.1' });
  ann = await t.caller(await t.addPublisher());
});
afterAll(() => t?.close());

const own = (path: string, { publisherId } = ann): string => `/dashboard/p/${publisherId}${path}`;

async function addRole(name: string, permissions: readonly string[], caller = ann): Promise<CustomRole> {
  const created = await caller.call('POST', '/roles', { name, permissions });
  expect(created.status, JSON.stringify(created.body)).toBe(201);
  return { id: created.body.data.id as number, name, permissions };
}

/** Signs in a member with a publisher's custom role. */
const memberWith = (role: CustomRole) => signInAs(t, role, ann.publisherId);

const roleOf = async ({ userId }: { userId: number }) => (await findMember(t.pool, ann.publisherId, userId))?.role;

test('a custom role opens the pages of its permissions in addition to read access, and shows its name', async () => {
  const approver = await memberWith(await addRole('Approver', ['offers/approval', 'offers/management']));
  const { statusCode, body } = await approver.get(own('/offers/new'));
  expect(statusCode).toBe(200);
  expect(body).toContain('Approver');
  expect((await approver.get(own('/settings/keys'))).statusCode).toBe(403);
  const settings = await memberWith(await addRole('Settings', ['configurations']));
  expect((await settings.get(own('/settings/keys'))).statusCode).toBe(200);
  expect((await settings.get(own('/offers'))).statusCode).toBe(200);
  expect((await settings.get(own('/offers/new'))).statusCode).toBe(403);
  expect((await settings.get('/dashboard/operator/publishers')).statusCode).toBe(403);
});

test('an admin creates, grants, changes and removes a role in the dashboard, and each change is logged', async () => {
  const admin = await signInAs(t, 'admin', ann.publisherId);
  const member = await signInAs(t, 'analyst', ann.publisherId);
  const created = await admin.post(own('/settings/roles'), { name: 'Support', permissions: 'offers/management' });
  expect(created.statusCode, created.body).toBe(303);
  const id = Number(String(created.headers.location).split('/').at(-1));
  expect((await admin.get(own('/settings/users'))).body).toContain(`<option value="${id}">`);
  expect((await admin.post(own(`/settings/users/${member.userId}`), { role: String(id) })).statusCode).toBe(303);
  expect(await roleOf(member)).toEqual({
    id,
    name: 'Support',
    permissions: ['offers/management'],
  });
  // A role that is in use cannot be removed, and the error says so.
  await admin.post(own(`/settings/roles/${id}/remove`), {});
  expect((await ann.call('DELETE', `/roles/${id}`)).body.message).toBe('The role is still in use.');
  expect((await admin.post(own(`/settings/users/${member.userId}`), { role: 'analyst' })).statusCode).toBe(303);
  expect((await ann.call('DELETE', `/roles/${id}`)).status).toBe(204);
  const { rows } = await t.pool.query(
    `select resource || ' ' || action as what, changes -> 'role' as role from audit_log
    where publisher_id = $1 and (resource = 'roles' or (resource = 'users' and changes ? 'role')) and resource_id <> '0'
    order by number desc limit 4`,
    [ann.publisherId],
  );
  expect(rows.map(({ what }) => what)).toEqual(['roles remove', 'users update', 'users update', 'roles create']);
  expect(rows[1]?.role).toEqual({ old: `Support (${id})`, new: 'analyst' });
});

test('a permission that is removed from a role while a page is open no longer allows the next action', async () => {
  const role = await addRole('Editor', ['offers/management', 'reports']);
  const editor = await memberWith(role);
  expect((await editor.get(own('/campaigns/new'))).statusCode).toBe(200);
  expect((await ann.call('PATCH', `/roles/${role.id}`, { permissions: ['reports'] })).status).toBe(200);
  const refused = await editor.post(own('/campaigns'), { name: 'Late' });
  expect(refused.statusCode).toBe(403);
  expect(refused.body).toContain('Your role does not allow this');
});

test('users cannot grant more permissions than they have, whether by roles, keys or memberships', async () => {
  const admin = await signInAs(t, 'admin', ann.publisherId);
  const analyst = await signInAs(t, 'analyst', ann.publisherId);
  const settings = await memberWith(await addRole('Limited', ['configurations', 'reports']));
  const beyond = await settings.post(own('/settings/roles'), { name: 'More', permissions: 'offers/management' });
  expect(beyond.statusCode).toBe(403);
  await settings.post(own(`/settings/users/${analyst.userId}`), { role: 'admin' });
  expect(await roleOf(analyst)).toBe('analyst');
  for (const path of ['', '/link', '/remove', '/two-factor/remove'])
    expect((await settings.post(own(`/settings/users/${admin.userId}${path}`), { role: 'analyst' })).statusCode).toBe(
      403,
    );
  const { body } = await settings.get(own('/settings/users'));
  expect(body).toContain('value="analyst"');
  expect(body).not.toContain('value="admin"');
  const key = await settings.post(own('/settings/keys'), { name: 'K', permissions: 'wallet' });
  expect(key.statusCode).toBe(403);
  const narrow = await t.operator.call('POST', `/keys?publisher_id=${ann.publisherId}`, {
    name: 'Narrow',
    permissions: ['configurations'],
  });
  const asKey = await t.app.inject({
    method: 'POST',
    url: '/manage/v1/roles',
    payload: { name: 'By key', permissions: ['wallet'] },
    headers: { authorization: `Bearer ${narrow.body.data.key}` },
  });
  expect(asKey.statusCode).toBe(403);
});

test('a role with every permission does not count as admin, so the last admin cannot be removed', async () => {
  const bob = await t.caller(await t.addPublisher());
  const admin = await signInAs(t, 'admin', bob.publisherId);
  const all = ['ads/offers', 'configurations', 'offers/approval', 'offers/management', 'reports', 'wallet'];
  await signInAs(t, await addRole('All', all, bob), bob.publisherId);
  const last = await findMember(t.pool, bob.publisherId, admin.userId);
  expect(last === null ? null : await isLastAdmin(t.pool, last)).toBe(true);
});

test("400 and 409: validates role names and permissions, and rejects another publisher's role", async () => {
  const bob = await t.caller(await t.addPublisher());
  expect((await ann.call('POST', '/roles', { name: 'Admin', permissions: ['reports'] })).status).toBe(400);
  expect((await ann.call('POST', '/roles', { name: 'Op', permissions: ['accounts'] })).status).toBe(400);
  expect((await ann.call('POST', '/roles', { name: 'Empty', permissions: [] })).status).toBe(400);
  await addRole('Twice', ['reports']);
  expect((await ann.call('POST', '/roles', { name: 'twice', permissions: ['reports'] })).status).toBe(409);
  const foreign = await addRole('Foreign', ['reports'], bob);
  await expect(memberWith(foreign)).rejects.toThrow('memberships_custom_role');
});

test('perkwire roles sets, lists and removes a role, and explains errors', async () => {
  const cid = await t.caller(await t.addPublisher());
  const run = (...args: string[]) => runCommand(['roles', ...args], { PERKWIRE_URL: base, PERKWIRE_KEY: cid.key });
  expect(await run('list')).toEqual({ code: 0, out: '', err: '' });
  expect(await run('set', 'Support', 'reports')).toEqual({ code: 0, out: 'Role created.\n', err: '' });
  expect((await run('set', 'support', 'offers/management', 'reports')).out).toBe('Role saved.\n');
  const [role] = (await cid.call('GET', '/roles')).body.data as unknown as CustomRole[];
  expect(role).toMatchObject({ name: 'support', permissions: ['offers/management', 'reports'] });
  expect((await run('list')).out).toBe(`${role?.id}  support  offers/management reports\n`);
  expect(JSON.parse((await run('list', '--json')).out)).toMatchObject([{ id: role?.id, name: 'support' }]);
  await signInAs(t, role as CustomRole, cid.publisherId);
  const inUse = await run('remove', 'Support');
  expect([inUse.code === 0, inUse.err]).toEqual([false, expect.stringContaining('in use')]);
  await t.pool.query('delete from memberships where custom_role_id = $1', [role?.id]);
  expect((await run('remove', 'SUPPORT')).out).toBe('Removed support.\n');
  expect(await run('remove', 'Support')).toEqual({ code: 2, out: '', err: 'There is no role "Support".\n' });
  for (const [args, message] of [
    [['set', 'Nothing'], 'Expected the name of a role and its permissions.'],
    [['remove'], 'Expected the name of one role.'],
  ] as const)
    expect(await run(...args)).toEqual({ code: 2, out: '', err: `${message}\n` });
  const refused = await run('set', 'Operators', 'accounts');
  expect([refused.code === 0, refused.out]).toEqual([false, '']);
  expect((await cid.call('GET', '/roles')).body.data).toEqual([]);
});

test('an admin creates a role in the browser and grants it to a member, who sees only what it allows', async () => {
  const browser = await openBrowser();
  const member = await signInAs(t, 'analyst', ann.publisherId);
  const page = await openAs(browser, await signInAs(t, 'admin', ann.publisherId), base, own('/settings/roles/new'));
  await page.getByLabel('Name', { exact: true }).fill('Catalogue team');
  await page.getByRole('checkbox', { name: /^offers\/management/ }).check();
  expect(await page.getByRole('checkbox', { name: /^accounts/ }).count()).toBe(0);
  expect(await violations(page)).toEqual([]);
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByText('Catalogue team saved.').first().waitFor();

  const theirs = await openAs(browser, member, base, own('/offers'));
  const menu = theirs.getByRole('navigation', { name: 'Main' });
  const add = theirs.getByRole('link', { name: 'Add offer' }).first();
  await menu.getByRole('link', { name: 'Offers' }).first().waitFor();
  expect(await add.count()).toBe(0);

  await page.goto(base + own('/settings/users'));
  const row = page.getByRole('row').filter({ hasText: member.email });
  await row.getByRole('combobox').selectOption({ label: 'Catalogue team' });
  await row.getByRole('button', { name: 'Change' }).click();
  await page.getByText(`${member.email} was updated.`).first().waitFor();

  await theirs.reload();
  await add.waitFor();
  const linkTo = (name: string) => menu.getByRole('link', { name, exact: true, includeHidden: true });
  await linkTo('Live requests').waitFor({ state: 'attached' });
  expect(await linkTo('API keys').count()).toBe(0);
  await theirs.goto(base + own('/settings/keys'));
  await theirs.getByText('Your role does not allow this').first().waitFor();
  await theirs.goto(base + own('/settings'));
  expect(await theirs.getByRole('button', { name: 'Save' }).count()).toBe(0);
  await linkTo('Placements').waitFor();
  for (const hidden of ['Users', 'Roles', 'Activity log']) expect(await linkTo(hidden).count(), hidden).toBe(0);
  await theirs.goto(base + own('/campaigns/new'));
  expect(await theirs.getByText('Your role does not allow this').count()).toBe(0);
  for (const openPage of [page, theirs]) await openPage.context().close();
});
