/** Maximum length of a tag (characters). RFC 5646 recommends 35. */
export const maxTagLength = 35;

/** Maximum length of a language name read from a request (characters): a tag with extensions, or a locale name. */
const maxLocaleLength = 128;

/**
 * Canonical form of a BCP 47 tag, such as `pt-BR`, without extensions, or null if it is not a tag. Names of languages,
 * such as `german`, have the form of a tag too, but no registered tag has more than three letters.
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

/** Scripts that POSIX locales use as a modifier, such as `sr_RS@latin` (ISO 15924). */
const posixScripts: ReadonlyMap<string, string> = new Map([
  ['latin', 'Latn'],
  ['cyrillic', 'Cyrl'],
  ['devanagari', 'Deva'],
  ['arabic', 'Arab'],
]);

/** Names of old Windows and .NET programs for the two Chinese scripts. */
const windowsNames: ReadonlyMap<string, string> = new Map([
  ['zh-chs', 'zh-Hans'],
  ['zh-cht', 'zh-Hant'],
]);

/**
 * Parses the language of a client: a BCP 47 tag, or the name of a locale on its platform. `_` is read as `-` (Unicode
 * LDML). It also accepts POSIX names (`en_US.UTF-8`, `sr_RS@latin`) and those of Java (`zh_CN_#Hans`). Returns the
 * canonical tag without extensions, or null for text that names no language (`C`, `English`).
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
 * A canonical tag followed by its parents, in lower case: `pt-BR` → `pt-br`, `pt`, like lookup in RFC 4647. The
 * language with the usual script of the region comes before the bare language, so that `zh-TW` matches texts for
 * `zh-Hant`.
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

/** The most preferred of a list of tags separated by commas. */
export const firstTag = (tags: string): string => (tags.includes(',') ? tags.slice(0, tags.indexOf(',')) : tags);

/** Scripts written from right to left (ISO 15924). */
const rightToLeft: ReadonlySet<string> = new Set([
  ...['Adlm', 'Arab', 'Aran', 'Hebr', 'Mand', 'Nkoo', 'Rohg', 'Samr', 'Syrc', 'Thaa', 'Yezi'],
]);

/** Direction of the script in which the language of a canonical tag is usually written. */
export const directionOf = (tag: string): 'ltr' | 'rtl' =>
  rightToLeft.has(new Intl.Locale(tag).maximize().script ?? '') ? 'rtl' : 'ltr';
