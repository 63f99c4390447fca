import { describe, expect, test } from 'vitest';
import { tagOfLocale } from '../../../src/platform/lib/language-tags.ts';

describe('the language is parsed from the locale names of platforms', () => {
  test.each([
    ['de', 'de'],
    ['en_US', 'en-US'],
    ['EN-us', 'en-US'],
    [' pt_BR ', 'pt-BR'],
    ['zh_Hans_CN', 'zh-Hans-CN'],
    ['zh_CN_#Hans', 'zh-Hans-CN'],
    ['zh__#Hant', 'zh-Hant'],
    ['sr_RS_#Latn', 'sr-Latn-RS'],
    ['th_TH_TH_#u-nu-thai', null],
    ['en_US.UTF-8', 'en-US'],
    ['de_DE@euro', 'de-DE'],
    ['sr_RS.UTF-8@latin', 'sr-Latn-RS'],
    ['sr_RS@cyrillic', 'sr-Cyrl-RS'],
    ['de_DE@currency=EUR', 'de-DE'],
    ['en_US_POSIX', 'en-US'],
    ['zh-CHS', 'zh-Hans'],
    ['zh_CHT', 'zh-Hant'],
    ['iw_IL', 'he-IL'],
    ['in', 'id'],
    ['eng', 'en'],
    ['en-001', 'en-001'],
    ['es-419', 'es-419'],
    ['de-DE-u-co-phonebk', 'de-DE'],
    ['en-US-u-ca-gregory-nu-latn-hc-h23-mu-celsius-rg-uszzzz', 'en-US'],
    ['ca_ES@valencia', 'ca-ES'],
  ])('%s: %s', (name, tag) => {
    expect(tagOfLocale(name)).toBe(tag);
  });

  test.each([
    ...['', ' ', 'C', 'C.UTF-8', 'POSIX', 'English', 'german', 'Deutsch', 'root', 'und', 'und-US', 'x-klingon', '5'],
    ...[
      '*',
      'en-',
      '-en',
      'en--US',
      'e',
      'en_US_',
      '../de',
      'de\0',
      '#',
      '@',
      '.',
      '_',
      'en US',
      '🇩🇪',
      'x'.repeat(4_000),
    ],
  ])('%s contains no language', (name) => {
    expect(tagOfLocale(name)).toBeNull();
  });
});
