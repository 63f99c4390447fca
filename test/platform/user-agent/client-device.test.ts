import { expect, test } from 'vitest';
import { createUserAgentReader } from '../../../src/platform/user-agent/client-device.ts';

const read = createUserAgentReader();

test.each([
  [
    'Mozilla/5.0 (iPhone; CPU iPhone OS 18_1 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) ' +
      'Version/18.1 Mobile/15E148 Safari/604.1',
    { device: 'mobile', os: 'ios', browser: 'safari', platform: 'ios' },
  ],
  [
    'Mozilla/5.0 (Linux; Android 14; Pixel 8) AppleWebKit/537.36 (KHTML, like Gecko) ' +
      'Chrome/147.0.0.0 Mobile Safari/537.36',
    { device: 'mobile', os: 'android', browser: 'chrome', platform: 'android' },
  ],
  [
    'Mozilla/5.0 (iPad; CPU OS 17_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) ' +
      'Version/17.0 Mobile/15E148 Safari/604.1',
    { device: 'tablet', os: 'ios', browser: 'safari', platform: 'ios' },
  ],
  [
    'Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:140.0) Gecko/20100101 Firefox/140.0',
    { device: 'desktop', os: 'windows', browser: 'firefox', platform: 'web' },
  ],
  [
    'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/537.36 (KHTML, like Gecko) ' +
      'Chrome/147.0.0.0 Safari/537.36 Edg/147.0.0.0',
    { device: 'desktop', os: 'macos', browser: 'edge', platform: 'web' },
  ],
  [
    'Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)',
    { device: 'bot', os: 'other', browser: 'googlebot', platform: 'web' },
  ],
  ['', { device: 'other', os: 'other', browser: 'other', platform: 'web' }],
  ['AnyShop/1.0 CFNetwork/1408 Darwin/22.5', { device: 'mobile', os: 'ios', browser: 'other', platform: 'ios' }],
  ['okhttp/4.12.0', { device: 'mobile', os: 'android', browser: 'other', platform: 'android' }],
  ['Volley/0', { device: 'mobile', os: 'android', browser: 'other', platform: 'android' }],
  [
    'AnyShop/3.1 (com.example.shop; build:7; iOS 17.2.0) Alamofire/5.8.1',
    { device: 'mobile', os: 'ios', browser: 'other', platform: 'ios' },
  ],
  [
    'AnyShop/1.0 CFNetwork/1408 Darwin/22.5 (x86_64)',
    { device: 'desktop', os: 'macos', browser: 'other', platform: 'web' },
  ],
  [
    'Mozilla/5.0 (Linux; Android 9; AFTKA) AppleWebKit/537.36 (KHTML, like Gecko) ' +
      'Silk/120.1 like Chrome/120 Safari/537.36',
    { device: 'tv', os: 'android', browser: 'amazon_silk', platform: 'android' },
  ],
  [
    'Mozilla/5.0 (Linux; Android 11; Living Room TV Build/RP1A) AppleWebKit/537.36 (KHTML, like Gecko) ' +
      'Chrome/131.0.0.0 Safari/537.36',
    { device: 'tv', os: 'android', browser: 'chrome', platform: 'android' },
  ],
  [
    'Mozilla/5.0 (Linux; Android 11; Pocket TV Build/RP1A) AppleWebKit/537.36 (KHTML, like Gecko) ' +
      'Chrome/131.0.0.0 Mobile Safari/537.36',
    { device: 'mobile', os: 'android', browser: 'chrome', platform: 'android' },
  ],
  ['constructor/1.0 __proto__ toString/2', { device: 'other', os: 'other', browser: 'other', platform: 'web' }],
])('%s', (userAgent, expected) => {
  expect(read(userAgent)).toEqual(expected);
});

test('invented names do not appear in reports', () => {
  for (const browser of ['<b>x</b>', 'Shop\u0000', '\ud800', 'x'.repeat(100_000), '"{},\\']) {
    const { device, os, browser: name } = read(`${browser}/1.0 (Linux; Android ${browser}) Version/9`);
    for (const text of [device, os, name]) expect(text).toMatch(/^[a-z_0-9]{2,30}$/);
  }
});
