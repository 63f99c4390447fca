import fc from 'fast-check';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { parseNets } from '../../../../src/config/nets.ts';
import { isAllowedAddress } from '../../../../src/webhooks/address-guard.ts';
import type { Lookup } from '../../../../src/webhooks/dispatcher/send/resolver.ts';
import type { SendRequest } from '../../../../src/webhooks/dispatcher/send/result.ts';
import { createSender } from '../../../../src/webhooks/sender.ts';
import { httpReceiver, type Receiver } from './receivers.ts';

/** Receiver on loopback that would receive any call that gets past the guard. */
let canary: Receiver;
let hostnames: string[] = [];
beforeAll(async () => {
  canary = await httpReceiver((_request, response) => response.end());
});
afterAll(() => canary.close());
beforeEach(() => {
  hostnames = [];
});

const request = (url: string): SendRequest => ({
  url,
  method: 'POST',
  headers: {},
  body: Buffer.from('{}'),
  deadlineMs: 2000,
});

/** Sends to a URL with a sender that allows no exceptions. Names resolve to `addresses`. */
async function send(url: string, addresses: string[] = [], { allowHttp = true } = {}) {
  const lookup: Lookup = async (name) => {
    hostnames.push(name);
    return addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }));
  };
  const sender = createSender({
    allowNets: [],
    allowHttp,
    userAgent: 'Perkwire/test',
    now: () => performance.now(),
    lookup,
  });
  const result = await sender.send(request(url.replace('PORT', String(canary.port))));
  await sender.close();
  return result;
}

describe('a blocked call sends no packet', () => {
  test.each([
    'http://127.0.0.1:PORT/',
    'http://2130706433:PORT/',
    'http://0x7f000001:PORT/',
    'http://017700000001:PORT/',
    'http://0177.0.0.01:PORT/',
    'http://127.1:PORT/',
    'http://127.0.1:PORT/',
    'http://0x7f.1:PORT/',
    'http://127.0.0.1.:PORT/',
    'http://１２７.０.０.１:PORT/',
    'http://0:PORT/',
    'http://0.0.0.0:PORT/',
    'http://[::1]:PORT/',
    'http://[::]:PORT/',
    'http://[0:0:0:0:0:0:0:1]:PORT/',
    'http://[::ffff:127.0.0.1]:PORT/',
    'http://[::ffff:7f00:1]:PORT/',
    'http://[::127.0.0.1]:PORT/',
    'http://[::7f00:1]:PORT/',
    'http://[::ffff:0:127.0.0.1]:PORT/',
    'http://[64:ff9b::127.0.0.1]:PORT/',
    'http://[64:ff9b:1::127.0.0.1]:PORT/',
    'http://[2002:7f00:1::]:PORT/',
    'http://[2001:0:7f00:1::]:PORT/',
    'http://[2a00::5efe:127.0.0.1]:PORT/',
    'http://[2a00::200:5efe:7f00:1]:PORT/',
    'http://[fe80::5efe:127.0.0.1]:PORT/',
    'http://168.63.129.16:PORT/',
    'http://169.254.169.254:PORT/',
    'http://[fd00:ec2::254]:PORT/',
  ])('to the literal address %s', async (url) => {
    const before = canary.connections();
    expect(await send(url)).toEqual({ kind: 'blocked', reason: 'blocked_address' });
    expect(hostnames).toEqual([]);
    expect(canary.connections()).toBe(before);
  });

  test.each([
    { what: 'a private address', addresses: ['127.0.0.1'] },
    { what: 'a private address after a public one', addresses: ['93.184.215.14', '127.0.0.1'] },
    { what: 'a private address before a public one', addresses: ['::1', '93.184.215.14'] },
    { what: 'an IPv4-mapped loopback address', addresses: ['::ffff:127.0.0.1'] },
    { what: 'an IPv4-compatible loopback address', addresses: ['::127.0.0.1'] },
    { what: 'an ISATAP loopback address', addresses: ['2a00::5efe:7f00:1'] },
    { what: 'an address with a zone', addresses: ['fe80::1%eth0'] },
    { what: "a cloud provider's platform address", addresses: ['168.63.129.16'] },
    { what: 'text instead of an address', addresses: ['localhost'] },
  ])('to a name that resolves to $what', async ({ addresses }) => {
    const before = canary.connections();
    expect(await send('http://shop.test:PORT/', addresses)).toEqual({ kind: 'blocked', reason: 'blocked_address' });
    expect(hostnames).toEqual(['shop.test']);
    expect(canary.connections()).toBe(before);
  });

  test.each([
    ['ftp://127.0.0.1:PORT/', 'scheme_not_allowed'],
    ['file:///etc/passwd', 'scheme_not_allowed'],
    ['gopher://127.0.0.1:PORT/', 'scheme_not_allowed'],
    ['ws://shop.test:PORT/', 'scheme_not_allowed'],
    ['http://shop.test:22/', 'port_not_allowed'],
    ['http://shop.test:25/', 'port_not_allowed'],
    ['http://user:password@shop.test:PORT/', 'credentials_in_url'],
    ['//shop.test/', 'invalid_url'],
  ])('to %s (%s), and makes no DNS lookup', async (url, reason) => {
    const before = canary.connections();
    expect(await send(url, ['127.0.0.1'])).toEqual({ kind: 'blocked', reason });
    expect(hostnames).toEqual([]);
    expect(canary.connections()).toBe(before);
  });

  test('to plain HTTP if HTTPS is required', async () => {
    expect(await send('http://shop.test:PORT/', ['127.0.0.1'], { allowHttp: false })).toEqual({
      kind: 'blocked',
      reason: 'https_required',
    });
    expect(hostnames).toEqual([]);
  });
});

