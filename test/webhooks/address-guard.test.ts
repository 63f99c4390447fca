import { BlockList } from 'node:net';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseNets } from '../../src/config/nets.ts';
import { checkUrl, isAllowedAddress, resolveTarget } from '../../src/webhooks/address-guard.ts';
import type { Lookup } from '../../src/webhooks/dispatcher/send/resolver.ts';

const loopback = parseNets('127.0.0.0/8,::1/128');
const strict = { allowHttp: false, allowNets: [] };
const open = { allowHttp: true, allowNets: [] };

const noLookup: Lookup = async () => {
  throw new Error('not to be asked');
};

describe('parseNets', () => {
  test('parses a comma-separated list of nets in both families, with spaces, or an empty value', () => {
    const nets = parseNets(' 127.0.0.0/8, ::1/128 ,10.1.2.3/16,');
    expect(nets.map(([address, bits]) => `${address.toString()}/${bits}`)).toEqual([
      '127.0.0.0/8',
      '::1/128',
      '10.1.2.3/16',
    ]);
    expect(parseNets('')).toEqual([]);
  });

  test.each([
    '127.0.0.1',
    '127/8',
    '10.0.0.0/33',
    '::1/129',
    '::1/',
    '/8',
    'localhost/8',
    '10.0.0.0/8/8',
    '010.0.0.0/8',
    '10.0.0.0/-1',
    'fe80::1%eth0/64',
  ])('reports the entry that is not a net: %s', (entry) => {
    expect(() => parseNets(`10.0.0.0/8, ${entry}`)).toThrow(`"${entry}" is not a CIDR range`);
  });
});

describe('blocked addresses', () => {
  test.each([
    '0.0.0.0',
    '0.1.2.3',
    '10.0.0.1',
    '10.255.255.255',
    '100.64.0.0',
    '100.100.100.200',
    '100.127.255.255',
    '127.0.0.1',
    '127.255.255.254',
    '168.63.129.16',
    '169.254.0.1',
    '169.254.169.254',
    '172.16.0.1',
    '172.31.255.255',
    '192.0.0.1',
    '192.0.0.192',
    '192.0.2.1',
    '192.31.196.1',
    '192.52.193.1',
    '192.88.99.1',
    '192.168.0.1',
    '192.175.48.1',
    '198.18.0.1',
    '198.19.255.255',
    '198.51.100.7',
    '203.0.113.9',
    '224.0.0.1',
    '239.255.255.255',
    '240.0.0.1',
    '255.255.255.255',
    '::',
    '::1',
    '100::1',
    '2001::1',
    '2001:2::1',
    '2001:10::1',
    '2001:20::1',
    '2001:db8::1',
    '2620:4f:8000::1',
    '3fff::1',
    '3fff:fff::1',
    '4000::1',
    '5f00::1',
    'fc00::1',
    'fd00:ec2::254',
    'fe80::1',
    'febf::1',
    'fec0::1',
    'ff02::1',
    'fe80::1%eth0',
    '2606:4700::1%eth0',
  ])('%s', (ip) => {
    expect(isAllowedAddress(ip, [])).toBe(false);
  });

  test.each([
    '8.8.8.8',
    '1.1.1.1',
    '100.63.255.255',
    '100.128.0.0',
    '172.15.255.255',
    '172.32.0.0',
    '168.63.129.17',
    '192.0.1.0',
    '198.17.255.255',
    '198.20.0.0',
    '223.255.255.255',
    '2606:4700:4700::1111',
    '2001:200::1',
    '2001:4860:4860::8888',
    '2a00:1450:4001:82b::200e',
    '2003::1',
    '3ffe::1',
  ])('do not include %s', (ip) => {
    expect(isAllowedAddress(ip, [])).toBe(true);
  });

  test.each([
    '',
    'localhost',
    '127.1',
    '0x7f.0.0.1',
    '2130706433',
    '017700000001',
    '1.2.3',
    '1.2.3.4.5',
    '::g',
    '[::1]',
    '8.8.8.8/32',
    ' 8.8.8.8',
  ])('include any text that is not an address in canonical form: "%s"', (ip) => {
    expect(isAllowedAddress(ip, parseNets('0.0.0.0/0, ::/0'))).toBe(false);
  });
});

const hex = (value: number): string => value.toString(16);

