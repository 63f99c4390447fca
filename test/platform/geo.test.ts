import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { GeoError, loadGeo, nowhere } from '../../src/platform/geo.ts';
import { createLogger } from '../../src/platform/logger.ts';
import { buildMmdb } from '../support/mmdb.ts';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'perkwire-geo-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

function listening(): { logger: ReturnType<typeof createLogger>; warnings: string[] } {
  const warnings: string[] = [];
  const logger = createLogger('silent');
  logger.warn = ((_object: object, message: string) => void warnings.push(message)) as typeof logger.warn;
  return { logger, warnings };
}

async function stored(name: string, bytes: Buffer | string): Promise<string> {
  const path = join(folder, name);
  await writeFile(path, bytes);
  return path;
}

const cities = () =>
  buildMmdb('GeoLite2-City', [
    {
      net: '198.41.0.0/16',
      record: {
        country: { iso_code: 'US' },
        subdivisions: [{ iso_code: 'CA' }],
        city: { names: { en: 'Los Angeles' } },
        postal: { code: '90001' },
        location: { time_zone: 'America/Los_Angeles' },
      },
    },
    { net: '198.42.0.0/16', record: { country: { iso_code: 'SE' } } },
    { net: '198.43.0.0/16', record: { continent: { code: 'EU' } } },
  ]);

describe('the bundled database', () => {
  test('finds the country of public addresses in both families and in mapped form', async () => {
    const geo = await loadGeo(null, createLogger('silent'));
    for (const address of ['8.8.8.8', '::ffff:8.8.8.8', '2001:4860:4860::8888'])
      expect(geo(address).country).toBe('US');
    expect(geo('8.8.8.8')).toEqual({ ...nowhere, country: 'US' });
  });

  test('has no country for private, reserved and invalid addresses', async () => {
    const geo = await loadGeo(null, createLogger('silent'));
    const odd = [
      '127.0.0.1',
      '10.1.2.3',
      '192.168.0.1',
      '100.64.0.1',
      '169.254.1.1',
      '203.0.113.7',
      '0.0.0.0',
      '255.255.255.255',
      '::1',
    ]
      .concat([
        'fe80::1%eth0',
        'fc00::1',
        '::',
        '',
        'auto',
        'garbage',
        '999.1.1.1',
        '08.8.8.8',
        '8.8.8',
        '134744072',
        '0x8080808',
      ])
      .concat([' 8.8.8.8', '8.8.8.8\n', '1'.repeat(5000), '\ud800']);
    expect(odd.filter((address) => geo(address) !== nowhere)).toEqual([]);
  });
});

describe('a city database', () => {
  test('adds region, city, postal code and time zone', async () => {
    const geo = await loadGeo(await stored('city.mmdb', cities()), createLogger('silent'));
    expect(geo('198.41.7.7')).toEqual({
      country: 'US',
      region: 'US-CA',
      city: 'Los Angeles',
      postalCode: '90001',
      timeZone: 'America/Los_Angeles',
    });
    expect(geo('198.42.7.7')).toEqual({ ...nowhere, country: 'SE' });
    expect(geo('198.43.7.7')).toEqual(nowhere);
    expect(geo('198.44.7.7')).toEqual(nowhere);
    expect(geo('2001:4860:4860::8888')).toEqual(nowhere);
  });
});

describe('a file that is', () => {
  test('missing is logged once, and no address has a country', async () => {
    const { logger, warnings } = listening();
    const geo = await loadGeo(join(folder, 'absent.mmdb'), logger);
    expect([geo('8.8.8.8'), geo('1.1.1.1')]).toEqual([nowhere, nowhere]);
    expect(warnings).toEqual(['GeoIP database missing; countries are not detected']);
  });

  test('corrupt prevents the start and is named in the error', async () => {
    const whole = cities();
    const bundled = await readFile(
      createRequire(import.meta.url).resolve('@ip-location-db/geo-whois-asn-country-mmdb/geo-whois-asn-country.mmdb'),
    );
    const broken: [string, Buffer][] = [
      ['empty.mmdb', Buffer.alloc(0)],
      ['text.mmdb', Buffer.from('not a database')],
      ['half.mmdb', whole.subarray(0, whole.length / 2)],
      ['tail.mmdb', bundled.subarray(bundled.length - 400)],
      ['other.mmdb', buildMmdb('GeoLite2-ASN', [{ net: '198.41.0.0/16', record: { asn: 1 } }])],
    ];
    for (const [name, bytes] of broken) {
      const path = await stored(name, bytes);
      const failure = await loadGeo(path, createLogger('silent')).catch((err: unknown) => err);
      expect(failure, name).toBeInstanceOf(GeoError);
      expect((failure as GeoError).message).toContain(path);
    }
    await expect(loadGeo(folder, createLogger('silent'))).rejects.toThrow(GeoError);
  });
});
