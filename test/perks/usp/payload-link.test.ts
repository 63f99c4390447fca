import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { transaction } from '../../../src/platform/db/pool.ts';
import { newUuid7 } from '../../../src/platform/lib/uuid7.ts';
import { createSigner } from '../../../src/platform/security/tracking-token.ts';
import { enqueue } from '../../../src/webhooks/outbox.ts';
import { createPayloadLinks, payloadLinkPurpose } from '../../../src/webhooks/payload-link.ts';
import { createTestApp, type TestApp } from '../../support/test-app.ts';
import { addEndpoint } from './calls.ts';

const key = (id: number) => ({ id, secret: `secret-${id}-`.repeat(6) });
const links = createPayloadLinks(createSigner([key(1)], payloadLinkPurpose), 'https://perks.test');
const tokenOf = (url: string): string => new URL(url).searchParams.get('t') ?? '';
const nowMs = Date.UTC(2026, 0, 31);
const hours72 = 72 * 3600 * 1000;

describe('a payload link', () => {
  test('is valid for its delivery for 72 hours', () => {
    const deliveryId = newUuid7(nowMs);
    const url = links.url(deliveryId, nowMs);
    expect(url).toMatch(/^https:\/\/perks\.test\/webhooks\/v1\/payload\?t=[A-Za-z0-9_-]{52}$/);
    expect(links.read(tokenOf(url), nowMs)).toEqual({ deliveryId });
    expect(links.read(tokenOf(url), nowMs + hours72 - 1)).toEqual({ deliveryId });
    expect(links.read(tokenOf(url), nowMs + hours72)).toBeNull();
  });

  test('is rejected if any bit is changed', () => {
    const token = tokenOf(links.url(newUuid7(nowMs), nowMs));
    fc.assert(
      fc.property(fc.nat(38), fc.integer({ min: 1, max: 255 }), (at, flip) => {
        const bytes = Buffer.from(token, 'base64url');
        bytes[at] = (bytes[at] as number) ^ flip;
        expect(links.read(bytes.toString('base64url'), nowMs)).toBeNull();
      }),
    );
  });

  test('is rejected if it is any other text', () => {
    fc.assert(fc.property(fc.string(), (text) => links.read(text, nowMs) === null));
    expect(links.read('A'.repeat(52), nowMs)).toBeNull();
  });

  test('is rejected if it is signed for another purpose or with another key', () => {
    for (const signer of [
      createSigner([key(1)], 'tracking-token'),
      createSigner([{ ...key(2), id: 1 }], payloadLinkPurpose),
    ])
      expect(
        links.read(tokenOf(createPayloadLinks(signer, 'https://perks.test').url(newUuid7(nowMs), nowMs)), nowMs),
      ).toBeNull();
  });

  test('still works after the keys are rotated', () => {
    const rotated = createPayloadLinks(createSigner([key(2), key(1)], payloadLinkPurpose), 'https://perks.test');
    const deliveryId = newUuid7(nowMs);
    expect(rotated.read(tokenOf(links.url(deliveryId, nowMs)), nowMs)).toEqual({ deliveryId });
    expect(rotated.read(tokenOf(rotated.url(deliveryId, nowMs)), nowMs)).toEqual({ deliveryId });
    expect(links.read(tokenOf(rotated.url(deliveryId, nowMs)), nowMs)).toBeNull();
  });
});

describe('GET /webhooks/v1/payload', () => {
  let t: TestApp;
  let aheadMs = 0;
  beforeAll(async () => {
    t = await createTestApp({ now: () => Date.now() + aheadMs });
    await addEndpoint(t);
  });
  afterAll(() => t.close());

  const appLinks = () =>
    createPayloadLinks(createSigner(t.deps.config.tokenKeys, payloadLinkPurpose), t.deps.config.publicUrl);
  const get = (url: string) => t.app.inject({ method: 'GET', url: url.replace(t.deps.config.publicUrl, '') });
  const payload = Buffer.from('{"body": {"text":  "ü \u{1f381}"}}\n');

  async function promise(): Promise<string> {
    const fact = { publisherId: t.publisher.id, event: 'usp.selection', sessionId: null, pubUserId: null, dev: false };
    const [id] = await transaction(t.pool, (executor) =>
      enqueue(executor, [{ ...fact, payload: () => payload, nowMs: Date.now() }]),
    );
    return id as string;
  }

  test('200: returns the stored bytes, which no cache may store', async () => {
    const answer = await get(appLinks().url(await promise(), Date.now()));
    expect(answer.statusCode).toBe(200);
    expect(answer.rawPayload.equals(payload)).toBe(true);
    expect(answer.headers).toMatchObject({ 'content-type': 'application/json', 'cache-control': 'no-store' });
  });

  test('404: the user has been erased', async () => {
    const id = await promise();
    await t.pool.query('update deliveries set erased_at = now() where id = $1', [id]);
    expect((await get(appLinks().url(id, Date.now()))).statusCode).toBe(404);
  });

  test('400 invalid_token: the token is missing, forged, expired or from a tracking URL', async () => {
    const id = await promise();
    const claims = { publisherId: t.publisher.id, sessionId: id, offerId: 1, campaignId: 1, position: 1, dev: false };
    const old = appLinks().url(id, Date.now() - hours72 - 1000);
    for (const url of [
      '/webhooks/v1/payload',
      '/webhooks/v1/payload?t=x',
      old,
      `/webhooks/v1/payload?t=${t.deps.tokens.mint(claims)}`,
    ]) {
      const answer = await get(url);
      expect([answer.statusCode, answer.json().error.code], url).toEqual([400, 'invalid_token']);
    }
  });

  test('400 invalid_token: the link is older than 72 hours', async () => {
    const url = appLinks().url(await promise(), Date.now());
    aheadMs = hours72 + 1000;
    const answer = await get(url);
    aheadMs = 0;
    expect([answer.statusCode, answer.json().error.code]).toEqual([400, 'invalid_token']);
  });

  test('404 not_found: the delivery has been deleted', async () => {
    const answer = await get(appLinks().url(newUuid7(Date.now()), Date.now()));
    expect([answer.statusCode, answer.json().error.code]).toEqual([404, 'not_found']);
  });
});
