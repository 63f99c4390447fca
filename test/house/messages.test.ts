import { IntlMessageFormat } from 'intl-messageformat';
import { parseSync } from 'oxc-parser';
import { expect, test } from 'vitest';
import { messages } from '../../src/platform/i18n/messages.ts';
import { listFiles, readText, sources } from './source.ts';

type Element = { type: number; value?: string; options?: Record<string, { value: Element[] }>; children?: Element[] };
/** Of an AST of ICU MessageFormat. */
const [literal, pound, tag] = [0, 7, 8];
const standardTags = ['b', 'code'];

/** Names of the arguments and tags of a message; tags that every message may have are left out. */
function argumentsIn(elements: readonly Element[]): string[] {
  const names = elements.flatMap(({ type, value = '', options = {}, children = [] }) => [
    ...(type === literal || type === pound || (type === tag && standardTags.includes(value)) ? [] : [value]),
    ...Object.values(options).flatMap((option) => argumentsIn(option.value)),
    ...argumentsIn(children),
  ]);
  return [...new Set(names)].sort();
}

const all = (language: keyof typeof messages): [string, string[]][] =>
  Object.entries(messages[language]).flatMap(([section, texts]) =>
    Object.entries(texts).map(([name, text]): [string, string[]] => [
      `${section}.${name}`,
      argumentsIn(new IntlMessageFormat(text, language).getAst() as Element[]),
    ]),
  );

const english = new Map(all('en'));

test('every language has the same messages, in the same order, with the same arguments', () => {
  expect(english.size).toBeGreaterThan(100);
  for (const language of Object.keys(messages) as (keyof typeof messages)[])
    expect(all(language), language).toEqual([...english]);
});

test('the sections of the message files are sorted', () => {
  const sections = Object.keys(messages.en);
  expect(sections).toEqual([...sections].sort());
});

test('every message is used', () => {
  const strings = new Set([...sources.values()].flatMap(({ strings }) => strings.map(({ text }) => text)));
  const patterns = [...strings]
    .filter((text) => /^[a-z]\w*\.\w*\?/i.test(text))
    .map((text) => new RegExp(`^${text.replaceAll('.', '\\.').replaceAll('?', '.+')}$`));
  const scripts = listFiles('assets/dashboard/', /\.js$/).map(readText).join('\n');
  const isUsed = (key: string): boolean => {
    const [section, name = ''] = key.split('.');
    if (section === 'browser') return new RegExp(`'${name.replace(/_(one|other)$/, '')}'`).test(scripts);
    return strings.has(key) || patterns.some((pattern) => pattern.test(key));
  };
  expect([...english.keys()].filter((key) => !isUsed(key))).toEqual([]);
});

/** Placeholders of messages and of templates alike. */
const anyValue = (text: string): string => text.replaceAll(/(\{\w+(, number)?\}|\?)+/g, '?');

test('every text of the API that has a translation is still one of the API', () => {
  const strings = new Set([...sources.values()].flatMap(({ strings }) => strings.map(({ text }) => anyValue(text))));
  const texts = Object.values(messages.en.apiTexts ?? {}).map(anyValue);
  expect(texts.length).toBeGreaterThan(100);
  expect(texts.filter((text) => !strings.has(text))).toEqual([]);
});

type Node = { type: string; [key: string]: unknown };

/** Calls of `t` and `tHtml` whose key and arguments are written out. */
function callsIn(path: string, text: string): { key: string; given: string[] }[] {
  const calls: { key: string; given: string[] }[] = [];
  const visit = (node: Node): void => {
    const { callee, arguments: [first, second] = [] } = node as unknown as { callee?: Node; arguments?: Node[] };
    if (node.type === 'CallExpression' && (callee?.name === 't' || callee?.name === 'tHtml')) {
      const properties = (second?.properties ?? []) as { key?: { name?: string }; type: string }[];
      const keys = (first?.type === 'ConditionalExpression' ? [first.consequent, first.alternate] : [first]) as Node[];
      const isWritten = second === undefined || second.type === 'ObjectExpression';
      if (isWritten && properties.every(({ type }) => type === 'Property'))
        for (const { type, value } of keys)
          if (type === 'Literal')
            calls.push({ key: String(value), given: properties.map(({ key }) => String(key?.name)).sort() });
    }
    for (const child of Object.values(node).flat())
      if (typeof child === 'object' && child !== null && typeof (child as Node).type === 'string') visit(child as Node);
  };
  visit(parseSync(path, text).program as unknown as Node);
  return calls;
}

test('every message is given its arguments, and no others', () => {
  const calls = [...sources.values()]
    .filter(({ text }) => text.includes('i18n/messages.ts'))
    .flatMap(({ path, text }) => callsIn(path, text).map((call) => ({ path, ...call })));
  expect(calls.length).toBeGreaterThan(80);
  const wrong = calls.filter(({ key, given }) => String(given) !== String(english.get(key)));
  expect(
    wrong.map(({ path, key, given }) => `${path}: ${key} is given ${given} and takes ${english.get(key)}`),
  ).toEqual([]);
});
