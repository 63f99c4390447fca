import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { closeContexts, newContext, openBrowser } from '../support/browser.ts';
import { createTestApp, type TestApp } from '../support/test-app.ts';
import { createParts, deliveryOf, payloadOf, until } from '../webhooks/dispatcher/support.ts';
import { addManager } from '../webhooks/endpoints/manager.ts';

let t: TestApp;
let browser: Browser;
let base: string;
let admin: Server;
let source = '';
const { hook, dispatcher, end } = createParts(() => t);
beforeAll(async () => {
  t = await createTestApp();
  base = await t.app.listen({ port: 0, host: '127.0.0.1' });
  browser = await openBrowser();
  admin = createServer((_request, response) =>
    response
      .setHeader('content-type', 'text/html')
      .end(`<title>Admin</title><iframe src="${source}" width="1000" height="700"></iframe>`),
  );
  await new Promise<void>((resolve) => admin.listen(0, resolve));
});
afterAll(async () => {
  await end();
  await closeContexts(browser);
  admin.close();
  await t.close();
});

test('an operator embeds the deliveries of a publisher and resends one, in a page of another website', async () => {
  const me = await addManager(t);
  let status = 500;
  const shop = await hook((response) => void response.writeHead(status).end());
  await me.endpoint(shop.url, { retry_steps_s: [0] });
  await dispatcher();
  const delivery = await me.enqueueDelivery({ payload: payloadOf() });
  await until(async () => (await deliveryOf(t, delivery)).status, 'failed');
  status = 200;

  const { port } = admin.address() as AddressInfo;
  const origin = `http://localhost:${port}`;
  const link = async (frame_origin: string): Promise<string> => {
    const fields = { frame_origin, permissions: ['deliveries/resend', 'live'], user: 'ann', language: 'en' };
    const created = await me.call('POST', '/portal-links', fields);
    return base + new URL(created.json().data.url).pathname;
  };
  source = await link(origin);
  const context = await newContext(browser, {});
  const page = await context.newPage();
  await page.goto(origin);
  const frame = page.frameLocator('iframe');
  await frame.getByRole('heading', { name: 'Deliveries' }).waitFor();
  await frame.locator('td a').first().click();
  await frame.getByRole('button', { name: 'Redeliver' }).click();
  await frame.getByText('delivered').first().waitFor();
  expect(shop.requests.length).toBe(2);
  expect((await deliveryOf(t, delivery)).status).toBe('delivered');
  await frame.getByRole('link', { name: 'Live requests' }).click();
  await frame.getByRole('heading', { name: 'Live requests' }).waitFor();
  await frame.getByText('Waiting for the first API call').waitFor();

  // Another website with a link that names the first one shows nothing.
  source = await link('https://other.example');
  await page.goto(origin);
  await expect.poll(() => page.frames().at(-1)?.url()).toMatch(/^chrome-error:/);
});