/** All IPv6 forms that contain an IPv4 address, built from its two halves in hex. */
const embeddings: [string, (high: string, low: string) => string][] = [
  ['IPv4-mapped', (high, low) => `::ffff:${high}:${low}`],
  ['IPv4-compatible', (high, low) => `::${high}:${low}`],
  ['IPv4-translated (RFC 2765)', (high, low) => `::ffff:0:${high}:${low}`],
  ['NAT64', (high, low) => `64:ff9b::${high}:${low}`],
  ['local NAT64', (high, low) => `64:ff9b:1::${high}:${low}`],
  [
    'local NAT64 /48',
    (high, low) =>
      `64:ff9b:1:${high}:${hex(Number.parseInt(low, 16) >> 8)}:${hex((Number.parseInt(low, 16) & 0xff) << 8)}::`,
  ],
  ['6to4', (high, low) => `2002:${high}:${low}::1`],
  ['Teredo server', (high, low) => `2001:0:${high}:${low}::1`],
  [
    'Teredo client',
    (high, low) =>
      `2001::${(Number.parseInt(high, 16) ^ 0xffff).toString(16)}:${(Number.parseInt(low, 16) ^ 0xffff).toString(16)}`,
  ],
  ['ISATAP, link-local', (high, low) => `fe80::5efe:${high}:${low}`],
  ['ISATAP, global prefix', (high, low) => `2606:4700:1:2:0:5efe:${high}:${low}`],
  ['ISATAP, global prefix, universal bit', (high, low) => `2606:4700:1:2:200:5efe:${high}:${low}`],
];

const halves = (ip: string): [string, string] => {
  const [a = 0, b = 0, c = 0, d = 0] = ip.split('.').map(Number);
  return [((a << 8) | b).toString(16), ((c << 8) | d).toString(16)];
};

describe('IPv4 inside IPv6', () => {
  const forbidden = ['127.0.0.1', '10.0.0.1', '169.254.169.254', '192.168.1.1', '168.63.129.16', '100.64.0.1'];
  const cases = embeddings.flatMap(([form, embed]) => forbidden.map((ip) => [form, ip, embed(...halves(ip))] as const));

  test.each(cases)('%s of %s is blocked: %s', (_form, _ip, address) => {
    expect(isAllowedAddress(address, [])).toBe(false);
  });

  test.each([
    '::127.0.0.1',
    '::ffff:127.0.0.1',
    '64:ff9b::10.0.0.1',
    '2606:4700:1:2:0:5efe:127.0.0.1',
    '0:0:0:0:0:FFFF:7F00:1',
  ])('is also blocked in mixed or full notation: %s', (address) => {
    expect(isAllowedAddress(address, [])).toBe(false);
  });

  test.each(embeddings.slice(0, 10))(
    '%s of a public address is blocked, because the translator is not the receiver',
    (_form, embed) => {
      expect(isAllowedAddress(embed(...halves('8.8.8.8')), [])).toBe(false);
    },
  );

  test('a global address that only resembles ISATAP of a public IPv4 address is allowed', () => {
    expect(isAllowedAddress('2606:4700:1:2:0:5efe:808:808', [])).toBe(true);
  });

  test('a net that the operator has opened is also open in mapped form, but in no other', () => {
    expect(isAllowedAddress('::ffff:127.0.0.1', loopback)).toBe(true);
    for (const [form, embed] of embeddings.slice(1))
      expect([form, isAllowedAddress(embed(...halves('127.0.0.1')), loopback)]).toEqual([form, false]);
  });
});

