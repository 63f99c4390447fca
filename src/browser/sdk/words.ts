import { defaultAnswers } from './answer.ts';
import { flatMap, timeLimit } from './compat.ts';
import { tryCall } from './try-call.ts';
import type { AdConfig, Defaults, Labels, OffersResponse } from './types.ts';

type Texts = { [key: string]: string | Texts };

/** Messages in one language (src/platform/i18n): the labels, and replacements for the English defaults. */
export type Words = {
  language: string;
  unit: { labels?: Labels; settings?: Texts; styles?: Texts; offer?: Texts };
};

/** Available languages, inserted at build time (scripts/build-sdk.ts). */
declare const LANGUAGES: readonly string[];

/** Timeout for loading the messages in a language, in milliseconds. */
const timeoutMs = 1500;

/** English messages. No replacements are needed, because the defaults are English. */
const english: Words = { language: 'en', unit: {} };
const loading: Record<string, Promise<Words>> = { en: Promise.resolve(english) };

/**
 * Returns the preferred languages of the page and the browser, most preferred first. Each has the script in which it is
 * usually written.
 */
const wantedLanguages = ({ language }: AdConfig): Locale[] =>
  flatMap([language, document.documentElement.lang, ...navigator.languages], (tag) => {
    const locale = tag && readLocale(`${tag}`.replace(/_/g, '-'));
    return locale ? [locale] : [];
  });

type Locale = { language: string; script?: string | undefined };

/**
 * Parses a locale. If Intl.Locale is missing (before iOS 14 and Chromium 74), uses the script in the tag, or else the
 * default script of its language.
 */
function readLocale(tag: string): Locale | undefined {
  if (typeof Intl.Locale === 'function') return tryCall(() => new Intl.Locale(tag).maximize());
  const [, language = '', script] = /^([a-z]{2,3})(?:-([a-z]{4}))?(?:-|$)/i.exec(tag) ?? [];
  const usual = /^(ar|fa|ur|ps|sd|ug|ckb)$/i.test(language) ? 'Arab' : /^(he|iw|yi)$/i.test(language) ? 'Hebr' : 'Latn';
  return language === '' ? undefined : { language: language.toLowerCase(), script: script ?? usual };
}

/** Returns whether the preferred language is written from right to left, even if it has no messages. */
export const wantsRightToLeft = (config: AdConfig): boolean =>
  /Adlm|Ara[bn]|Hebr|Mand|Nkoo|Rohg|Samr|Syrc|Thaa|Yezi/.test(`${wantedLanguages(config)[0]?.script}`);

/** Returns the first available language from `AdConfig.language`, the page and the browser. Defaults to English. */
const languageOf = (config: AdConfig): string =>
  flatMap(wantedLanguages(config), ({ language, script }) => [language, `${language}-${script}`]).find((name) =>
    LANGUAGES.includes(name),
  ) ?? 'en';

/** Loads the messages in the page's language. Falls back to English if they can't be loaded. */
export function loadWords(config: AdConfig, base: string): Promise<Words> {
  const language = languageOf(config);
  loading[language] ??= fetch(`${base}/sdk/messages.${language}.json`, timeLimit(timeoutMs))
    .then((response) => (response.ok ? (response.json() as Promise<Words>) : english))
    .catch(() => english);
  return loading[language];
}

/** Translates the default labels in a response. Labels defined by the theme, the page or an offer stay unchanged. */
export const translateAnswer = (answer: OffersResponse, { unit }: Words, defaults: Defaults): OffersResponse => ({
  ...answer,
  settings: translated(answer.settings, defaults.settings, unit.settings),
  styles: translated(answer.styles, defaults.styles, unit.styles),
  offers: answer.offers.map((offer) => translated(offer, defaultAnswers, unit.offer)),
});

/** Translates each string in `texts` that equals the English default. */
function translated<Given extends object>(texts: Given, from: object, to: Texts = {}): Given {
  const result = { ...texts } as Record<string, unknown>;
  for (const [key, text] of Object.entries(to)) {
    const [value, english] = [result[key], (from as Record<string, unknown>)[key]];
    if (typeof text === 'object') result[key] = translated(value as object, english as object, text);
    else if (value === english) result[key] = text;
  }
  return result as Given;
}
