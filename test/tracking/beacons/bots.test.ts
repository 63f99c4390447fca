import { expect, test } from 'vitest';
import { createBotCheck } from '../../../src/tracking/verify-token.ts';

const bots = [
  'Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)',
  'Googlebot/2.1',
  'AdsBot-Google (+http://www.google.com/adsbot.html)',
  'facebookexternalhit/1.1 (+http://www.facebook.com/externalhit_uatext.php)',
  'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) HeadlessChrome/120.0.0.0 Safari/537.36',
  'SomeCrawler/1.0',
  'my-spider',
  'Something/1.0 (+http://about.example)',
  'bot/1.0 okhttp/4.12.0',
  'curl/8.5.0',
  'Wget/1.21',
  'python-requests/2.31.0',
  'Go-http-client/1.1',
  'PostmanRuntime/7.36',
];

test.each(bots)('%s is a bot', (userAgent) => {
  expect(createBotCheck()(userAgent)).toBe(true);
});

const people = [
  'Mozilla/5.0 (iPhone; CPU iPhone OS 17_2 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) ' +
    'Version/17.2 Mobile/15E148 Safari/604.1',
  'Mozilla/5.0 (Linux; Android 14; Pixel 8; wv) AppleWebKit/537.36 (KHTML, like Gecko) ' +
    'Version/4.0 Chrome/120.0.0.0 Mobile Safari/537.36',
  'okhttp/4.12.0',
  'Shop/3.2 okhttp/4.12.0',
  'Shop/3.2',
  'com.example.shop/3.2 (Linux; U; Android 14)',
  'Shop/42 CFNetwork/1490.0.4 Darwin/23.2.0',
  'Dart/3.1 (dart:io)',
  'Dalvik/2.1.0 (Linux; U; Android 14; Pixel 8 Build/UD1A)',
  'Alamofire/5.8',
  'ktor-client',
  'axios/1.6.2',
  'node',
  'undici',
];

test.each(people)('%s is an app or a browser: what it displays counts', (userAgent) => {
  expect(createBotCheck()(userAgent)).toBe(false);
});

test('a missing or empty user agent is not a bot', () => {
  const isBot = createBotCheck();
  expect([isBot(undefined), isBot('')]).toEqual([false, false]);
});

test('the classification of a user agent is stable, and ignores all after its first 512 characters', () => {
  const isBot = createBotCheck();
  expect([isBot('Googlebot/2.1'), isBot('Googlebot/2.1'), isBot('Shop/3.2'), isBot('Shop/3.2')]).toEqual([
    true,
    true,
    false,
    false,
  ]);
  expect(isBot(`Googlebot/2.1 ${'x'.repeat(1000)}`)).toBe(true);
  expect(isBot(`Shop/3.2 ${'x'.repeat(1000)} Googlebot/2.1`)).toBe(false);
});
