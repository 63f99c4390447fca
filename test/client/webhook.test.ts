import { createHmac, randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { Webhook } from 'standardwebhooks';
import { describe, expect, test } from 'vitest';
import {
  InvalidParameterError,
  type VerifyWebhookOptions,
  verifyWebhook,
  WebhookVerificationError,
} from '../../packages/client/src/index.ts';
import { newSecret, secretBytes, sign } from '../../src/webhooks/signature.ts';

const nowMs = 1_800_000_000_000;
const secret = newSecret();
const selection = { body: { pub_user_id: 'u-1', selected: 0, session_id: 's-1', campaigns: [] } };
const bodyOf = (payload: unknown): string => JSON.stringify(payload);

/** Returns the request that the service sends for this body. */
function sent(body: string, { secrets = [secret], atMs = nowMs, extra = {} } = {}) {
  const timestampS = Math.floor(atMs / 1000);
  const message = { id: 'msg_1', timestampS, body: Buffer.from(body), secrets: secrets.map(secretBytes) };
  const headers: Record<string, string> = {
    'webhook-id': 'msg_1',
    'webhook-timestamp': String(timestampS),
    'webhook-signature': sign(message),
    'perkwire-event': 'usp.selection',
    ...extra,
  };
  return { headers, body };
}

const verify = (options: Partial<VerifyWebhookOptions>) =>
  verifyWebhook({ secret, now: () => nowMs, ...sent(bodyOf(selection)), ...options });

const reasonOf = async (options: Partial<VerifyWebhookOptions>): Promise<string> => {
  const err = await verify(options).catch((thrown: unknown) => thrown);
  expect(err).toBeInstanceOf(WebhookVerificationError);
  return (err as WebhookVerificationError).reason;
};

describe('a webhook from the service is accepted', () => {
  test('with its payload, ID and time', async () => {
    expect(await verify({})).toEqual({
      type: 'usp.selection',
      payload: selection,
      id: 'msg_1',
      timestampS: nowMs / 1000,
      test: false,
      dev: false,
    });
  });

  test('with any text in it, passed as text or as bytes', async () => {
    await fc.assert(
      fc.asyncProperty(fc.dictionary(fc.string(), fc.jsonValue()), async (fields) => {
        const payload = { ...fields, conversion_id: 'c-1' };
        const body = bodyOf(payload);
        const message = sent(body);
        const bytes = new TextEncoder().encode(body);
        for (const content of [body, bytes, bytes.buffer, Buffer.from(body)])
          expect((await verify({ ...message, body: content })).payload).toEqual(JSON.parse(body));
      }),
      { numRuns: 50 },
    );
  });

  test('with either secret during a rotation, if the receiver knows both', async () => {
    const next = newSecret();
    const rotated = sent(bodyOf(selection), { secrets: [next, secret] });
    for (const secretOption of [secret, next, [secret, next], [newSecret(), next]])
      expect((await verify({ ...rotated, secret: secretOption })).id).toBe('msg_1');
    expect((await verify({ secret: [next, secret] })).id).toBe('msg_1');
  });

  test('with the headers of a fetch request or of Node, in any case', async () => {
    const { headers } = sent(bodyOf(selection), { extra: { 'perkwire-test': '1', 'perkwire-dev': '1' } });
    const upper = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toUpperCase(), [value]]));
    for (const requestHeaders of [new Headers(headers), upper])
      expect(await verify({ headers: requestHeaders })).toMatchObject({ test: true, dev: true });
  });

  test('even if it also has signatures of other versions', async () => {
    const { headers } = sent(bodyOf(selection));
    const signature = `v1a,${randomBytes(64).toString('base64')} ${headers['webhook-signature']} v2,x`;
    expect((await verify({ headers: { ...headers, 'webhook-signature': signature } })).id).toBe('msg_1');
  });
});

describe('the event type is read from the signed payload and not from a header', () => {
  test.each([
    ['offer_saved', { event: 'offer_saved', offer_id: 1 }],
    ['offer_removed', { event: 'offer_removed', offer_id: 1 }],
    ['perk_message', { event: 'perk_message', kind: 'perks' }],
    ['conversion', { conversion_id: 'c-1', event: 'offer_saved' }],
    ['endpoint.failing', { event: 'endpoint.failing', endpoint_id: 1 }],
    ['usp.selection', selection],
  ])('%s', async (type, payload) => {
    expect((await verify(sent(bodyOf(payload)))).type).toBe(type);
  });

  test('rejects a later version as unknown after verifying its signature', async () => {
    expect(await reasonOf(sent(bodyOf({ event: 'later' })))).toBe('unknown_event');
    expect(await reasonOf({ ...sent(bodyOf({ event: 'later' })), secret: newSecret() })).toBe('wrong_signature');
  });
});

