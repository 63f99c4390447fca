import { createHmac, createPublicKey, verify as verifyBytes } from 'node:crypto';
import fc from 'fast-check';
import { Webhook } from 'standardwebhooks';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { newSecret, newV1aKey, publicV1aKey, secretBytes, sign, v1aKeyOf } from '../../src/webhooks/signature.ts';

const timestampS = 1_763_700_000;

beforeEach(() => {
  vi.useFakeTimers({ now: timestampS * 1000, toFake: ['Date'] });
});
afterEach(() => {
  vi.useRealTimers();
});

const headersOf = (id: string, signature: string) => ({
  'webhook-id': id,
  'webhook-timestamp': String(timestampS),
  'webhook-signature': signature,
});

const verify = (secret: string, id: string, text: string, signature: string): void => {
  new Webhook(secret).verify(text, headersOf(id, signature), { jsonParse: false });
};

describe('a webhook signature', () => {
  test('verifies in an independent Standard Webhooks library for 10,000 payloads', () => {
    const text = fc.string({ unit: 'grapheme', maxLength: 300 });
    fc.assert(
      fc.property(text, fc.uuid(), (body, id) => {
        const secret = newSecret();
        const signature = sign({ id, timestampS, body: Buffer.from(body), secrets: [secretBytes(secret)] });
        verify(secret, id, body, signature);
      }),
      { numRuns: 10_000 },
    );
  });

  test('can include an ed25519 signature that verifies with the public key only for its own text', () => {
    const key = v1aKeyOf(newV1aKey());
    const raw = Buffer.from(publicV1aKey(key).replace(/^whpk_/, ''), 'base64');
    const publicKey = createPublicKey({
      key: { kty: 'OKP', crv: 'Ed25519', x: raw.toString('base64url') },
      format: 'jwk',
    });
    const secret = newSecret();
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), fc.uuid(), (body, id) => {
        const signatures = sign({
          id,
          timestampS,
          body: Buffer.from(body),
          secrets: [secretBytes(secret)],
          v1aKeys: [key],
        });
        verify(secret, id, body, signatures); // who knows only v1 skips it
        const [, encoded = ''] = /(?:^| )v1a,(\S+)$/.exec(signatures) ?? [];
        const signed = (text: string) => Buffer.from(`${id}.${timestampS}.${text}`);
        expect(verifyBytes(null, signed(body), publicKey, Buffer.from(encoded, 'base64'))).toBe(true);
        expect(verifyBytes(null, signed(`${body} `), publicKey, Buffer.from(encoded, 'base64'))).toBe(false);
      }),
    );
  });

  test('requires an ed25519 key in its own format with matching halves', () => {
    const [firstKey, other] = [newV1aKey(), newV1aKey()].map((key) =>
      Buffer.from(key.slice('whsk_'.length), 'base64'),
    ) as [Buffer, Buffer];
    const mixed = `whsk_${Buffer.concat([firstKey.subarray(0, 32), other.subarray(32)]).toString('base64')}`;
    for (const text of [
      '',
      'whsk_',
      `whsec_${firstKey.toString('base64')}`,
      `whsk_${firstKey.subarray(1).toString('base64')}`,
      mixed,
    ])
      expect(() => v1aKeyOf(text)).toThrow();
  });

  test('covers the original bytes, even if they are not text', () => {
    const key = secretBytes(newSecret());
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 4096 }), fc.uuid(), (bytes, id) => {
        const expected = createHmac('sha256', key)
          .update(Buffer.concat([Buffer.from(`${id}.${timestampS}.`), bytes]))
          .digest('base64');
        expect(sign({ id, timestampS, body: Buffer.from(bytes), secrets: [key] })).toBe(`v1,${expected}`);
      }),
    );
  });

  test('matches the example of the library', () => {
    const secret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
    const body = Buffer.from('{"test": 2432232314}');
    expect(
      sign({ id: 'msg_p5jXN8AQM9LWM0D4loKWxJek', timestampS: 1614265330, body, secrets: [secretBytes(secret)] }),
    ).toBe('v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=');
  });

  test('verifies with either secret during a rotation, but with no other secret', () => {
    const [old, fresh, foreign] = [newSecret(), newSecret(), newSecret()];
    const signature = sign({
      id: 'd1',
      timestampS,
      body: Buffer.from('{}'),
      secrets: [secretBytes(fresh), secretBytes(old)],
    });
    expect(signature).toMatch(/^v1,\S+ v1,\S+$/);
    verify(old, 'd1', '{}', signature);
    verify(fresh, 'd1', '{}', signature);
    expect(() => verify(foreign, 'd1', '{}', signature)).toThrow('No matching signature');
  });

  test('does not verify for another ID, time or body', () => {
    const secret = newSecret();
    const signed = { id: 'd1', timestampS, body: Buffer.from('{"a":1}'), secrets: [secretBytes(secret)] };
    expect(() => verify(secret, 'd2', '{"a":1}', sign(signed))).toThrow();
    expect(() => verify(secret, 'd1', '{"a":2}', sign(signed))).toThrow();
    expect(() => verify(secret, 'd1', '{"a":1}', sign({ ...signed, timestampS: timestampS + 1 }))).toThrow();
  });

  test('requires a secret and a time in seconds', () => {
    expect(() => sign({ id: 'd1', timestampS, body: Buffer.from(''), secrets: [] })).toThrow('at least one secret');
    expect(() => sign({ id: 'd1', timestampS: 1.5, body: Buffer.from(''), secrets: [Buffer.alloc(32)] })).toThrow(
      'whole seconds',
    );
  });
});

describe('endpoint secrets', () => {
  test('consist of whsec_ and 32 bytes, and never repeat', () => {
    expect(newSecret()).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
    expect(secretBytes(newSecret())).toHaveLength(32);
    expect(newSecret()).not.toBe(newSecret());
  });

  test('are read back unchanged if they have 24 to 64 bytes', () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 24, maxLength: 64 }), (bytes) => {
        expect(secretBytes(`whsec_${Buffer.from(bytes).toString('base64')}`)).toEqual(Buffer.from(bytes));
      }),
    );
  });

  const good = Buffer.alloc(32, 7).toString('base64');
  test.each([
    ['no prefix', good],
    ['empty', ''],
    ['only the prefix', 'whsec_'],
    ['another prefix', `whpk_${good}`],
    ['a space inside', `whsec_${good.slice(0, 8)} ${good.slice(8)}`],
    ['no padding', `whsec_${good.replace('=', '')}`],
    ['base64url', `whsec_${Buffer.alloc(32, 0xff).toString('base64url')}`],
    ['not base64', 'whsec_!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!'],
    ['23 bytes', `whsec_${Buffer.alloc(23).toString('base64')}`],
    ['65 bytes', `whsec_${Buffer.alloc(65).toString('base64')}`],
  ])('that are malformed are rejected without being revealed: %s', (_what, secret) => {
    const read = () => secretBytes(secret);
    expect(read).toThrow('a webhook secret');
    if (secret.length > 10) expect(read).not.toThrow(secret.slice(6, 20));
  });
});
