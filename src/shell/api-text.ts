import { en } from '../platform/i18n/en.ts';
import { type MessageKey, t } from '../platform/i18n/messages.ts';
import { pseudoLocale, reader } from '../platform/i18n/reader.ts';

/** Escapes special characters of regular expressions. */
const literal = (text: string): string => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');

type Pattern = { name: string; pattern: RegExp; numbers: ReadonlySet<string> };

function patternOf([name, text]: [string, string]): Pattern {
  const numbers = new Set<string>();
  const parts = text.split(/(\{\w+(?:, number)?\})/).map((part) => {
    const [, argument, number] = /^\{(\w+)(, number)?\}$/.exec(part) ?? [];
    if (argument === undefined) return literal(part);
    if (number === undefined) return `(?<${argument}>.*)`;
    numbers.add(argument);
    return `(?<${argument}>-?\\d+(?:\\.\\d+)?)`;
  });
  return { name, pattern: new RegExp(`^${parts.join('')}$`, 's'), numbers };
}

const texts = Object.entries(en.apiTexts);
const names = new Map(texts.map(([name, text]) => [text, name]));
/** Patterns in the order of the file. Texts that wrap other texts come first. */
const patterns = texts.filter(([, text]) => text.includes('{')).map(patternOf);

/**
 * Translates a text of the API to the reader's language. The API is in English; the section `apiTexts` of the message
 * files has its texts, and missing texts stay English. Null in a body corresponds to an empty field in a form.
 */
export function apiText(text: string): string {
  const [, problem] = /^(.*), or null$/s.exec(text) ?? [];
  if (problem !== undefined) return t('forms.orEmpty', { problem: apiText(problem) });
  const { language, locale } = reader();
  if (language === 'en' && locale !== pseudoLocale) return text;
  const name = names.get(text);
  if (name !== undefined) return t(`apiTexts.${name}` as MessageKey);
  for (const { name: key, pattern, numbers } of patterns) {
    const groups = pattern.exec(text)?.groups;
    if (groups === undefined) continue;
    const values = Object.entries(groups).map(([argument, value]) => [
      argument,
      numbers.has(argument) ? Number(value) : argumentText(argument, value),
    ]);
    return t(`apiTexts.${key}` as MessageKey, Object.fromEntries(values));
  }
  return text;
}

/** Translates an argument: some texts contain another one, or the name of a kind of rows. */
function argumentText(argument: string, value: string): string {
  if (argument === 'problem') return apiText(value);
  if (argument !== 'noun') return value;
  const isPlural = value.endsWith('s');
  const name = (isPlural ? value.slice(0, -1) : value).toLowerCase().replaceAll(' ', '_');
  return name in en.nouns ? t(`nouns.${name}` as MessageKey, { count: isPlural ? 2 : 1 }) : value;
}
