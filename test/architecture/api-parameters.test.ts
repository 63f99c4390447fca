import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

type Schema = { type?: string | string[]; pattern?: string; anyOf?: Schema[]; default?: unknown; $ref?: string };
type Node = { [name: string]: unknown };
type Parameter = { $ref?: string; in: string; name: string; description?: string; schema?: Schema };
type Operation = { parameters?: Parameter[]; requestBody?: Node };

const text = readFileSync(new URL('../../docs/openapi.json', import.meta.url), 'utf8');
const description = JSON.parse(text) as {
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, Node>; parameters: Record<string, Parameter> };
};
const nameOf = (reference: string): string => reference.split('/').at(-1) ?? '';

/** Returns the paths of all defaults within a schema, following its references. */
function defaultsIn(value: unknown, path: string, visitedReferences: readonly string[] = []): string[] {
  if (typeof value !== 'object' || value === null) return [];
  const { $ref, ...members } = value as { $ref?: string } & Node;
  if ($ref !== undefined && visitedReferences.includes($ref)) return [];
  const target = $ref === undefined ? null : description.components.schemas[nameOf($ref)];
  const own = 'default' in members && typeof members.default !== 'object' ? [path] : [];
  const inner = Object.entries(members).flatMap(([name, member]) =>
    defaultsIn(member, `${path}/${name}`, visitedReferences),
  );
  return [...own, ...inner, ...defaultsIn(target, `${path}>${nameOf($ref ?? '')}`, [...visitedReferences, $ref ?? ''])];
}

const operations = Object.entries(description.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({ name: `${method} ${path}`, method, operation })),
);

test('PATCH bodies have no defaults, so that generated clients do not overwrite stored values', () => {
  const patches = operations.filter(({ method }) => method === 'patch');
  expect(patches.length).toBeGreaterThan(12);
  expect(patches.flatMap(({ name, operation }) => defaultsIn(operation.requestBody, name))).toEqual([]);
});

const queryParameters = operations.flatMap(({ name: at, operation }) =>
  (Array.isArray(operation) ? (operation as Parameter[]) : (operation.parameters ?? []))
    .map((parameter) =>
      parameter.$ref === undefined
        ? parameter
        : (description.components.parameters[nameOf(parameter.$ref)] as Parameter),
    )
    .filter((parameter) => parameter.in === 'query')
    .map((parameter) => ({ ...parameter, at })),
);

const numbers = new RegExp(
  '^(limit|last|width|height|page|timeout_ms|version|endpoint|campaignId|' +
    '(publisher|campaign|offer|advertiser|theme|row|actor)_id)$',
);
const flags = /^(dry_run|prune|removed|active|stopped|\w+_enabled|is_\w+|test_mode)$/;

test('query parameters for whole numbers are described as integers, and true or false as booleans', () => {
  expect(queryParameters.length).toBeGreaterThan(150);
  const texts = queryParameters.filter(({ schema }) => schema?.type === 'string' && schema.anyOf === undefined);
  const wrong = texts.filter(
    ({ name, description: text = '', schema: { pattern = '' } = {} }) =>
      (numbers.test(name) && !text.includes('separated by commas')) ||
      flags.test(name) ||
      (/^\^\(?(\[[01]-9\]|\\d)/.test(pattern) && !/[:-]\(?[[\\]d?/.test(pattern)),
  );
  expect(wrong.map(({ at, name, schema }) => `${at}: ${name} ${schema?.pattern}`)).toEqual([]);
});

test('every query parameter has a single primitive type', () => {
  const plain = ['string', 'integer', 'boolean'];
  const isPlain = ({ type, anyOf = [], $ref, ...rest }: Schema): boolean =>
    $ref !== undefined || plain.includes(`${type}`) || anyOf.some(isPlain) || Object.keys(rest).length === 0;
  const wrong = queryParameters.filter(({ schema }) => schema !== undefined && !isPlain(schema));
  expect(wrong.map(({ at, name }) => `${at}: ${name}`)).toEqual([]);
});
