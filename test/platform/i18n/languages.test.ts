import { readFileSync } from 'node:fs';
import { defaultSettings, defaultStyles } from '@perkwire/client';
import { describe, expect, test } from 'vitest';
import { languageOf, languages } from '../../../src/platform/i18n/languages.ts';
import { requestLanguage } from '../../../src/platform/i18n/reader.ts';
import { canonicalTag, directionOf } from '../../../src/platform/lib/language-tags.ts';

/** Every text by its path, such as `unit.labels.close`. */
function textsOf(value: object, prefix = ''): Map<string, string> {
  const texts = new Map<string, string>();
  for (const [key, part] of Object.entries(value)) {
    if (typeof part === 'string') texts.set(prefix + key, part);
    else for (const [path, text] of textsOf(part, `${prefix}${key}.`)) texts.set(path, text);
  }
  return texts;
}

const hosted = Object.entries(languages).map(([language, { texts }]) => [language, texts.endUser] as const);
const others = hosted.filter(([language]) => language !== 'en');
const english = textsOf(languages.en.texts.endUser);

describe('the languages', () => {
  test('are those that the guide lists, each with its canonical tag', () => {
    const names = new Intl.DisplayNames('en', { type: 'language' });
    const listed = Object.keys(languages).map((tag) => (tag.startsWith('zh') ? 'Chinese' : names.of(tag)) as string);
    const guide = readFileSync(new URL('../../../docs/guides/web.md', import.meta.url), 'utf8');
    const [, sentence = ''] = /own text is available in ([^.]+)\./.exec(guide) ?? [];
    expect(listed.length).toBe(15);
    expect(listed.filter((name) => !sentence.includes(name))).toEqual([]);
    expect(Object.keys(languages).map(canonicalTag)).toEqual(Object.keys(languages));
  });

  test('have the text direction of their script', () => {
    for (const [tag, { direction }] of Object.entries(languages)) expect(direction, tag).toBe(directionOf(tag));
  });

  test.each(others)('%s has exactly the texts of English, and none are empty', (_language, words) => {
    const texts = textsOf(words);
    expect([...texts.keys()].sort()).toEqual([...english.keys()].sort());
    expect([...texts].filter(([, text]) => text.trim() === '')).toEqual([]);
  });

  test.each(others)('%s is translated, so that long texts differ from English', (_language, words) => {
    const same = [...textsOf(words)].filter(([path, text]) => text.length > 12 && text === english.get(path));
    expect(same).toEqual([]);
  });

  test.each(hosted)('button labels in %s are short enough for a narrow card', (_language, { unit }) => {
    const buttons = [
      unit.labels.done,
      unit.labels.close,
      ...Object.values(unit.settings),
      ...Object.values(unit.offer),
    ];
    expect(buttons.filter((text) => text.length > 25)).toEqual([]);
  });
});

test("default settings and styles are in English, so that a theme's own text can be recognised", () => {
  const { settings, styles } = languages.en.texts.endUser.unit;
  expect(defaultSettings).toMatchObject(settings);
  expect(defaultStyles).toMatchObject(styles);
});

describe('the language of a hosted page', () => {
  test.each([
    [{ language: 'de' }, 'fr', 'de'],
    [{ lang: 'pt-BR' }, 'fr', 'pt'],
    [{ language: 'xx' }, 'fr-CA,fr;q=0.9,en;q=0.8', 'fr'],
    [{ language: ['de', 'fr'] }, 'ja', 'ja'],
    [{}, 'sv, es;q=0.5, ar;q=0.7', 'ar'],
    [{}, 'zh-TW', 'zh-Hant'],
    [{}, 'zh', 'zh-Hans'],
    [{ language: 'zh_hant_HK' }, undefined, 'zh-Hant'],
    [{ lang: 'iw' }, undefined, 'he'],
    [{}, 'de;q=0, en', 'en'],
    [{}, 'sv', 'en'],
    [{}, undefined, 'en'],
    [{ language: '__proto__' }, 'constructor', 'en'],
  ] as const)('%j with Accept-Language %s is in %s', (query, accepted, expected) => {
    expect(requestLanguage(query, accepted)).toBe(expected);
  });

  test('is recognised by any spelling of its tag', () => {
    expect(['DE', 'de-AT', 'de_CH', ' de '].map(languageOf)).toEqual(Array(4).fill('de'));
    expect(['den', '', null, 7, undefined].map(languageOf)).toEqual(Array(5).fill(null));
  });
});
