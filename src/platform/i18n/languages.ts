import { chainOf, tagOfLocale } from '../lib/language-tags.ts';
import { ar } from './ar.ts';
import { de } from './de.ts';
import { type EndUserMessages, en, type Messages } from './en.ts';
import { es } from './es.ts';
import { fr } from './fr.ts';
import { he } from './he.ts';
import { it } from './it.ts';
import { ja } from './ja.ts';
import { ko } from './ko.ts';
import { nl } from './nl.ts';
import { pl } from './pl.ts';
import { pt } from './pt.ts';
import { tr } from './tr.ts';
import { zhHans } from './zh-Hans.ts';
import { zhHant } from './zh-Hant.ts';

/**
 * Rules of a language. `locale` is the BCP 47 tag for dates and numbers of readers who accept no region of the
 * language.
 */
type LanguageRules<Texts> = { texts: Texts; locale: string; direction: 'ltr' | 'rtl' };

/** Languages of the dashboard and its e-mails, whose files have every message. */
const complete = {
  en: { texts: en, locale: 'en-GB', direction: 'ltr' },
  de: { texts: de, locale: 'de-DE', direction: 'ltr' },
} as const satisfies Record<string, LanguageRules<Messages>>;

/** All languages. Incomplete languages have only the messages for end users. */
export const languages = {
  ...complete,
  fr: { texts: fr, locale: 'fr', direction: 'ltr' },
  es: { texts: es, locale: 'es', direction: 'ltr' },
  pt: { texts: pt, locale: 'pt', direction: 'ltr' },
  it: { texts: it, locale: 'it', direction: 'ltr' },
  nl: { texts: nl, locale: 'nl', direction: 'ltr' },
  pl: { texts: pl, locale: 'pl', direction: 'ltr' },
  tr: { texts: tr, locale: 'tr', direction: 'ltr' },
  ja: { texts: ja, locale: 'ja', direction: 'ltr' },
  ko: { texts: ko, locale: 'ko', direction: 'ltr' },
  'zh-Hans': { texts: zhHans, locale: 'zh-Hans', direction: 'ltr' },
  'zh-Hant': { texts: zhHant, locale: 'zh-Hant', direction: 'ltr' },
  ar: { texts: ar, locale: 'ar', direction: 'rtl' },
  he: { texts: he, locale: 'he', direction: 'rtl' },
} as const satisfies Record<string, LanguageRules<EndUserMessages>>;

export type Language = keyof typeof languages;
export type ReaderLanguage = keyof typeof complete;

export const readerLanguages = Object.keys(complete) as ReaderLanguage[];

export const isReaderLanguage = (name: unknown): name is ReaderLanguage =>
  typeof name === 'string' && Object.hasOwn(complete, name);

const byLowerCase: ReadonlyMap<string, Language> = new Map(
  (Object.keys(languages) as Language[]).map((name) => [name.toLowerCase(), name]),
);

/** Returns the supported language of a BCP 47 tag, such as `pt-BR` or `pt_BR`, or null. */
export function languageOf(tag: unknown): Language | null {
  const canonical = typeof tag === 'string' ? tagOfLocale(tag) : null;
  return canonical === null ? null : unitLanguageOf(chainOf(canonical));
}

/** Returns the first of these tags (in lower case) that has messages. */
export function unitLanguageOf(chain: readonly string[]): Language | null {
  for (const tag of chain) {
    const language = byLowerCase.get(tag);
    if (language !== undefined) return language;
  }
  return null;
}

/** Tags of an `Accept-Language` header, the preferred one first. */
export const acceptedTags = (acceptLanguage: string | undefined): string[] =>
  (acceptLanguage ?? '')
    .split(',', 20)
    .map((part) => {
      const [tag = '', ...parameters] = part.split(';');
      const quality = parameters.map((parameter) => /^\s*q\s*=\s*([\d.]+)\s*$/i.exec(parameter)?.[1]).find(Boolean);
      return { tag, quality: quality === undefined ? 1 : Number(quality) };
    })
    .filter(({ quality }) => quality > 0)
    .sort((a, b) => b.quality - a.quality)
    .map(({ tag }) => tag.trim());
