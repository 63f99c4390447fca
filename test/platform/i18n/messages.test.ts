import { expect, test } from 'vitest';
import { html } from '../../../src/platform/http/html.ts';
import { languages } from '../../../src/platform/i18n/languages.ts';
import { t, tHtml } from '../../../src/platform/i18n/messages.ts';
import { asReader, inLanguage, pseudoLocale } from '../../../src/platform/i18n/reader.ts';

test('a message is in the language of its reader, else in English', () => {
  expect(t('endUser.wallet.title')).toBe('Saved offers');
  expect(inLanguage('de', () => t('endUser.wallet.title'))).toBe('Gemerkte Angebote');
  expect(inLanguage('fr', () => t('endUser.wallet.title'))).toBe('Offres enregistrées');
  expect(inLanguage('fr', () => t('account.password'))).toBe('Password');
});

test.each([
  [0, '0 saved offers', '0 gemerkte Angebote', 'العروض المحفوظة: 0'],
  [1, '1 saved offer', '1 gemerktes Angebot', 'عرض محفوظ واحد'],
  [1200, '1200 saved offers', '1200 gemerkte Angebote', 'العروض المحفوظة: 1200'],
])('%i saved offers are counted in words of the language', (count, ...texts) => {
  const messages = (['en', 'de', 'ar'] as const).map((language) =>
    inLanguage(language, () => t('endUser.wallet.count', { count })),
  );
  expect(messages).toEqual(texts);
});

const textsIn = (tree: object): string[] =>
  Object.values(tree).flatMap((part) => (typeof part === 'string' ? [part] : textsIn(part)));

test('German speaks to all of its readers formally, and has one word for a theme', () => {
  const texts = textsIn(languages.de.texts);
  expect(texts.length).toBeGreaterThan(2000);
  expect(texts.filter((text) => /\b(du|dir|dich|deine?[mnrs]?)\b|\bThemes?\b/i.test(text))).toEqual([]);
});

test('German names each term of the trade by one word', () => {
  const { endUser: _, ...pages } = languages.de.texts;
  const others =
    /Impressionen|Einblendung|Ziel-?seite|Trichter|\bVerkehrs?\b|Kopfzeile|Befehlszeile|Buttons?\b|\bAdmins?\b/;
  expect(textsIn(languages.de.texts).filter((text) => others.test(text))).toEqual([]);
  expect(textsIn(pages).filter((text) => /Vorteil|Merkliste/.test(text))).toEqual([]);
});

test('a placeholder takes any value as it is, and one without a value is an error', () => {
  const publisher = '$& {count} <b>';
  expect(t('endUser.privacy.choicePerks', { publisher })).toBe(`Perks you choose are sent to ${publisher} only.`);
  expect(() => t('endUser.privacy.choicePerks', {})).toThrow('publisher');
});

test('markup is escaped, unless it is given as markup', () => {
  const saved = (date: Parameters<typeof tHtml>[1]) => tHtml('endUser.wallet.savedOn', date).markup;
  expect(saved({ date: html`<time>today</time>` })).toBe('Saved on <time>today</time>');
  expect(saved({ date: '<b>' })).toBe('Saved on &lt;b&gt;');
});

test('the pseudo-locale marks every message', () => {
  const pseudo = { language: 'en', locale: pseudoLocale } as const;
  expect(asReader(pseudo, () => t('endUser.wallet.title'))).toBe('⟦Saved offers⟧');
  expect(asReader(pseudo, () => tHtml('endUser.wallet.title').markup)).toBe('⟦Saved offers⟧');
});
