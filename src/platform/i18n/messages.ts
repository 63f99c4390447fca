import { IntlMessageFormat } from 'intl-messageformat';
import { type Html, html, type Value } from '../http/html.ts';
import { en, type Messages } from './en.ts';
import { languages } from './languages.ts';
import { pseudoLocale, type Reader, reader } from './reader.ts';

type PathIn<Tree> = {
  [Name in keyof Tree & string]: Tree[Name] extends string ? Name : `${Name}.${PathIn<Tree[Name]>}`;
}[keyof Tree & string];

/** Key of a message: its path in the language's file, such as `account.signOut`. */
export type MessageKey = PathIn<Messages>;

type Arguments = Readonly<Record<string, string | number | Date>>;

/** Markup for an argument, or a function that wraps the text between `<name>` and `</name>` in markup. */
type HtmlArguments = Readonly<Record<string, string | number | Date | Html | ((text: Html) => Html)>>;

const compiled = new Map<string, IntlMessageFormat>();
/** Maximum number of cached messages. Clients choose their region, which must not make memory grow. */
const maxCompiled = 20_000;

const isPseudo = (): boolean => reader().locale === pseudoLocale;
const marked = (text: string): string => (isPseudo() ? `⟦${text}⟧` : text);

const listTexts = (tree: object, prefix = ''): (readonly [string, string])[] =>
  Object.entries(tree).flatMap(([name, part]) =>
    typeof part === 'string' ? [[prefix + name, part] as const] : listTexts(part, `${prefix}${name}.`),
  );

const textsByLanguage: ReadonlyMap<string, ReadonlyMap<string, string>> = new Map(
  Object.entries(languages).map(([language, { texts }]) => [language, new Map(listTexts(texts))]),
);

/** Whether there is a message with this key. Stored keys may be those of another release. */
export const isMessage = (key: MessageKey): boolean => textsByLanguage.get('en')?.has(key) === true;

/** Returns the text in a language, or in English if it is missing. */
function textOf(key: MessageKey, { language }: Reader): string {
  const text = textsByLanguage.get(language)?.get(key) ?? textsByLanguage.get('en')?.get(key);
  if (text === undefined) throw new Error(`no message ${key}`);
  return text;
}

/** Messages are parsed once, because parsing takes about 20 times as long as formatting. */
function formatOf(key: MessageKey, ignoreTag: boolean, forReader: Reader): IntlMessageFormat {
  const { locale } = forReader;
  const id = `${locale} ${ignoreTag} ${key}`;
  let format = compiled.get(id);
  if (format === undefined) {
    format = new IntlMessageFormat(textOf(key, forReader), locale, undefined, { ignoreTag });
    if (compiled.size >= maxCompiled) compiled.clear();
    compiled.set(id, format);
  }
  return format;
}

/**
 * Returns a message in the reader's language (`reader.ts`) as plain text.
 * @throws Error for a missing argument
 */
export const t = (key: MessageKey, values?: Arguments): string => marked(formatted(key, values, reader()));

const english: Reader = { language: 'en', locale: languages.en.locale };

/** Returns a message in English as plain text, for the API, logs and the command line. */
export const inEnglish = (key: MessageKey, values?: Arguments): string => formatted(key, values, english);

function formatted(key: MessageKey, values: Arguments | undefined, forReader: Reader): string {
  const text = textOf(key, forReader);
  const isPlain = values === undefined && !/['{]/.test(text);
  return isPlain ? text : String(formatOf(key, true, forReader).format(values));
}

/** Messages of the dashboard's scripts in the reader's language, with their placeholders. */
export const browserTexts = (): Readonly<Record<string, string>> =>
  Object.fromEntries(
    Object.keys(en.browser).map((name) => [
      name,
      marked(textOf(`browser.${name as keyof Messages['browser']}`, reader())),
    ]),
  );

const tags = {
  b: (text: Html): Html => html`<strong>${text}</strong>`,
  code: (text: Html): Html => html`<code>${text}</code>`,
};

/** Returns a message as markup with `<b>`, `<code>`, and the given tags and arguments. Everything else is escaped. */
export function tHtml(key: MessageKey, values: HtmlArguments = {}): Html {
  const formatters = Object.entries({ ...tags, ...values }).map(([name, value]) => [
    name,
    typeof value === 'function' ? (parts: readonly Value[]) => value(joined(parts)) : value,
  ]);
  const parts = formatOf(key, false, reader()).format<Html>(Object.fromEntries(formatters)) as Value | readonly Value[];
  const text = joined(Array.isArray(parts) ? parts : [parts as Value]);
  return isPseudo() ? html`⟦${text}⟧` : text;
}

const joined = (parts: readonly Value[]): Html => html`${parts.map((part) => html`${part}`)}`;
