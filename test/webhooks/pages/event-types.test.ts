import { afterAll, beforeAll, expect, test } from 'vitest';
import { signInAs, type TestUser } from '../../dashboard/support.ts';
import { createTestApp, type TestApp } from '../../support/test-app.ts';
import { createParts } from '../dispatcher/support.ts';
import { addManager, type Manager } from '../endpoints/manager.ts';

let t: TestApp;
let me: Manager;
let admin: TestUser;
const { hook, end } = createParts(() => t);
beforeAll(async () => {
  t = await createTestApp();
  me = await addManager(t);
  admin = await signInAs(t, 'admin', me.id);
});
afterAll(async () => {
  await end();
  await t.close();
});

const own = (path = ''): string => `/dashboard/p/${me.id}/event-types${path}`;
const textOf = (body: string): string => body.replaceAll(/<[^>]*>/g, ' ').replaceAll(/\s+/g, ' ');
const namesIn = (body: string): string[] =>
  [...body.matchAll(/event-types\/([a-z._]+)"/g)].map(([, name = '']) => name);

test('all event types are listed in groups, each with its description', async () => {
  const { body } = await admin.get(own());
  expect(new Set(namesIn(body))).toEqual(new Set(t.contributions.events.keys()));
  const text = textOf(body);
  for (const group of ['Users and perks', 'Endpoints and deliveries', 'Campaigns and offers'])
    expect(text).toContain(group);
  expect(text).toContain('Sent when a user confirms perks.');
  expect(textOf((await admin.get(own(), { 'accept-language': 'de' })).body)).toContain('Ereignistypen');
});

test('the list can be searched, and limited to events that an endpoint receives', async () => {
  expect(new Set(namesIn((await admin.get(own('?q=confirms+perks'))).body))).toEqual(new Set(['usp.selection']));
  expect(textOf((await admin.get(own('?received=on'))).body)).toContain('No matches');
  const shop = await hook();
  await me.endpoint(shop.url);
  expect(new Set(namesIn((await admin.get(own('?received=on'))).body))).toEqual(new Set(['usp.selection']));
});

test('the page of an event shows its version, JSON Schema, sample, endpoints, and when it was last sent', async () => {
  const before = textOf((await admin.get(own('/usp.selection'))).body);
  expect(before).toMatch(/Version 1/);
  expect(before).toContain('&quot;pub_user_id&quot;: &quot;test-user&quot;');
  const { body } = await admin.get(own('/usp.selection'));
  const [, schema = ''] = /href="(\/docs\/events\/usp\.selection\.v1\.json)"/.exec(body) ?? [];
  expect((await t.app.inject(schema)).json()).toMatchObject({ $schema: expect.stringContaining('2020-12') });
  expect(body).not.toContain('<time');
  await me.enqueueDelivery();
  const after = (await admin.get(own('/usp.selection'))).body;
  expect(after).toMatch(/href="[^"]*\/deliveries\?event=usp\.selection&amp;endpoint=\d+"[^>]*>\s*<time/);
  expect((await admin.get(own('/no.such.event'))).statusCode).toBe(404);
});

test('adding an endpoint from the page of an event selects the event', async () => {
  const { body } = await admin.get(own('/conversion'));
  const [, add = ''] = /href="([^"]*\/webhooks\/new\?event=conversion)"/.exec(body) ?? [];
  const selected = (page: string) =>
    [...page.matchAll(/name="events" value="([^"]+)" checked/g)].map(([, name]) => name);
  expect(selected((await admin.get(add)).body)).toEqual(['conversion']);
  expect(selected((await admin.get(add.replace('conversion', 'no.such'))).body)).toEqual([]);
});

test('an admin sends a test of the event to an endpoint that receives it, at most ten in a row', async () => {
  const shop = await hook();
  const endpoint = String(await me.endpoint(shop.url, {}, 'conversion'));
  const send = (fields = { endpoint }) => admin.post(own('/conversion/test'), fields);
  const answer = await send();
  expect(textOf(answer.body)).toContain('200');
  expect(shop.requests).toHaveLength(1);
  expect((await send({ endpoint: '999999' })).statusCode).toBe(404);
  const other = await addManager(t);
  const foreign = String(await other.endpoint(shop.url, {}, 'conversion'));
  expect((await send({ endpoint: foreign })).statusCode).toBe(404);
  for (let count = 1; count < 10; count += 1) await send();
  expect(textOf((await send()).body)).not.toContain('took the test');
  expect(shop.requests).toHaveLength(10);
  const analyst = await signInAs(t, 'analyst', me.id);
  expect((await analyst.get(own('/conversion'))).body).not.toContain('/conversion/test');
  expect((await analyst.post(own('/conversion/test'), { endpoint })).statusCode).toBe(403);
});
