import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { parseSync } from 'oxc-parser';
import { isNode, type Node, visit } from '../test/architecture/syntax-tree.ts';

/**
 * Measures the language of code and documents, and fails if a measure exceeds its limit: `npm run lint:language`. `--
 * --list` prints the matches of each measure.
 */
type Measure = { name: string; value: number; limit: number; matches: readonly string[]; isMinimum?: boolean };

const tracked = execFileSync('git', ['ls-files'], { encoding: 'utf8' }).trim().split('\n');
const codePaths = tracked.filter((path) => /^(src|packages\/[^/]+\/src|test|bench|scripts)\/.*\.ts$/.test(path));
const documentPaths = tracked.filter((path) => /^(docs\/(?!adr\/).*|[A-Z]+|packages\/[^/]+\/[A-Z]+)\.md$/.test(path));

type Line = { text: string; path: string; line: number };

/** Returns the names bound by a variable or parameter pattern. */
function boundNames(pattern: unknown): Node[] {
  if (!isNode(pattern)) return [];
  if (pattern.type === 'Identifier') return [pattern];
  const parts = [
    pattern.left,
    pattern.argument,
    pattern.elements,
    pattern.properties,
    pattern.value,
    pattern.parameter,
  ];
  return parts.flatMap((part) => (Array.isArray(part) ? part.flatMap(boundNames) : boundNames(part)));
}

/** Returns the names that a node declares: variables, parameters, functions, types and type members. */
function declaredNames(node: Node): Node[] {
  switch (node.type) {
    case 'VariableDeclarator':
      return boundNames(node.id);
    case 'FunctionDeclaration':
    case 'FunctionExpression':
    case 'ArrowFunctionExpression':
      return [...boundNames(node.id), ...(node.params as unknown[]).flatMap(boundNames)];
    case 'TSTypeAliasDeclaration':
    case 'TSInterfaceDeclaration':
    case 'ClassDeclaration':
      return boundNames(node.id);
    case 'TSPropertySignature':
    case 'TSMethodSignature':
    case 'PropertyDefinition':
      return boundNames(node.key);
    default:
      return [];
  }
}

const comments: Line[] = [];
const identifiers: Line[] = [];
const typeNames: Line[] = [];

for (const path of codePaths) {
  const text = readFileSync(path, 'utf8');
  const lineOf = (offset: number): number => text.slice(0, offset).split('\n').length;
  const { program, comments: fileComments } = parseSync(path, text);
  for (const { type, value, start } of fileComments)
    if (type === 'Block' && value.startsWith('*')) {
      const plain = value.replace(/^\*/, '').replace(/\n\s*\*/g, ' ');
      comments.push({ text: plain.replace(/\s+/g, ' ').trim(), path, line: lineOf(start) });
    }
  visit(program as unknown as Node, null, (node) => {
    for (const { name, start } of declaredNames(node))
      identifiers.push({ text: String(name), path, line: lineOf(start) });
    if (node.type === 'TSTypeAliasDeclaration' || node.type === 'TSInterfaceDeclaration')
      typeNames.push({ text: String((node.id as Node).name), path, line: lineOf(node.start) });
  });
}

const riddles = /^(What|Who|Whose|How|Of|Where|Those|As|By|None|So)\b/;
const fillers = new Set(
  (
    'given found known shown asked wanted kept named held left made each keyed one firsts said told taken chosen ' +
    'got seen meant due'
  ).split(' '),
);
const vagueTypes = new Set(['Known', 'Row', 'Needs', 'Asked', 'Shown', 'Answer', 'Made', 'Given', 'Found']);

/** Returns the prose paragraphs of a Markdown text, without code, tables, lists and headings. */
function paragraphsOf(text: string): string[] {
  const prose = text.replace(/^```[\s\S]*?^```/gm, '').replace(/<!--[\s\S]*?-->/g, '');
  return prose.split(/\n\s*\n/).filter((part) => !/^\s*([|#>]|[-*] |\d+\. )/.test(part));
}

const wordsOf = (text: string): number => text.split(/\s+/).filter((word) => word !== '').length;
const place = ({ path, line, text }: Line): string => `${path}:${line} ${text}`;

const documents = documentPaths.map((path) => ({ path, text: readFileSync(path, 'utf8') }));
const longParagraphs = documents.flatMap(({ path, text }) =>
  paragraphsOf(text)
    .filter((part) => wordsOf(part) > 80)
    .map((part) => `${path}: ${part.trim().slice(0, 80)}`),
);
const longLines = documents.flatMap(({ path, text }) =>
  text.split('\n').flatMap((line, at) => (line.length > 200 ? [`${path}:${at + 1}`] : [])),
);
const subjects = execFileSync('git', ['log', '--format=%s', '--no-merges', '-20'], { encoding: 'utf8' })
  .trim()
  .split('\n');

const odd = comments.filter(({ text }) => riddles.test(text));
const fillerNames = identifiers.filter(({ text }) => fillers.has(text));
const vague = typeNames.filter(({ text }) => vagueTypes.has(text));
const distinctNames = new Set(identifiers.map(({ text }) => text));
const meanLength = identifiers.reduce((sum, { text }) => sum + text.length, 0) / identifiers.length;
const meanDistinct = [...distinctNames].reduce((sum, name) => sum + name.length, 0) / distinctNames.size;

const measures: Measure[] = [
  { name: 'doc comments', value: comments.length, limit: Number.POSITIVE_INFINITY, matches: [] },
  { name: 'doc comments that begin with a clause', value: odd.length, limit: 20, matches: odd.map(place) },
  { name: 'filler names', value: fillerNames.length, limit: 60, matches: fillerNames.map(place) },
  { name: 'vague type names', value: vague.length, limit: 0, matches: vague.map(place) },
  { name: 'mean length of declared names', value: meanLength, limit: 6.3, isMinimum: true, matches: [] },
  { name: 'mean length of distinct names', value: meanDistinct, limit: 9.5, isMinimum: true, matches: [] },
  { name: 'words in the README', value: wordsOf(readFileSync('README.md', 'utf8')), limit: 700, matches: [] },
  { name: 'paragraphs over 80 words', value: longParagraphs.length, limit: 0, matches: longParagraphs },
  { name: 'lines over 200 characters in documents', value: longLines.length, limit: 1, matches: longLines },
  {
    name: 'commit subjects over 72 characters',
    value: subjects.filter((subject) => subject.length > 72).length,
    limit: 0,
    matches: subjects.filter((subject) => subject.length > 72),
  },
];

const isWithin = ({ value, limit, isMinimum }: Measure): boolean => (isMinimum ? value >= limit : value <= limit);

console.table(
  Object.fromEntries(
    measures.map((measure) => [
      measure.name,
      {
        now: Math.round(measure.value * 10) / 10,
        limit: measure.limit === Number.POSITIVE_INFINITY ? '' : `${measure.isMinimum ? '≥' : '≤'} ${measure.limit}`,
        holds: isWithin(measure),
      },
    ]),
  ),
);
if (process.argv.includes('--list'))
  for (const { name, matches } of measures) if (matches.length > 0) console.log(`\n${name}:\n${matches.join('\n')}`);
if (!measures.every(isWithin)) process.exitCode = 1;
