/** Longest tag (characters): RFC 5646 recommends room for 35. */
export const maxTagLength = 35;

/**
 * The canonical form of a BCP 47 tag, such as `pt-BR`, without extensions; null: it is none. Names of languages, such
 * as `german`, have its form as well, but no tag that is registered has more than three letters.
 */
export function canonicalTag(text: string): string | null {
  if (text.length > maxTagLength) return null;
  try {
    const { baseName, language } = new Intl.Locale(text);
    return language === 'und' || language.length > 3 ? null : baseName;
  } catch {
    return null;
  }
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