describe('a forged, altered or replayed webhook is rejected', () => {
  test('with a body, ID or time that was not signed', async () => {
    const { headers, body } = sent(bodyOf(selection));
    expect(await reasonOf({ body: body.replace('u-1', 'u-2') })).toBe('wrong_signature');
    expect(await reasonOf({ headers: { ...headers, 'webhook-id': 'msg_2' } })).toBe('wrong_signature');
    const later = { ...headers, 'webhook-timestamp': String(nowMs / 1000 + 1) };
    expect(await reasonOf({ headers: later })).toBe('wrong_signature');
  });

  test('with a signature that has another secret or version, or is truncated or missing', async () => {
    const { headers } = sent(bodyOf(selection));
    const signature = headers['webhook-signature'] as string;
    const withSignature = (signatureHeader: string) =>
      reasonOf({ headers: { ...headers, 'webhook-signature': signatureHeader } });
    expect(await reasonOf({ secret: newSecret() })).toBe('wrong_signature');
    for (const invalidSignature of [
      signature.slice(0, -1),
      signature.replace('v1,', 'v2,'),
      signature.slice(3),
      'v1,',
      ',',
    ])
      expect(await withSignature(invalidSignature)).toBe('wrong_signature');
    expect(await withSignature('')).toBe('missing_header');
  });

  test('if it is more than five minutes old or from the future', async () => {
    const shifted = (seconds: number) => ({ ...sent(bodyOf(selection), { atMs: nowMs + seconds * 1000 }) });
    for (const seconds of [-300, 300]) expect((await verify(shifted(seconds))).id).toBe('msg_1');
    expect(await reasonOf(shifted(-301))).toBe('too_old');
    expect(await reasonOf(shifted(301))).toBe('too_new');
    expect(await reasonOf({ ...shifted(-61), toleranceS: 60 })).toBe('too_old');
    expect(await reasonOf({ toleranceS: Number.NaN })).toBe('too_old');
  });

  test.each(['webhook-id', 'webhook-timestamp', 'webhook-signature'])('without %s', async (name) => {
    const { headers } = sent(bodyOf(selection));
    delete headers[name];
    expect(await reasonOf({ headers })).toBe('missing_header');
  });

  test.each(['1e9', '-1', '1.5', 'NaN', '0x10'])('with the time %s', async (timestamp) => {
    const { headers } = sent(bodyOf(selection));
    expect(await reasonOf({ headers: { ...headers, 'webhook-timestamp': timestamp } })).toBe('invalid_timestamp');
  });

  test('if its body is not a JSON object', async () => {
    for (const body of ['', '[]', 'null', 'x']) expect(await reasonOf(sent(body))).toBe('invalid_payload');
  });
});

describe('a secret that would verify anything is never accepted', () => {
  test.each([
    '',
    'whsec_',
    'whsec_AAAA',
    'undefined',
    secret.slice(6),
    'whsec_%%%',
    `whsec_${Buffer.alloc(23).toString('base64')}`,
  ])('%o', async (invalidSecret) => {
    const key = Buffer.from(invalidSecret.replace('whsec_', ''), 'base64');
    const { headers, body } = sent(bodyOf(selection));
    const hmac = createHmac('sha256', key)
      .update(`msg_1.${nowMs / 1000}.${body}`)
      .digest('base64');
    const forged = { ...headers, 'webhook-signature': `v1,${hmac}` };
    for (const secretOption of [invalidSecret, [invalidSecret, secret]])
      await expect(verify({ headers: forged, secret: secretOption })).rejects.toBeInstanceOf(InvalidParameterError);
  });

  test('without any secret, or with an object instead of the raw body', async () => {
    await expect(verify({ secret: [] })).rejects.toBeInstanceOf(InvalidParameterError);
    await expect(verify({ secret: undefined as never })).rejects.toBeInstanceOf(InvalidParameterError);
    await expect(verify({ body: selection as never })).rejects.toMatchObject({ parameter: 'body' });
  });
});

test('verification agrees with the reference library of Standard Webhooks', async () => {
  const body = bodyOf(selection);
  const at = new Date();
  const signature = new Webhook(secret).sign('msg_9', at, body);
  const headers = {
    'webhook-id': 'msg_9',
    'webhook-timestamp': String(Math.floor(at.getTime() / 1000)),
    'webhook-signature': signature,
  };
  expect((await verifyWebhook({ secret, headers, body })).id).toBe('msg_9');
});
