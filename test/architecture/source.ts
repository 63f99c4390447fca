import { readdirSync, readFileSync } from 'node:fs';
import { posix } from 'node:path';
import { parseSync } from 'oxc-parser';
import { type Node, visit } from './syntax-tree.ts';

const root = new URL('../../', import.meta.url);

/** A source file as the architecture tests see it. Paths are relative to the repository root, with forward slashes. */
export type SourceFile = {
  path: string;
  text: string;
  /** Imported packages by name and own files by path, including type imports. */
  imports: { target: string; typeOnly: boolean }[];
  functions: { name: string; line: number; lines: number }[];
  /** String and template literals. `${…}` is replaced with `?`. */
  strings: { text: string; line: number }[];
  /** Names of called functions, with the line of the call. */
  calls: { name: string; line: number }[];
};

const nameOf = (node: Node | null | undefined): string =>
  node?.type === 'Identifier'
    ? String(node.name)
    : node?.type === 'MemberExpression'
      ? nameOf(node.property as Node)
      : '';

const functionTypes = new Set(['FunctionDeclaration', 'FunctionExpression', 'ArrowFunctionExpression']);

function read(path: string): SourceFile {
  const text = readFileSync(new URL(path, root), 'utf8');
  const starts = [0, ...[...text.matchAll(/\n/g)].map(({ index }) => index + 1)];
  const lineOf = (offset: number): number => {
    let [low, high] = [0, starts.length];
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if ((starts[middle] as number) <= offset) low = middle;
      else high = middle;
    }
    return low + 1;
  };
  const { program, errors } = parseSync(path, text);
  if (errors.length > 0) throw new Error(`${path}: ${errors[0]?.message}`);
  const file: SourceFile = { path, text, imports: [], functions: [], strings: [], calls: [] };
  const addImport = (target: string, typeOnly: boolean): void => {
    const own = target.startsWith('.') ? posix.join(posix.dirname(path), target) : target;
    file.imports.push({ target: own, typeOnly });
  };
  visit(program as unknown as Node, null, (node, parent) => {
    const line = lineOf(node.start);
    if (functionTypes.has(node.type)) {
      const name = nameOf((node.id ?? parent?.id ?? parent?.key) as Node | null) || 'function';
      file.functions.push({ name, line, lines: lineOf(node.end) - line + 1 });
    } else if (/^(Import|ExportNamed|ExportAll)Declaration$|^ImportExpression$/.test(node.type)) {
      const source = node.source as { value?: unknown } | null;
      const typeOnly = node.importKind === 'type' || node.exportKind === 'type';
      if (typeof source?.value === 'string') addImport(source.value, typeOnly);
    } else if (node.type === 'Literal' && typeof node.value === 'string') {
      file.strings.push({ text: node.value, line });
    } else if (node.type === 'TemplateLiteral') {
      const quasis = node.quasis as { value: { cooked: string | null } }[];
      file.strings.push({ text: quasis.map(({ value }) => value.cooked ?? '').join('?'), line });
    } else if (node.type === 'CallExpression') {
      file.calls.push({ name: nameOf(node.callee as Node), line });
    }
  });
  return file;
}

const list = (folder: string): string[] =>
  readdirSync(new URL(folder, root), { recursive: true, encoding: 'utf8' })
    .map((name) => `${folder}${name.replaceAll('\\', '/')}`)
    .filter((path) => /\.tsx?$/.test(path));

/** All files of the server, the browser scripts and the client package. */
export const sources: ReadonlyMap<string, SourceFile> = new Map(
  [...list('src/'), ...list('packages/client/src/')].sort().map((path) => [path, read(path)]),
);

/** Whether a file contains only messages in one language, and no code (docs/guides/dashboard.md#language). */
export const isMessageFile = (path: string): boolean =>
  /^src\/platform\/i18n\/[a-z]{2}(-[A-Z][a-z]{3})?\.ts$/.test(path);

/** Returns the text of a file in the repository. */
export const readText = (path: string): string => readFileSync(new URL(path, root), 'utf8');

/** Returns the paths below a folder of the repository that have one of the extensions. */
export const listFiles = (folder: string, extensions: RegExp): string[] =>
  readdirSync(new URL(folder, root), { recursive: true, encoding: 'utf8' })
    .map((name) => `${folder}${name.replaceAll('\\', '/')}`)
    .filter((path) => extensions.test(path) && !/(^|\/)(node_modules|dist)\//.test(path))
    .sort();
