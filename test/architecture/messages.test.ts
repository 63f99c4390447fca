import { IntlMessageFormat } from 'intl-messageformat';
import { parseSync } from 'oxc-parser';
import { expect, test } from 'vitest';
import { errorStatuses } from '../../src/platform/errors.ts';
import { en } from '../../src/platform/i18n/en.ts';
import { isReaderLanguage, languages } from '../../src/platform/i18n/languages.ts';
import { isMessageFile, listFiles, readText, sources } from './source.ts';

type Element = { type: number; value?: string; options?: Record<string, { value: Element[] }>; children?: Element[] };
/** Element types of an ICU MessageFormat AST. */
const [literal, pound, tag] = [0, 7, 8];
const standardTags = ['b', 'code'];

/** Returns the names of a message's arguments and tags, except for tags that every message may contain. */
function argumentsIn(elements: readonly Element[]): string[] {
  const names = elements.flatMap(({ type, value = '', options = {}, children = [] }) => [
    ...(type === literal || type === pound || (type === tag && standardTags.includes(value)) ? [] : [value]),
    ...Object.values(options).flatMap((option) => argumentsIn(option.value)),
    ...argumentsIn(children),
  ]);
  return [...new Set(names)].sort();
}

/** Returns the arguments of each message, by its key. */
const all = (tree: object, prefix = ''): [string, string[]][] =>
  Object.entries(tree).flatMap(([name, part]): [string, string[]][] =>
    typeof part === 'string'
      ? [[prefix + name, argumentsIn(new IntlMessageFormat(part, 'en').getAst() as Element[])]]
      : all(part, `${prefix}${name}.`),
  );

const english = new Map(all(en));

test.each(Object.entries(languages))(
  '%s has the English messages, or at least those for end users, with the same order and arguments',
  (language, { texts }) => {
    expect(english.size).toBeGreaterThan(1500);
    const expected = [...english].filter(([key]) => isReaderLanguage(language) || key.startsWith('endUser.'));
    expect(expected.length).toBeGreaterThan(80);
    expect(all(texts)).toEqual(expected);
  },
);

test('the sections of the message files are sorted', () => {
  const sections = Object.keys(en);
  expect(sections).toEqual([...sections].sort());
});

test('the message files contain only texts', () => {
  const files = [...sources.values()].filter(({ path }) => isMessageFile(path));
  expect(files.length).toBe(Object.keys(languages).length);
  const others = files.flatMap(({ path, functions, imports }) =>
    [...functions, ...imports.filter((importEntry) => !importEntry.typeOnly)].map((declaration) => ({
      path,
      one: declaration,
    })),
  );
  expect(others).toEqual([]);
});

const code = [...sources.values()].filter(({ path }) => !isMessageFile(path));

test('every message is used', () => {
  const strings = new Set(code.flatMap(({ strings }) => strings.map(({ text }) => text)));
  const patterns = [...strings]
    .filter((text) => /^[a-z]\w*\.\w*\?/i.test(text))
    .map((text) => new RegExp(`^${text.replaceAll('.', '\\.').replaceAll('?', '.+')}$`));
  const scripts = listFiles('assets/dashboard/', /\.js$/).map(readText).join('\n');
  const sdk = code.flatMap(({ path, text }) => (path.startsWith('src/browser/sdk/') ? [text] : [])).join('\n');
  const isUsed = (key: string): boolean => {
    const [section, name = '', ...rest] = key.split('.');
    if (section === 'apiTexts') return strings.has(name) || strings.has(key) || Object.hasOwn(errorStatuses, name);
    if (section === 'browser') return new RegExp(`'${name.replace(/_(one|other)$/, '')}'`).test(scripts);
    const isErrorPage = section === 'endUser' && strings.has(key.replace(/\.(title|text)$/, ''));
    const isServed = section === 'endUser' && (name === 'unit' || name === 'offerwall');
    if (isErrorPage || (isServed && new RegExp(`\\b${rest.at(-1)}\\b`).test(sdk))) return true;
    return strings.has(key) || patterns.some((pattern) => pattern.test(key));
  };
  expect([...english.keys()].filter((key) => !isUsed(key))).toEqual([]);
});

test('modules report problems by message key, not by a sentence', () => {
  const others = code.filter(({ path, text }) => path.startsWith('src/') && text.includes("problem('verbatim'"));
  expect(others.map(({ path }) => path).sort()).toEqual([
    'src/platform/files/layout.ts', // rows of the user's file
    'src/reports/pages/explorer/explorer.ts', // problem of a report, in the reader's language
    'src/reports/saved/routes.ts', // problem of a report, in English
    'src/reports/schedules/send.ts',
  ]);
});

type Node = { type: string; [key: string]: unknown };

/** Returns the calls of `t` and `tHtml` that have a literal key and literal arguments. */
function callsIn(path: string, text: string): { key: string; argumentNames: string[] }[] {
  const calls: { key: string; argumentNames: string[] }[] = [];
  const visit = (node: Node): void => {
    const { callee, arguments: [first, second] = [] } = node as unknown as { callee?: Node; arguments?: Node[] };
    if (node.type === 'CallExpression' && (callee?.name === 't' || callee?.name === 'tHtml')) {
      const properties = (second?.properties ?? []) as { key?: { name?: string }; type: string }[];
      const keys = (first?.type === 'ConditionalExpression' ? [first.consequent, first.alternate] : [first]) as Node[];
      const isWritten = second === undefined || second.type === 'ObjectExpression';
      if (isWritten && properties.every(({ type }) => type === 'Property'))
        for (const { type, value } of keys)
          if (type === 'Literal')
            calls.push({ key: String(value), argumentNames: properties.map(({ key }) => String(key?.name)).sort() });
    }
    for (const child of Object.values(node).flat())
      if (typeof child === 'object' && child !== null && typeof (child as Node).type === 'string') visit(child as Node);
  };
  visit(parseSync(path, text).program as unknown as Node);
  return calls;
}

test('every message gets exactly the arguments that it declares', () => {
  const calls = code
    .filter(({ text }) => text.includes('i18n/messages.ts'))
    .flatMap(({ path, text }) => callsIn(path, text).map((call) => ({ path, ...call })));
  expect(calls.length).toBeGreaterThan(80);
  const wrong = calls.filter(({ key, argumentNames }) => String(argumentNames) !== String(english.get(key)));
  expect(
    wrong.map(
      ({ path, key, argumentNames }) => `${path}: ${key} is given ${argumentNames} and takes ${english.get(key)}`,
    ),
  ).toEqual([]);
});
