import { afterAll, beforeAll, expect, test } from 'vitest';
import { isLastAdmin } from '../../src/accounts/memberships.ts';
import { findMember } from '../../src/accounts/users.ts';
import type { CustomRole } from '../../src/shell/context.ts';
import { type Caller, createManagementApp, type ManagementApp } from '../catalog/resources/support.ts';
import { signInAs } from '../dashboard/support.ts';

let t: ManagementApp;
let ann: Caller;
beforeAll(async () => {
  t = await createManagementApp();
  ann = await t.caller(await t.addPublisher());
});
afterAll(() => t?.close());

const own = (path: string, { publisherId } = ann): string => `/dashboard/p/${publisherId}${path}`;

async function addRole(name: string, permissions: readonly string[], caller = ann): Promise<CustomRole> {
  const made = await caller.call('POST', '/roles', { name, permissions });
  expect(made.status, JSON.stringify(made.body)).toBe(201);
  return { id: made.body.data.id as number, name, permissions };
}

/** A member with a role that the publisher has made. */
const memberWith = (role: CustomRole) => signInAs(t, role, ann.publisherId);

const roleOf = async ({ userId }: { userId: number }) => (await findMember(t.pool, ann.publisherId, userId))?.role;

test('a role opens what its permissions open, beside reading, and is named on the page', async () => {
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

test('an admin makes, gives, changes and removes a role in the dashboard; the audit log says so', async () => {
  const admin = await signInAs(t, 'admin', ann.publisherId);
  const member = await signInAs(t, 'analyst', ann.publisherId);
  const made = await admin.post(own('/settings/roles'), { name: 'Support', permissions: 'offers/management' });
  expect(made.statusCode, made.body).toBe(303);
  const id = Number(String(made.headers.location).split('/').at(-1));
  expect((await admin.get(own('/settings/users'))).body).toContain(`<option value="${id}">`);
  expect((await admin.post(own(`/settings/users/${member.userId}`), { role: String(id) })).statusCode).toBe(303);
  expect(await roleOf(member)).toEqual({
    ...{ id, name: 'Support', permissions: ['offers/management'] },
  });
  // In use: not removed, and said so.
  await admin.post(own(`/settings/roles/${id}/remove`), {});
  expect((await ann.call('DELETE', `/roles/${id}`)).body.message).toBe('The role is in use.');
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

test('a permission that a role loses while a page is open is refused with the next action, in a sentence', async () => {
  const role = await addRole('Editor', ['offers/management', 'reports']);
  const editor = await memberWith(role);
  expect((await editor.get(own('/campaigns/new'))).statusCode).toBe(200);
  expect((await ann.call('PATCH', `/roles/${role.id}`, { permissions: ['reports'] })).status).toBe(200);
  const refused = await editor.post(own('/campaigns'), { name: 'Late' });
  expect(refused.statusCode).toBe(403);
  expect(refused.body).toContain('Your role does not allow this');
});

test('nobody gives what they do not have: no role, no key, no member who may more', async () => {
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
    ...{ name: 'Narrow', permissions: ['configurations'] },
  });
  const asKey = await t.app.inject({
    ...{ method: 'POST', url: '/manage/v1/roles', payload: { name: 'By key', permissions: ['wallet'] } },
    headers: { authorization: `Bearer ${narrow.body.data.key}` },
  });
  expect(asKey.statusCode).toBe(403);
});

test('a role with every permission is no admin: the last admin stays', async () => {
  const bob = await t.caller(await t.addPublisher());
  const admin = await signInAs(t, 'admin', bob.publisherId);
  const all = ['ads/offers', 'configurations', 'offers/approval', 'offers/management', 'reports', 'wallet'];
  await signInAs(t, await addRole('All', all, bob), bob.publisherId);
  const last = await findMember(t.pool, bob.publisherId, admin.userId);
  expect(last === null ? null : await isLastAdmin(t.pool, last)).toBe(true);
});

test('400, 409: names and permissions of roles are checked; a role of another publisher is not given', async () => {
  const bob = await t.caller(await t.addPublisher());
  expect((await ann.call('POST', '/roles', { name: 'Admin', permissions: ['reports'] })).status).toBe(400);
  expect((await ann.call('POST', '/roles', { name: 'Op', permissions: ['accounts'] })).status).toBe(400);
  expect((await ann.call('POST', '/roles', { name: 'Empty', permissions: [] })).status).toBe(400);
  await addRole('Twice', ['reports']);
  expect((await ann.call('POST', '/roles', { name: 'twice', permissions: ['reports'] })).status).toBe(409);
  const foreign = await addRole('Foreign', ['reports'], bob);
  await expect(memberWith(foreign)).rejects.toThrow('memberships_custom_role');
});
