import { afterAll, beforeAll, expect, test } from 'vitest';
import { handOut } from '../../../src/webhooks/listen/hand-out.ts';
import { createWebhooksApp, type WebhooksApp } from '../app.ts';
import { addManager, type Manager } from '../endpoints/manager.ts';

let t: WebhooksApp;
let me: Manager;
beforeAll(async () => {
  t = await createWebhooksApp();
  me = await addManager(t);
});
afterAll(() => t.close());

test('an answer is recorded as an attempt, with unstorable characters of a truncated header replaced', async () => {
  const response = await me.call('POST', '/webhook-listeners', { forward_url: 'http://127.0.0.1:9/' });
  const listener = response.json().data.id as number;
  const sent = await me.call('POST', '/webhook-triggers', { event: 'usp.selection', endpoint: listener });
  const [{ id }] = sent.json().data.deliveries as [{ id: string }];
  expect(await handOut(t.pool, me.id, listener)).toHaveLength(1);
  const headers = { 'x-note': `${'a'.repeat(4095)}😀` }; // the limit of a header parts the emoji
  const answer = { delivery_id: id, attempt: 1, took_ms: 1, status: 200, headers };
  const path = `/webhook-listeners/${listener}/answers`;
  const reply = await me.call('POST', path, answer);
  expect(reply.json()).toMatchObject({ data: { delivery_id: id, outcome: 'delivered' } });
  expect((await me.call('POST', path, answer)).json()).toMatchObject({ error: { code: 'attempt_ended' } });
  const { rows } = await t.pool.query('select response_headers from delivery_attempts where delivery_id = $1', [id]);
  expect(rows).toEqual([{ response_headers: { 'x-note': `${'a'.repeat(4095)}\ufffd` } }]);
});
