import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { publisherResources } from '../../src/accounts/pages/activity/resources.ts';
import { asReader, readerOf } from '../../src/platform/i18n/reader.ts';
import { nameOfValue, withValueNames } from '../../src/shell/differences.ts';

type Schema = {
  const?: unknown;
  enum?: unknown[];
  anyOf?: Node[];
  allOf?: Node[];
  items?: Node;
  properties?: Record<string, Node>;
  patternProperties?: Record<string, Node>;
};
type Reference = { $ref: string };
type Node = Schema | Reference;
type Response = { content: { 'application/json': { schema: Schema } } };
type Operation = { responses: { 200: Response | Reference } };

const api: { paths: Record<string, { get?: Operation }> } = JSON.parse(readFileSync('docs/openapi.json', 'utf8'));

/** Follows a reference within the document. */
function resolved<T extends object>(node: T | Reference): T {
  if (!('$ref' in node)) return node;
  const target = node.$ref
    .slice(2)
    .split('/')
    .reduce<unknown>((part, name) => (part as Record<string, unknown>)[name], api);
  return resolved(target as T | Reference);
}

/** Enumerated values that the whole product shows as codes: permissions, methods, file types and language codes. */
const codes = /^(keys permissions|roles permissions|webhook-endpoints method|creatives type|portal-links language)$/;
/** Fields that are calculated for responses, or hold other rows, so they are never logged. */
const unlogged: Readonly<Record<string, readonly string[]>> = {
  offers: ['action_page'],
  campaigns: ['delivery_state', 'landing_page', 'usage'],
  'webhook-endpoints': ['state', 'destination'],
  experiments: ['history', 'versions'],
  'portal-links': ['state'],
};

/** Whether the API returns a resource at a path: as a list, by its ID, or as a part of a publisher or an offer. */
const isPathOf = (resource: string, path: string): boolean =>
  new RegExp(`^/manage/v1/((publishers|offers)/\\{id\\}/)?(${pathNames[resource] ?? resource})(/\\{\\w+\\})?$`).test(
    path,
  );
const pathNames: Readonly<Record<string, string>> = {
  'coupon-pools': 'coupon-pool',
  'perk-messages': 'perk-messages/settings',
};

/** Lists the enumerated strings of the API's responses for a resource, by the path of their field. */
function enumeratedValues(resource: string): [path: string, value: string][] {
  const listed: [string, string][] = [];
  const walk = (node: Node | undefined, path: readonly string[], parents: readonly Schema[] = []): void => {
    if (node === undefined) return;
    const schema = resolved(node);
    if (parents.includes(schema)) return;
    const inner = [...parents, schema];
    for (const value of [...(schema.enum ?? []), schema.const])
      if (typeof value === 'string') listed.push([path.join(' › '), value]);
    for (const part of [...(schema.anyOf ?? []), ...(schema.allOf ?? [])]) walk(part, path, inner);
    walk(schema.items, path, inner);
    for (const [name, part] of Object.entries({ ...schema.properties, ...schema.patternProperties }))
      walk(part, [...path, name.replaceAll('_', ' ')], inner);
  };
  for (const [path, { get }] of Object.entries(api.paths)) {
    if (get === undefined || !isPathOf(resource, path)) continue;
    walk(resolved<Response>(get.responses[200]).content['application/json'].schema.properties?.data, []);
  }
  return listed;
}

const topOf = (path: string): string => path.split(' › ', 1)[0]?.replaceAll(' ', '_') ?? '';

const inLanguage = (language: string, make: () => unknown) => asReader(readerOf(language, null), make);

describe('the values in the activity log', () => {
  const cases = Object.keys(publisherResources).flatMap((resource) =>
    enumeratedValues(resource)
      .filter(([path]) => !codes.test(`${resource} ${path}`) && unlogged[resource]?.includes(topOf(path)) !== true)
      .map(([path, value]) => [resource, path, value] as const),
  );

  test('are those of the API', () => {
    expect(cases.length).toBeGreaterThan(60);
    expect(cases).toContainEqual(['drafts', 'state', 'refused']);
  });
  test.each(['en', 'de'])('have a text in language %s if the API lists them', (language) => {
    const unnamed = cases.filter(([resource, path, value]) =>
      inLanguage(language, () => nameOfValue(resource, path, value) === null),
    );
    expect(unnamed.map((names) => names.join(' '))).toEqual([]);
  });

  test('are those of the rest of the dashboard', () => {
    const texts = (language: string) =>
      inLanguage(language, () => [
        withValueNames('drafts', 'state', 'refused'),
        withValueNames('drafts', 'resource', 'creatives'),
        withValueNames('users', 'password', 'changed by one-time link'),
        withValueNames('webhook-endpoints', 'headers › X-Key', 'changed'),
        withValueNames('publishers', 'postback events', ['click']),
      ]);
    expect(texts('en')).toEqual(['Rejected', 'Image', 'changed by one-time link', 'changed', ['Paid clicks']]);
    expect(texts('de')).toEqual(['Abgelehnt', 'Bild', 'über Einmal-Link geändert', 'geändert', ['Bezahlte Klicks']]);
  });

  test('stay unchanged if they are free text that equals a value of another field', () => {
    const unchanged = ['campaigns', 'offers'].map((resource) => withValueNames(resource, 'name', 'refused'));
    expect(unchanged).toEqual(['refused', 'refused']);
    expect(withValueNames('controls', 'blocked › words', ['brand'])).toEqual(['brand']);
    expect(withValueNames('themes', 'constructor', 'name')).toBe('name');
  });
});
