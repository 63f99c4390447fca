/** Maximum length of a language tag, in characters. RFC 5646 recommends 35. */
export const maxTagLength = 35;

/** Maximum length of the language in a request, in characters. It may be a tag with extensions or a locale name. */
const maxLocaleLength = 128;

/**
 * Returns the canonical form of a BCP 47 tag without extensions, such as `pt-BR`, or null if the text is not a tag.
 * Language names such as `german` also have the form of a tag, but are rejected, because no registered language code
 * has more than three letters.
 */
export function canonicalTag(text: string): string | null {
  if (text.length > maxLocaleLength) return null;
  try {
    const { baseName, language } = new Intl.Locale(text);
    return language === 'und' || language.length > 3 || baseName.length > maxTagLength ? null : baseName;
  } catch {
    return null;
  }
}

/** ISO 15924 scripts by the modifier that POSIX locales use for them, as in `sr_RS@latin`. */
const posixScripts: ReadonlyMap<string, string> = new Map([
  ['latin', 'Latn'],
  ['cyrillic', 'Cyrl'],
  ['devanagari', 'Deva'],
  ['arabic', 'Arab'],
]);

/** Chinese scripts by the names that old Windows and .NET programs use for them. */
const windowsNames: ReadonlyMap<string, string> = new Map([
  ['zh-chs', 'zh-Hans'],
  ['zh-cht', 'zh-Hant'],
]);

/**
 * Parses a client's language, which is a BCP 47 tag or a platform-specific locale name. `_` is treated as `-` (Unicode
 * LDML). POSIX names (`en_US.UTF-8`, `sr_RS@latin`) and Java names (`zh_CN_#Hans`) are also accepted. Returns the
 * canonical tag without extensions, or null if the text does not identify a language (`C`, `English`).
 */
export function tagOfLocale(text: string): string | null {
  if (text.length > maxLocaleLength) return null;
  const [, name = '', modifier = ''] = /^([^.@]*)(?:\.[^@]*)?(?:@(.*))?$/.exec(text.trim()) ?? [];
  const [locale = '', javaScript = ''] = name.replaceAll('_', '-').split(/-*#/);
  const script = /^[A-Za-z]{4}(?=$|-)/.exec(javaScript)?.[0] ?? posixScripts.get(modifier.toLowerCase());
  const [language = '', ...rest] = locale.replace(/-posix$/i, '').split('-');
  const tag = [language, ...(script === undefined ? [] : [script]), ...rest].join('-');
  return canonicalTag(windowsNames.get(tag.toLowerCase()) ?? tag);
}

/**
 * Returns a canonical tag followed by its fallbacks, in lower case: `pt-BR` → `pt-br`, `pt`, as in RFC 4647 lookup. The
 * fallback with the usual script of the region comes before the plain language, so that `zh-TW` matches translations
 * for `zh-Hant`.
 */
export function chainOf(tag: string): string[] {
  const chain: string[] = [];
  for (let rest = tag.toLowerCase(); rest !== ''; rest = rest.slice(0, Math.max(0, rest.lastIndexOf('-'))))
    chain.push(rest);
  const language = chain.pop() as string;
  const { script } = new Intl.Locale(tag).maximize();
  const withScript = script === undefined ? [] : [`${language}-${script.toLowerCase()}`];
  return [...new Set(chain.length === 0 ? [language, ...withScript] : [...chain, ...withScript, language])];
}

/** Returns the first tag in a comma-separated list, which is the most preferred one. */
export const firstTag = (tags: string): string => (tags.includes(',') ? tags.slice(0, tags.indexOf(',')) : tags);

/** Scripts that are written from right to left (ISO 15924). */
const rightToLeft: ReadonlySet<string> = new Set([
  ...['Adlm', 'Arab', 'Aran', 'Hebr', 'Mand', 'Nkoo', 'Rohg', 'Samr', 'Syrc', 'Thaa', 'Yezi'],
]);

/** Returns the text direction for a canonical language tag, based on its usual script. */
export const directionOf = (tag: string): 'ltr' | 'rtl' =>
  rightToLeft.has(new Intl.Locale(tag).maximize().script ?? '') ? 'rtl' : 'ltr';
