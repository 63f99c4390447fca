import { afterAll, beforeAll, expect, test } from 'vitest';
import { signInAs } from '../../dashboard/support.ts';
import { createTestApp, type TestApp } from '../../support/test-app.ts';
import { addManager, type Manager } from './manager.ts';

let t: TestApp;
let me: Manager;
beforeAll(async () => {
  t = await createTestApp();
  me = await addManager(t);
});
afterAll(() => t.close());

const base = '/webhook-endpoints';
const hook = (query: string): string => `http://127.0.0.1:9/hook?${query}`;

test('a postback URL with a misspelt macro is saved with a warning in the API and on its page', async () => {
  const url = hook('c={session}&p=%%payout%%&own={shop_size}&literal=%7Bclickid%7D');
  const warnings = [
    { path: '/url', message: '{session} is not a valid macro and will be removed. Did you mean {session_id}?' },
    { path: '/url', message: '%%payout%% is not a valid macro. Did you mean {payout}?' },
  ];
  const response = await me.call('POST', base, { url, events: ['conversion'] });
  expect(response.json()).toMatchObject({ data: { url }, warnings });
  const { id } = response.json().data;
  expect((await me.call('GET', `${base}/${id}`)).json().warnings).toEqual(warnings);
  const admin = await signInAs(t, 'admin', me.id);
  const page = await admin.get(`/dashboard/p/${me.id}/settings/webhooks/${id}`);
  expect(page.body).toContain('{session} is not a valid macro and will be removed. Did you mean {session_id}?');
  const mended = await me.call('PATCH', `${base}/${id}`, { url: hook('c={session_id}&p={payout}') });
  expect(mended.json().warnings).toEqual([]);
  expect((await admin.get(`/dashboard/p/${me.id}/settings/webhooks/${id}`)).body).not.toContain('Did you mean');
});

test('events without custom attributes support only macros for their own fields', async () => {
  const saved = await me.call('PUT', `${base}/usp.selection`, {
    url: hook('u={pub_user_id}&s={selected}&x={shop}'),
    method: 'GET',
  });
  expect(saved.json().warnings).toEqual([
    {
      path: '/url',
      message: expect.stringMatching(
        /^\{shop\} is not a valid macro and will be removed\. The available macros are .*\{payload\}/,
      ),
    },
  ]);
});