describe('the address guard', () => {
  const oracle = new BlockList();
  const oracleNets: [string, number][] = [
    ['0.0.0.0', 8],
    ['10.0.0.0', 8],
    ['100.64.0.0', 10],
    ['127.0.0.0', 8],
    ['169.254.0.0', 16],
    ['172.16.0.0', 12],
    ['192.0.0.0', 24],
    ['192.0.2.0', 24],
    ['192.31.196.0', 24],
    ['192.52.193.0', 24],
    ['192.88.99.0', 24],
    ['192.168.0.0', 16],
    ['192.175.48.0', 24],
    ['198.18.0.0', 15],
    ['198.51.100.0', 24],
    ['203.0.113.0', 24],
    ['224.0.0.0', 4],
    ['240.0.0.0', 4],
    ['168.63.129.16', 32],
  ];
  for (const [net, bits] of oracleNets) oracle.addSubnet(net, bits, 'ipv4');
  const dotted = (value: number): string => [24, 16, 8, 0].map((shift) => (value >>> shift) & 0xff).join('.');
  const edges = oracleNets.flatMap(([net, bits]) => {
    const start = net.split('.').reduce((sum, octet) => sum * 256 + Number(octet), 0);
    return [start - 1, start, start + 2 ** (32 - bits) - 1, start + 2 ** (32 - bits)].filter(
      (value) => value >= 0 && value < 2 ** 32,
    );
  });
  const anyV4 = fc.oneof(fc.nat(0xffffffff), fc.constantFrom(...edges)).map(dotted);
  const group = fc.nat(0xffff).map((value) => value.toString(16));
  const anyV6 = fc.array(group, { minLength: 8, maxLength: 8 }).map((groups) => groups.join(':'));

  test('allows exactly the IPv4 addresses outside an independent list of special nets', () => {
    fc.assert(
      fc.property(anyV4, (ip) => isAllowedAddress(ip, []) === !oracle.check(ip, 'ipv4')),
      { numRuns: 2000 },
    );
    for (const edge of edges)
      expect([dotted(edge), isAllowedAddress(dotted(edge), [])]).toEqual([
        dotted(edge),
        !oracle.check(dotted(edge), 'ipv4'),
      ]);
  });

  test('blocks every IPv6 address outside 2000::/3', () => {
    fc.assert(
      fc.property(anyV6, (ip) => {
        const first = Number.parseInt(ip, 16);
        return !isAllowedAddress(ip, []) || (first >= 0x2000 && first <= 0x3fff);
      }),
      { numRuns: 2000 },
    );
  });

  test('blocks a forbidden IPv4 address in every embedded form', () => {
    fc.assert(
      fc.property(
        anyV4,
        fc.constantFrom(...embeddings),
        (ip, [, embed]) => !oracle.check(ip, 'ipv4') || !isAllowedAddress(embed(...halves(ip)), []),
      ),
      { numRuns: 2000 },
    );
  });

  test('never allows a URL to be called at a forbidden address in any notation', async () => {
    const spellings = (ip: string): string[] => {
      const [a = 0, b = 0, c = 0, d = 0] = ip.split('.').map(Number);
      const value = a * 2 ** 24 + b * 2 ** 16 + c * 256 + d;
      return [
        ip,
        String(value),
        `0x${value.toString(16)}`,
        `0${value.toString(8)}`,
        `${a}.${b * 65536 + c * 256 + d}`,
        `0x${a.toString(16)}.0${b.toString(8)}.${c * 256 + d}`,
        `${ip}.`,
        `[::ffff:${ip}]`,
      ];
    };
    await fc.assert(
      fc.asyncProperty(anyV4, fc.nat(7), async (ip, index) => {
        const text = `https://${spellings(ip)[index]}/hook`;
        const forbidden = oracle.check(ip, 'ipv4') || index === 7;
        expect(checkUrl(text, strict).ok).toBe(!forbidden);
        expect((await resolveTarget(new URL(text), { lookup: noLookup, allowNets: [] })).ok).toBe(!forbidden);
      }),
    );
  });

  test('allows an opened net to override every refusal inside it and none outside', () => {
    fc.assert(
      fc.property(anyV4, fc.integer({ min: 0, max: 32 }), anyV4, (net, bits, ip) => {
        const own = new BlockList();
        own.addSubnet(net, bits, 'ipv4');
        expect(isAllowedAddress(ip, parseNets(`${net}/${bits}`))).toBe(
          own.check(ip, 'ipv4') || !oracle.check(ip, 'ipv4'),
        );
      }),
    );
  });
});

