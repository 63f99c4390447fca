import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { firstLineOf } from '../../src/webhooks/last-failure.ts';
import { signInAs } from '../dashboard/support.ts';
import { createTestApp, type TestApp } from '../support/test-app.ts';
import { attemptsOf, createParts, untilAttempted } from './dispatcher/support.ts';
import { addManager } from './endpoints/manager.ts';

let t: TestApp;
const { hook, dispatcher, end } = createParts(() => t);
beforeAll(async () => {
  t = await createTestApp();
});
afterEach(end);
afterAll(() => t?.close());

const token = 'tok_4f9c27d1e8aa';

/** Sends one delivery to a receiver, and returns its endpoint page and its state in the API. */
async function failWith(answer: Parameters<typeof hook>[0], settings: object = {}) {
  const me = await addManager(t);
  const { url } = await hook(answer);
  const id = await me.endpoint(url, { retry_steps_s: [0], ...settings });
  await dispatcher();
  const delivery = await me.enqueueDelivery();
  await untilAttempted(t, delivery, 1);
  const admin = await signInAs(t, 'admin', me.id);
  const page = async (language = 'en') =>
    (await admin.get(`/dashboard/p/${me.id}/settings/webhooks/${id}`, { 'accept-language': language })).body;
  const state = async () => (await me.call('GET', `/webhook-endpoints/${id}`)).json().data.state;
  await expect.poll(async () => (await state()).last_failure).not.toBe(null);
  return { me, id, delivery, page, state };
}

