/** Longest tag (characters): RFC 5646 recommends room for 35. */
export const maxTagLength = 35;

/** Longest language name that is read from a request (characters): a tag with extensions, or a locale name. */
const maxLocaleLength = 128;

/**
 * The canonical form of a BCP 47 tag, such as `pt-BR`, without extensions; null: it is none. Names of languages, such
 * as `german`, have its form as well, but no tag that is registered has more than three letters.
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

/** Scripts that POSIX locales name as a modifier, such as `sr_RS@latin` (ISO 15924). */
const posixScripts: ReadonlyMap<string, string> = new Map([
  ['latin', 'Latn'],
  ['cyrillic', 'Cyrl'],
  ['devanagari', 'Deva'],
  ['arabic', 'Arab'],
]);

/** Names that old Windows and .NET programs use for the two Chinese scripts. */
const windowsNames: ReadonlyMap<string, string> = new Map([
  ['zh-chs', 'zh-Hans'],
  ['zh-cht', 'zh-Hant'],
]);

/**
 * Reads the language that a client names: a BCP 47 tag, or the name that its platform has for a locale. `_` is read
 * as `-` (Unicode LDML). Understood are also POSIX names (`en_US.UTF-8`, `sr_RS@latin`) and those of Java
 * (`zh_CN_#Hans`). Returns the canonical tag without extensions, or null for text that names no language (`C`,
 * `English`).
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
 * A canonical tag and those that contain it, in lower case: `pt-BR` → `pt-br`, `pt`, as RFC 4647 looks tags up. Before
 * the language stands that with the usual script of the region, so that `zh-TW` finds what is written for `zh-Hant`.
 */
export function chainOf(tag: string): string[] {
  const found: string[] = [];
  for (let rest = tag.toLowerCase(); rest !== ''; rest = rest.slice(0, Math.max(0, rest.lastIndexOf('-'))))
    found.push(rest);
  const language = found.pop() as string;
  const { script } = new Intl.Locale(tag).maximize();
  const withScript = script === undefined ? [] : [`${language}-${script.toLowerCase()}`];
  return [...new Set(found.length === 0 ? [language, ...withScript] : [...found, ...withScript, language])];
}

/** The most wanted of tags that are separated by commas. */
export const firstTag = (tags: string): string => (tags.includes(',') ? tags.slice(0, tags.indexOf(',')) : tags);

/** Scripts written from right to left (ISO 15924). */
const rightToLeft: ReadonlySet<string> = new Set([
  ...['Adlm', 'Arab', 'Aran', 'Hebr', 'Mand', 'Nkoo', 'Rohg', 'Samr', 'Syrc', 'Thaa', 'Yezi'],
]);

/** Direction of the script that a canonical tag is usually written in. */
export const directionOf = (tag: string): 'ltr' | 'rtl' =>
  rightToLeft.has(new Intl.Locale(tag).maximize().script ?? '') ? 'rtl' : 'ltr';