describe('checkUrl', () => {
  test.each([
    ['https://hooks.example.com/a?b=c', strict],
    ['https://hooks.example.com:8443/', strict],
    ['https://hooks.example.com:80/', strict],
    ['http://hooks.example.com/', open],
    ['https://8.8.8.8/', strict],
    ['https://localhost.example.com/', strict],
    ['https://mylocal/', { allowHttp: false, allowNets: loopback }],
    ['https://[2606:4700::1]/', strict],
    ['http://127.0.0.1:25/', { allowHttp: true, allowNets: loopback }],
    ['http://[::ffff:127.0.0.1]:25/', { allowHttp: true, allowNets: loopback }],
  ])('%s is accepted', (text, options) => {
    expect(checkUrl(text, options)).toEqual({ ok: true, url: new URL(text) });
  });

  test.each([
    ['', 'invalid_url'],
    ['hooks.example.com', 'invalid_url'],
    ['https://', 'invalid_url'],
    ['https://exa mple.com/', 'invalid_url'],
    ['https://1.2.3.4.5/', 'invalid_url'],
    ['https://256.256.256.256/', 'invalid_url'],
    ['https://[fe80::1%25eth0]/', 'invalid_url'],
    ['ftp://hooks.example.com/', 'scheme_not_allowed'],
    ['file:///etc/passwd', 'scheme_not_allowed'],
    ['javascript:alert(1)', 'scheme_not_allowed'],
    ['https://user@hooks.example.com/', 'credentials_in_url'],
    ['https://:pass@hooks.example.com/', 'credentials_in_url'],
    ['https://hooks.example.com:22/', 'port_not_allowed'],
    ['https://hooks.example.com:25/', 'port_not_allowed'],
    ['https://hooks.example.com:0/', 'port_not_allowed'],
    ['https://hooks.example.com:1023/', 'port_not_allowed'],
    ['https://8.8.8.8:53/', 'port_not_allowed'],
    ['http://hooks.example.com/', 'https_required'],
    ['https://169.254.169.254/latest/meta-data', 'blocked_address'],
    ['https://localhost/', 'local_name'],
    ['https://LOCALHOST./', 'local_name'],
    ['https://intern/', 'local_name'],
    ['https://router.home.arpa/', 'local_name'],
    ['https://metadata.google.internal/', 'local_name'],
  ])('%s is rejected: %s', (text, reason) => {
    expect(checkUrl(text, strict)).toEqual({ ok: false, reason });
  });

  test.each([
    '127.0.0.1',
    '127.1',
    '127.0.1',
    '2130706433',
    '0x7f000001',
    '0x7f.0.0.1',
    '0x7F.1',
    '017700000001',
    '0177.0.0.1',
    '0177.0x0.01',
    '127.0.0.1.',
    '0',
    '0x0',
    '%31%32%37.0.0.1',
    '１２７．０．０．１',
    '①②⑦.⓪.⓪.①',
    '127。0。0。1',
    '[::1]',
    '[::]',
    '[0:0:0:0:0:0:0:1]',
    '[::ffff:127.0.0.1]',
    '[::ffff:7f00:1]',
    '[::127.0.0.1]',
    '[64:ff9b::7f00:1]',
    '[2002:7f00:1::]',
    '[fe80::5efe:7f00:1]',
    '[fd00:ec2::254]',
  ])('loopback and similar addresses are rejected in this notation: %s', (host) => {
    expect(checkUrl(`https://${host}/`, strict)).toEqual({ ok: false, reason: 'blocked_address' });
  });
});

describe('resolveTarget', () => {
  const answering = (...addresses: string[]): Lookup & { asked: string[] } => {
    const hostnames: string[] = [];
    const lookup = async (hostname: string) => {
      hostnames.push(hostname);
      return addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }));
    };
    return Object.assign(lookup, { asked: hostnames });
  };
  const url = new URL('https://Hooks.Example.com/');

  test('a name is looked up once and returns all of its addresses', async () => {
    const lookup = answering('8.8.8.8', '2606:4700::1');
    expect(await resolveTarget(url, { lookup, allowNets: [] })).toEqual({
      ok: true,
      addresses: [
        { address: '8.8.8.8', family: 4 },
        { address: '2606:4700::1', family: 6 },
      ],
    });
    expect(lookup.asked).toEqual(['hooks.example.com']);
  });

  test.each([
    ['first', ['10.0.0.1', '8.8.8.8']],
    ['last', ['8.8.8.8', '1.1.1.1', '::1']],
    ['mapped', ['8.8.8.8', '::ffff:10.0.0.1']],
    ['not an address', ['8.8.8.8', 'localhost']],
  ])('one forbidden answer among allowed ones blocks the name (%s) and is not revealed', async (_where, addresses) => {
    expect(await resolveTarget(url, { lookup: answering(...addresses), allowNets: [] })).toEqual({
      ok: false,
      reason: 'blocked_address',
    });
  });

  test('an address needs no lookup', async () => {
    expect(await resolveTarget(new URL('https://[2606:4700::1]/'), { lookup: noLookup, allowNets: [] })).toEqual({
      ok: true,
      addresses: [{ address: '2606:4700::1', family: 6 }],
    });
    expect(await resolveTarget(new URL('https://0x7f.1/'), { lookup: noLookup, allowNets: [] })).toEqual({
      ok: false,
      reason: 'blocked_address',
    });
  });

  test('a name without addresses or a failing resolver is a DNS error', async () => {
    expect(await resolveTarget(url, { lookup: answering(), allowNets: [] })).toMatchObject({
      ok: false,
      reason: 'dns_error',
    });
    const failing: Lookup = async () => {
      throw Object.assign(new Error('getaddrinfo ENOTFOUND'), { code: 'ENOTFOUND' });
    };
    expect(await resolveTarget(url, { lookup: failing, allowNets: [] })).toEqual({
      ok: false,
      reason: 'dns_error',
      message: 'the host name could not be resolved (ENOTFOUND)',
      unanswered: false,
    });
  });

  test('a name inside an opened net is allowed', async () => {
    expect((await resolveTarget(url, { lookup: answering('127.0.0.1', '::1'), allowNets: loopback })).ok).toBe(true);
  });
});
