import { expect, test } from 'vitest';
import { html } from '../../../src/platform/http/html.ts';
import { languages } from '../../../src/platform/i18n/languages.ts';
import { t, tHtml } from '../../../src/platform/i18n/messages.ts';
import { asReader, inLanguage, pseudoLocale } from '../../../src/platform/i18n/reader.ts';

test("uses the reader's language, or else English", () => {
  expect(t('endUser.wallet.title')).toBe('Saved offers');
  expect(inLanguage('de', () => t('endUser.wallet.title'))).toBe('Gemerkte Angebote');
  expect(inLanguage('fr', () => t('endUser.wallet.title'))).toBe('Offres enregistrées');
  expect(inLanguage('fr', () => t('account.password'))).toBe('Password');
});

test.each([
  [0, '0 saved offers', '0 gemerkte Angebote', 'العروض المحفوظة: 0'],
  [1, '1 saved offer', '1 gemerktes Angebot', 'عرض محفوظ واحد'],
  [1200, '1200 saved offers', '1200 gemerkte Angebote', 'العروض المحفوظة: 1200'],
])("counts %i saved offers with the language's plural forms", (count, ...texts) => {
  const messages = (['en', 'de', 'ar'] as const).map((language) =>
    inLanguage(language, () => t('endUser.wallet.count', { count })),
  );
  expect(messages).toEqual(texts);
});

const textsIn = (tree: object): string[] =>
  Object.values(tree).flatMap((part) => (typeof part === 'string' ? [part] : textsIn(part)));

test('addresses German readers formally and uses one German word for theme', () => {
  const texts = textsIn(languages.de.texts).map((text) => text.replaceAll(/\{\w+/g, '{'));
  expect(texts.length).toBeGreaterThan(2000);
  expect(texts.filter((text) => /\b(du|dir|dich|deine?[mnrs]?)\b|\bThemes?\b/i.test(text))).toEqual([]);
});

test('uses one German word for each term', () => {
  const { endUser: _, ...pages } = languages.de.texts;
  const others =
    /Impressionen|Einblendung|Ziel-?seite|Trichter|\bVerkehrs?\b|Kopfzeile|Befehlszeile|Schaltfläche|\bAdmins?\b/;
  expect(textsIn(languages.de.texts).filter((text) => others.test(text))).toEqual([]);
  expect(textsIn(pages).filter((text) => /Vorteil|Merkliste/.test(text))).toEqual([]);
});

test('inserts any placeholder value unchanged and throws if a value is missing', () => {
  const publisher = '$& {count} <b>';
  expect(t('endUser.privacy.choicePerks', { publisher })).toBe(`Your choices are shared only with ${publisher}.`);
  expect(() => t('endUser.privacy.choicePerks', {})).toThrow('publisher');
});

test('escapes values unless they are passed as markup', () => {
  const saved = (date: Parameters<typeof tHtml>[1]) => tHtml('endUser.wallet.savedOn', date).markup;
  expect(saved({ date: html`<time>today</time>` })).toBe('Saved on <time>today</time>');
  expect(saved({ date: '<b>' })).toBe('Saved on &lt;b&gt;');
});

test('marks every message in the pseudo-locale', () => {
  const pseudo = { language: 'en', locale: pseudoLocale } as const;
  expect(asReader(pseudo, () => t('endUser.wallet.title'))).toBe('⟦Saved offers⟧');
  expect(asReader(pseudo, () => tHtml('endUser.wallet.title').markup)).toBe('⟦Saved offers⟧');
});