test('the endpoint page says what the receiver answered, since when, how often, and how to fix it', async () => {
  const { me, delivery, page, state } = await failWith((response) =>
    response.writeHead(401, { 'content-type': 'text/plain' }).end('Unknown key\nsecond line'),
  );
  const body = await page();
  expect(body).toContain('The server last responded with status 401: “Unknown key”');
  expect(body).not.toContain('Unknown key second');
  expect(body).toMatch(/<strong>1 request has failed<\/strong> since <time/);
  expect(body).toContain('Check the headers, and how your server verifies the signature.');
  expect(body).toMatch(/settings\/webhooks\/\d+#f-headers">Check the headers/);
  expect(body).toContain(`/dashboard/p/${me.id}/deliveries/${delivery}`);
  expect(await page('de')).toContain('Der Server antwortete zuletzt mit Status 401: „Unknown key“');
  expect((await state()).last_failure).toMatchObject({
    delivery_id: delivery,
    status: 401,
    error: { class: 'status' },
    first_line: 'Unknown key',
  });
});

test('the page of a broker endpoint links to the address and login of the broker, in English and German', async () => {
  const me = await addManager(t);
  const destination = { kind: 'kafka', brokers: '127.0.0.1:1', topic: 'orders', tls: false };
  const body = { destination, events: ['usp.selection'], retry_steps_s: [0] };
  const { id } = (await me.call('POST', '/webhook-endpoints', body)).json().data;
  await dispatcher();
  await untilAttempted(t, await me.enqueueDelivery(), 1);
  const admin = await signInAs(t, 'admin', me.id);
  const page = async (language: string) =>
    (await admin.get(`/dashboard/p/${me.id}/settings/webhooks/${id}`, { 'accept-language': language })).body;
  await expect.poll(() => page('en')).toContain('Check the address, the names and the login of the destination');
  expect(await page('en')).toMatch(/settings\/webhooks\/\d+#f-kafka-brokers">Check the destination/);
  expect(await page('en')).toContain('id="f-kafka-brokers"');
  expect(await page('de')).toContain('Prüfen Sie Adresse, Namen und Zugangsdaten des Ziels');
});

test('a success removes the last failure, and a response that disables the endpoint is shown', async () => {
  let status = 500;
  const { me, page, state } = await failWith((response) => void response.writeHead(status).end('Moved away'));
  status = 200;
  await untilAttempted(t, await me.enqueueDelivery(), 1);
  await expect.poll(async () => (await state()).last_failure).toBe(null);
  expect(await page()).not.toContain('Moved away');
  status = 410;
  await untilAttempted(t, await me.enqueueDelivery(), 1);
  expect(await page()).toContain('The server last responded with status 410: “Moved away”');
});

test('a receiver that cannot be reached is described by its error', async () => {
  const closed = await hook();
  await closed.close();
  const me = await addManager(t);
  const id = await me.endpoint(closed.url, { retry_steps_s: [0] });
  await dispatcher();
  await untilAttempted(t, await me.enqueueDelivery(), 1);
  const admin = await signInAs(t, 'admin', me.id);
  const page = async () => (await admin.get(`/dashboard/p/${me.id}/settings/webhooks/${id}`)).body;
  await expect.poll(page).toContain('The last request failed: ');
  expect(await page()).toContain('Check that the URL is correct and that the server is reachable.');
});

test('credentials that a receiver echoes are neither stored nor shown', async () => {
  const basic = Buffer.from('shop:correct-horse-7').toString('base64');
  const { delivery, page } = await failWith(
    (response, { headers }) =>
      void response
        .writeHead(500, { 'x-echo': String(headers['x-shop-key']) })
        .end(`got ${headers.authorization} with correct-horse-7 and key ${headers['x-shop-key']}`),
    { headers: { authorization: `Basic ${basic}`, 'x-shop-key': token } },
  );
  const [attempt] = await attemptsOf(t, delivery);
  const stored = JSON.stringify([attempt?.response_body?.toString(), attempt?.response_headers]);
  for (const secret of [token, basic, 'correct-horse-7']) {
    expect(stored).not.toContain(secret);
    expect(await page()).not.toContain(secret);
  }
  expect(stored).toContain('[hidden]');
});

test('credentials with slashes that a receiver echoes as JSON are not stored', async () => {
  const slashed = 'tok/4f9c/27d1/e8aa';
  const { delivery } = await failWith(
    (response, { headers }) =>
      void response.writeHead(500).end(JSON.stringify({ got: headers['x-shop-key'] }).replaceAll('/', '\\/')),
    { headers: { 'x-shop-key': slashed } },
  );
  const [attempt] = await attemptsOf(t, delivery);
  expect(attempt?.response_body?.toString()).toBe('{"got":"[hidden]"}');
});

test('a response of 10 MB is stored and shown only in part', async () => {
  const { delivery, page } = await failWith((response) => void response.writeHead(500).end('A'.repeat(10_000_000)));
  const [attempt] = await attemptsOf(t, delivery);
  expect(attempt?.response_body?.length).toBeLessThanOrEqual(16_384);
  expect(await page()).toContain(`“${'A'.repeat(200)}…”`);
  expect(await page()).not.toContain('A'.repeat(201));
});

test('markup and control characters in a response are harmless', async () => {
  const { page } = await failWith(
    (response) => void response.writeHead(500).end('\u001b[31m<script>alert(1)</script>\u202E\u0000"quoted"'),
  );
  const body = await page();
  expect(body).toContain('&lt;script&gt;alert(1)&lt;/script&gt;');
  expect(body).not.toContain('<script>alert(1)');
  for (const character of ['\u001b', '\u202e', '\u0000']) expect(body).not.toContain(character);
});

test.each([
  ['Internal error\nat line 7', 'Internal error'],
  ['\r\n\r\n  hi  \r\n', 'hi'],
  ['<!DOCTYPE html><html><head><title>502 Bad Gateway</title></head><body>nginx', '502 Bad Gateway'],
  ['<html><body><h1>Oops</h1><script>alert(1)</script>', 'Oops'],
  ['{\n  "error": "bad token"\n}', '{ "error": "bad token" }'],
  [`Authorization: Bearer ${token} rejected`, 'Authorization: Bearer […] rejected'],
  [`{"x-api-key":"${token}"}`, '{"x-api-key":"[…]"}'],
  ['password=hunter22&user=ada', 'password=[…]&user=ada'],
  ['secret whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw', 'secret whsec_[…]'],
  ['{"error":"unknown user jane.doe@example.com"}', '{"error":"unknown user […]"}'],
  ['invalid token: expired', 'invalid token: expired'],
  ['Basic authentication required', 'Basic authentication required'],
  ['', null],
  [' \n\t', null],
  ['\0\0\u0001\0\0', null],
])('the first line of %j is %j', (body, line) => {
  expect(firstLineOf(Buffer.from(body))).toBe(line);
});
