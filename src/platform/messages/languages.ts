import { ar } from './ar.ts';
import { de } from './de.ts';
import { en, type Messages } from './en.ts';
import { es } from './es.ts';
import { fr } from './fr.ts';
import { ja } from './ja.ts';
import { pt } from './pt.ts';

export type { Messages } from './en.ts';

/** All words of unit, offerwall, wallet and privacy page, by language: one file each. */
export const languages = { en, de, fr, es, pt, ja, ar } satisfies Record<string, Messages>;

export type Language = keyof typeof languages;

export const directionOf = (language: Language): 'ltr' | 'rtl' => (language === 'ar' ? 'rtl' : 'ltr');

/** The language of a BCP 47 tag, such as `pt-BR`, if its words are here. */
export function languageOf(tag: unknown): Language | null {
  const name = typeof tag === 'string' ? tag.trim().toLowerCase().split(/[-_]/)[0] : undefined;
  return name !== undefined && Object.hasOwn(languages, name) ? (name as Language) : null;
}

/** The tags of an `Accept-Language` header, the preferred one first. */
export const acceptedTags = (acceptLanguage: string | undefined): string[] =>
  (acceptLanguage ?? '')
    .split(',', 20)
    .map((part) => {
      const [tag = '', ...parameters] = part.split(';');
      const quality = parameters.map((one) => /^\s*q\s*=\s*([\d.]+)\s*$/i.exec(one)?.[1]).find(Boolean);
      return { tag, quality: quality === undefined ? 1 : Number(quality) };
    })
    .filter(({ quality }) => quality > 0)
    .sort((a, b) => b.quality - a.quality)
    .map(({ tag }) => tag.trim());

/** The language of a hosted page: as its URL says (`language` or `lang`), else by `Accept-Language`, else English. */
export function requestLanguage(query: unknown, acceptLanguage: string | undefined): Language {
  const { language, lang } = (query ?? {}) as Record<string, unknown>;
  const found = [language, lang, ...acceptedTags(acceptLanguage)].map(languageOf).find((one) => one !== null);
  return found ?? 'en';
}

/** A message with its placeholders filled. */
export const fillMessage = (text: string, values: Readonly<Record<string, string | number>>): string =>
  text.replace(/\{(\w+)\}/g, (all, name: string) => String(values[name] ?? all));