/** IANA's IPv6 special-purpose registry, plus non-unicast and deprecated ranges. All of them must be rejected. */
const registryV6 = [
  '::1/128',
  '::/128',
  '::/96', // IPv4-compatible
  '::ffff:0:0/96',
  '::ffff:0:0:0/96', // IPv4-translated
  '64:ff9b::/96',
  '64:ff9b:1::/48',
  '100::/64',
  '100:0:0:1::/64',
  '2001::/23', // Teredo, benchmarking, ORCHID and more
  '2001:db8::/32',
  '2002::/16',
  '3fff::/20',
  '5f00::/16',
  'fc00::/7',
  'fe80::/10',
  'fec0::/10',
  'ff00::/8',
];

describe('IPv6 addresses compared with the registry', () => {
  const words = fc.array(fc.nat(0xffff), { minLength: 8, maxLength: 8 });
  const inside = ([net, bits]: ReturnType<typeof parseNets>[number], noise: readonly number[]): number[] => {
    const fixed = 'parts' in net ? net.parts : [];
    return fixed.map((part, index) => {
      const prefixBits = Math.min(Math.max(bits - 16 * index, 0), 16);
      const mask = (0xffff << (16 - prefixBits)) & 0xffff;
      return (part & mask) | ((noise[index] as number) & ~mask & 0xffff);
    });
  };
  const hex = (parts: readonly number[]): string[] => parts.map((part) => part.toString(16));
  const spellings = (parts: readonly number[]): string[] => {
    const [high = 0, low = 0] = parts.slice(6);
    const text = hex(parts);
    return [
      text.join(':'),
      text.map((part) => part.padStart(4, '0')).join(':'),
      text.join(':').toUpperCase(),
      `${text.slice(0, 6).join(':')}:${high >> 8}.${high & 255}.${low >> 8}.${low & 255}`,
      new URL(`http://[${text.join(':')}]/`).hostname.slice(1, -1),
    ];
  };

  test.each(registryV6)('are blocked everywhere in %s in every notation', (net) => {
    const [parsed] = parseNets(net);
    fc.assert(
      fc.property(words, (noise) => {
        for (const text of spellings(inside(parsed as NonNullable<typeof parsed>, noise)))
          expect([text, isAllowedAddress(text, [])]).toEqual([text, false]);
      }),
      { numRuns: 50 },
    );
  });

  test('are allowed in plain global unicast in every notation', () => {
    const global = parseNets('2400::/12, 2600::/12, 2800::/12, 2a00::/12, 2c00::/12, 2003::/18');
    fc.assert(
      fc.property(fc.constantFrom(...global), words, (net, noise) => {
        const parts = inside(net, noise);
        fc.pre(parts[5] !== 0x5efe); // ISATAP
        for (const text of spellings(parts)) expect([text, isAllowedAddress(text, [])]).toEqual([text, true]);
      }),
      { numRuns: 300 },
    );
  });
});
