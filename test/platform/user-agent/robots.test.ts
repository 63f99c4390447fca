import { expect, test } from 'vitest';
import { createRobotCheck } from '../../../src/platform/user-agent/robots.ts';

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
  'meta-externalfetcher/1.1',
  'Uptime-Kuma/1.23.11',
  'Prometheus/2.51.0',
  'ApacheBench/2.3',
  'Node.js',
  'kube-probe/1.29',
  'Mozilla/5.0 (Linux; Android 6.0.1; Nexus 5X Build/MMB29P) AppleWebKit/537.36 (KHTML, like Gecko) ' +
    'Chrome/131.0.0.0 Mobile Safari/537.36 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)',
  'Mozilla/5.0 (iPhone; CPU iPhone OS 17_2 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) ' +
    'Version/17.2 Mobile/15E148 Safari/604.1 (compatible; bingbot/2.0; +http://www.bing.com/bingbot.htm)',
];

test.each(bots)('%s is a bot', (userAgent) => {
  expect(createRobotCheck()(userAgent)).toBe(true);
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
  'Volley/0',
];

test.each(people)('%s is an app or a browser, so what it displays counts', (userAgent) => {
  expect(createRobotCheck()(userAgent)).toBe(false);
});

const phone = (product: string, model = 'Pixel 8'): string =>
  `Mozilla/5.0 (Linux; Android 14; ${model}) AppleWebKit/537.36 (KHTML, like Gecko) ` +
  `Chrome/131.0.0.0 Mobile Safari/537.36${product}`;

const robotWordsOnDevices = [
  phone('', 'CUBOT_P50'),
  phone('', 'X bot 5'),
  phone('', 'Discovery Pro'),
  phone('', 'ECHO JAVA'),
  phone('', 'Capture+'),
  phone(' DailyNews/5.2'),
  phone(' PriceCheck/2.0'),
  phone(' ScanAndGo/4.1'),
  phone(' shop.example.com/7.3'),
  phone(' MicroMessenger/8.0.50 Process/tools NetType/WIFI Language/en'),
  phone(' SogouMSE,SogouMobileBrowser/5.28'),
  phone(' [FB_IAB/FB4A;FBAV/480.0.0.54.88;]'),
  phone(' Instagram 320.0.0.42.101 Android'),
  'Mozilla/5.0 (iPhone; CPU iPhone OS 17_2 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Mobile/15E148 ' +
    'RadarNews/12.0',
  'MorningNews/6.0.3 iPad14,6 iPadOS/17.5.1 CFNetwork/1.0 Darwin/23.5.0',
  'Mozilla/5.0 (Linux; GoogleTV 3.2; Player Build/MASTER) AppleWebKit/534.24 (KHTML, like Gecko) ' +
    'Chrome/11.0.696.77 Safari/534.24',
  'Opera/9.80 NETTV/4.5.0 Mozilla/5.0 (Linux armv7i; CE-HTML/1.0; U; en) Tbrowser/2.0 (Maker,TV43,wireless)',
  'Mozilla/4.0 (compatible; MSIE 8.0; Windows NT 6.1; Trident/4.0; SuperDownload 691; .NET CLR 3.5.30729)',
  'SonyExample10/R1x Browser/NetFront/3.5 Profile/MIDP-2.1 Configuration/CLDC-1.1 JavaPlatform/JP-8.5',
  'WhatsApp/2.24.6 Android/14 Device/Maker-Model',
];

test.each(robotWordsOnDevices)('%s is a person, despite a bot keyword in the name of a device or app', (userAgent) => {
  expect(createRobotCheck()(userAgent)).toBe(false);
});

test('a missing or empty user agent is not a bot', () => {
  const isBot = createRobotCheck();
  expect([isBot(undefined), isBot('')]).toEqual([false, false]);
});

test('the classification of a user agent is stable and uses only its first 512 characters', () => {
  const isBot = createRobotCheck();
  expect([isBot('Googlebot/2.1'), isBot('Googlebot/2.1'), isBot('Shop/3.2'), isBot('Shop/3.2')]).toEqual([
    true,
    true,
    false,
    false,
  ]);
  expect(isBot(`Googlebot/2.1 ${'x'.repeat(1000)}`)).toBe(true);
  expect(isBot(`Shop/3.2 ${'x'.repeat(1000)} Googlebot/2.1`)).toBe(false);
});
