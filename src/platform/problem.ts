import type { en, Messages } from './i18n/en.ts';
import { inEnglish, isMessage, type MessageKey, t } from './i18n/messages.ts';

type Texts = (typeof en)['apiTexts'];

/** Key of a text about invalid values or failed calls: its name in the section `apiTexts` of the message files. */
export type ProblemKey = keyof Texts;

/** Names of the arguments of a text. Plural forms use `#` for the number. */
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
 * A problem as a key and values. It is worded when it is answered: as JSON and as text in English, by `wordProblem` in
 * the reader's language.
 */
export class Problem {
  readonly key: MessageKey;
  readonly values: Readonly<Record<string, ProblemValue>> | undefined;

  constructor(key: MessageKey, values?: Readonly<Record<string, ProblemValue>>) {
    this.key = key;
    this.values = values;
  }

  /** Returns the text in English, as the API and logs show it. */
  toString(): string {
    return inEnglish(this.key, this.values && textsOf(this.values, String));
  }

  toJSON(): string {
    return this.toString();
  }
}

/** Creates a problem. A value can be a problem itself, or a noun. */
export const problem = <Key extends ProblemKey>(
  key: Key,
  ...[values]: ArgumentsIn<Texts[Key]> extends never ? [] : [values: ValuesOf<Key>]
): Problem => new Problem(`apiTexts.${key}`, values);

type Spaced<Name extends string> = Name extends `${infer First}_${infer Rest}` ? `${First} ${Spaced<Rest>}` : Name;

/** Singular of a kind of rows in English, such as `sequence rule`. */
export type Noun = Spaced<keyof Messages['nouns']>;

/** Name of a kind of rows, as a value of a problem. */
export const noun = (name: Noun, count = 1): Problem =>
  new Problem(`nouns.${name.replaceAll(' ', '_')}` as MessageKey, { count });

/** Maximum length of a stored problem (characters). */
const maxStored = 500;

/** Returns the form of a problem in a text column: JSON with its key, or the text in English if that is too long. */
export function storedProblem(problem: Problem): string {
  const text = JSON.stringify({ key: problem.key, values: problem.values });
  return text.length <= maxStored ? text : String(problem);
}

/** Reads a stored problem. Earlier releases stored the text, which is returned unchanged. */
export function readProblem(stored: string): Problem | string {
  if (!stored.startsWith('{"key":')) return stored;
  const { key, values } = JSON.parse(stored) as Pick<Problem, 'key' | 'values'>;
  return isMessage(key) ? new Problem(key, values) : key;
}

/** Returns the text of a problem in the reader's language. A text is returned unchanged. */
export const wordProblem = (problem: Problem | string): string =>
  typeof problem === 'string'
    ? problem
    : t(isNullable(problem) ? 'apiTexts.orEmpty' : problem.key, problem.values && textsOf(problem.values, wordProblem));

/** Null in a body corresponds to an empty field in a form. */
const isNullable = ({ key }: Problem): boolean => key === 'apiTexts.orNull';

/** Replaces nested problems by their texts. */
const textsOf = (
  values: Readonly<Record<string, ProblemValue>>,
  word: (problem: Problem) => string,
): Record<string, string | number> =>
  Object.fromEntries(
    Object.entries(values).map(([name, value]) => [name, value instanceof Problem ? word(value) : value]),
  );
