import type { en, Messages } from './i18n/en.ts';
import { inEnglish, isMessage, type MessageKey, t } from './i18n/messages.ts';

type Texts = (typeof en)['apiTexts'];

/**
 * Key of an error message about an invalid value or failed call. The keys are in section `apiTexts` of the message
 * files.
 */
export type ProblemKey = keyof Texts;

/** Placeholder names in a message. In plural forms, `#` stands for the number. */
type ArgumentsIn<Text extends string> = Text extends `${string}{${infer Argument}}${infer Rest}`
  ? ArgumentName<Argument> | ArgumentsIn<Rest>
  : never;
type ArgumentName<Argument extends string> = Argument extends `${string}#${string}`
  ? Argument extends `${infer Name}, plural,${string}`
    ? Name
    : never
  : Argument extends `${infer Name},${string}`
    ? Name
    : Argument;

type ProblemValue = string | number | Problem;
type ValuesOf<Key extends ProblemKey> = { readonly [Name in ArgumentsIn<Texts[Key]>]: ProblemValue };

/**
 * Error message, stored as a key and values. It is converted to text when the response is sent. JSON and plain text
 * contain it in English; `wordProblem` returns it in the reader's language.
 */
export class Problem {
  readonly key: MessageKey;
  readonly values: Readonly<Record<string, ProblemValue>> | undefined;

  constructor(key: MessageKey, values?: Readonly<Record<string, ProblemValue>>) {
    this.key = key;
    this.values = values;
  }

  /** Returns the message in English, as used by the API and the logs. */
  toString(): string {
    return inEnglish(this.key, this.values && convert(this.values, String));
  }

  toJSON(): string {
    return this.toString();
  }
}

/** Creates a problem. Its values can also be nouns or other problems. */
export const problem = <Key extends ProblemKey>(
  key: Key,
  ...[values]: ArgumentsIn<Texts[Key]> extends never ? [] : [values: ValuesOf<Key>]
): Problem => new Problem(`apiTexts.${key}`, values);

type Spaced<Name extends string> = Name extends `${infer First}_${infer Rest}` ? `${First} ${Spaced<Rest>}` : Name;

/** English name of a kind of row in the singular, such as `sequence rule`. */
export type Noun = Spaced<keyof Messages['nouns']>;

/** Creates a problem that names a kind of row, for use as a value in another problem. */
export const noun = (name: Noun, count = 1): Problem =>
  new Problem(`nouns.${name.replaceAll(' ', '_')}` as MessageKey, { count });

/** Maximum length of a stored problem, in characters. */
const maxStored = 500;

/** Serialises a problem for a text column: as JSON with its key, or as English text if the JSON is too long. */
export function storedProblem(problem: Problem): string {
  const text = JSON.stringify(storedForm(problem));
  return text.length <= maxStored ? text : String(problem);
}

/** Parses a stored problem. Earlier releases stored plain text, which is returned unchanged. */
export function readProblem(stored: string): Problem | string {
  if (!stored.startsWith('{"key":')) return stored;
  return fromStored(JSON.parse(stored) as StoredForm);
}

/** Stored form of a problem. Problems among its values are stored in the same way, so that they can be translated. */
type StoredForm = { key: MessageKey; values?: Readonly<Record<string, string | number | StoredForm>> | undefined };

const storedForm = ({ key, values }: Problem): StoredForm => ({ key, values: values && convert(values, storedForm) });

function fromStored({ key, values = {} }: StoredForm): Problem | string {
  if (!isMessage(key)) return key;
  const entries = Object.entries(values).map(([name, value]) => [
    name,
    typeof value === 'object' ? fromStored(value) : value,
  ]);
  return new Problem(key, Object.fromEntries(entries));
}

/** Returns the text of a problem in the reader's language. A string is returned unchanged. */
export const wordProblem = (problem: Problem | string): string =>
  typeof problem === 'string'
    ? problem
    : t(isNullable(problem) ? 'apiTexts.orEmpty' : problem.key, problem.values && convert(problem.values, wordProblem));

/** Whether this is the alternative "or null". In a form, an empty field stands for null in a request body. */
const isNullable = ({ key }: Problem): boolean => key === 'apiTexts.orNull';

/** Converts nested problems. Other values stay the same. */
const convert = <Converted>(
  values: Readonly<Record<string, ProblemValue>>,
  change: (problem: Problem) => Converted,
): Record<string, string | number | Converted> =>
  Object.fromEntries(
    Object.entries(values).map(([name, value]) => [name, value instanceof Problem ? change(value) : value]),
  );
