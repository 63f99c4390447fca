import { canonicalTag, tagOfLocale } from './language-tags.ts';

/** Part of a language tag that does not exist, and the tag that was probably meant. */
export type UnknownLanguage = { part: string; suggestion: string | null };

type PartType = 'language' | 'script' | 'region';

/** Code for an unknown region, which has a name. */
const unknownRegion = 'ZZ';

const namesByType = new Map<PartType, Intl.DisplayNames>();

/** Returns whether a language, script or region exists. Rare languages with three letters are not checked. */
function exists(type: PartType, code: string): boolean {
  if (type === 'language' && code.length > 2) return true;
  if (type === 'region' && !/^[A-Z]{2}$/.test(code)) return true;
  if (code === unknownRegion) return false;
  const names = namesByType.get(type) ?? new Intl.DisplayNames(['en'], { type, fallback: 'none' });
  namesByType.set(type, names);
  return names.of(code) !== undefined;
}

/**
 * Returns why a text does not identify a language, or null if it does. Names of languages (`german`, `Deutsch`),
 * locales (`en_US`) and country codes (`jp`) lead to a suggestion.
 */
export function findUnknownLanguage(text: string): UnknownLanguage | null {
  const tag = canonicalTag(text.trim());
  if (tag === null) return { part: text.trim(), suggestion: tagOfName(text) ?? tagOfLocale(text) };
  const { language, script, region } = new Intl.Locale(tag);
  if (!exists('language', language)) return { part: language, suggestion: languageOfCountry(language) };
  if (script !== undefined && !exists('script', script)) return { part: script, suggestion: language };
  if (region !== undefined && !exists('region', region)) return { part: region, suggestion: language };
  return null;
}

/** Returns the main language of a country. */
function languageOfCountry(code: string): string | null {
  const country = code.toUpperCase();
  if (!exists('region', country)) return null;
  const { language } = new Intl.Locale(`und-${country}`).maximize();
  return language === 'und' || !exists('language', language) ? null : language;
}

const letters = [...'abcdefghijklmnopqrstuvwxyz'];

/** Languages with two letters by their English, German and own names, in lower case. Created at the first use. */
let tagsByName: ReadonlyMap<string, string> | null = null;

function tagOfName(text: string): string | null {
  tagsByName ??= new Map(
    letters
      .flatMap((first) => letters.map((second) => first + second))
      .filter((code) => exists('language', code))
      .flatMap((code) =>
        ['en', 'de', code].map((locale): [string, string] => [
          (new Intl.DisplayNames([locale], { type: 'language' }).of(code) ?? code).toLowerCase(),
          code,
        ]),
      ),
  );
  return tagsByName.get(text.trim().toLowerCase()) ?? null;
}
