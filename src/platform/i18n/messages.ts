import { IntlMessageFormat } from 'intl-messageformat';
import { type Html, html, type Value } from '../http/html.ts';
import de from './de.json' with { type: 'json' };
import en from './en.json' with { type: 'json' };
import { pseudoLocale, type ReaderLanguage, reader } from './reader.ts';

type Sections = typeof en;

/** Name of a message: section and key, such as `account.signOut`. */
export type MessageKey = { [S in keyof Sections]: `${S}.${Extract<keyof Sections[S], string>}` }[keyof Sections];

/** ICU MessageFormat, by section and key. */
export type Messages = Readonly<Record<string, Readonly<Record<string, string>>>>;

/** All texts of the dashboard and its mails: one file for each language. */
export const messages: Readonly<Record<ReaderLanguage, Messages>> = { en, de };

type Arguments = Readonly<Record<string, string | number | Date>>;

/** Markup for an argument, or what puts the text between `<name>` and `</name>` into markup. */
type HtmlArguments = Readonly<Record<string, string | number | Date | Html | ((text: Html) => Html)>>;

const compiled = new Map<string, IntlMessageFormat>();
/** Regions come from clients: their number must not grow memory. */
const maxCompiled = 20_000;

const isPseudo = (): boolean => reader().locale === pseudoLocale;

function textOf(key: MessageKey): string {
  const [section = '', name = ''] = key.split('.');
  const text = messages[reader().language][section]?.[name];
  if (text === undefined) throw new Error(`no message ${key}`);
  return text;
}

/** Parsing takes about 20 times as long as formatting, so messages are parsed once. */
function formatOf(key: MessageKey, ignoreTag: boolean): IntlMessageFormat {
  const { locale } = reader();
  const id = `${locale} ${ignoreTag} ${key}`;
  let format = compiled.get(id);
  if (format === undefined) {
    format = new IntlMessageFormat(textOf(key), locale, undefined, { ignoreTag });
    if (compiled.size >= maxCompiled) compiled.clear();
    compiled.set(id, format);
  }
  return format;
}

/**
 * A message in the language of the reader (`reader.ts`), as plain text.
 * @throws Error for a missing argument
 */
export function t(key: MessageKey, values?: Arguments): string {
  const isPlain = values === undefined && !/['{]/.test(textOf(key));
  const text = isPlain ? textOf(key) : String(formatOf(key, true).format(values));
  return isPseudo() ? `⟦${text}⟧` : text;
}

/** The messages of a section for the reader, with their placeholders unfilled. */
export const sectionOf = (section: keyof Sections): Readonly<Record<string, string>> =>
  Object.fromEntries(
    Object.entries(messages[reader().language][section] ?? {}).map(([name, text]) => [
      name,
      isPseudo() ? `⟦${text}⟧` : text,
    ]),
  );

const tags = {
  b: (text: Html): Html => html`<strong>${text}</strong>`,
  code: (text: Html): Html => html`<code>${text}</code>`,
};

/** A message with markup inside: `<b>`, `<code>`, and the tags and arguments given. Everything else is escaped. */
export function tHtml(key: MessageKey, values: HtmlArguments = {}): Html {
  const given = Object.entries({ ...tags, ...values }).map(([name, value]) => [
    name,
    typeof value === 'function' ? (parts: readonly Value[]) => value(joined(parts)) : value,
  ]);
  const formatted = formatOf(key, false).format<Html>(Object.fromEntries(given)) as Value | readonly Value[];
  const text = joined(Array.isArray(formatted) ? formatted : [formatted as Value]);
  return isPseudo() ? html`⟦${text}⟧` : text;
}

const joined = (parts: readonly Value[]): Html => html`${parts.map((part) => html`${part}`)}`;
