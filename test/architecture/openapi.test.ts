import { readFileSync } from 'node:fs';
import { createConfig, lintFromString } from '@redocly/openapi-core';
import spectralCore from '@stoplight/spectral-core';
import spectralRulesets from '@stoplight/spectral-rulesets';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createTestApp, type TestApp } from '../support/test-app.ts';

let t: TestApp;
beforeAll(async () => {
  t = await createTestApp({ config: { publicUrl: 'https://offers.example' } });
});
afterAll(() => t.close());

test('docs/openapi.json matches the routes (regenerate it with npm run openapi)', async () => {
  const description = (await t.app.inject('/docs/json')).json();
  await expect(`${linesOf(description)}\n`).toMatchFileSnapshot('../../docs/openapi.json');
});

const readDescription = (): string => readFileSync(new URL('../../docs/openapi.json', import.meta.url), 'utf8');

test("docs/openapi.json has no warnings by Redocly's recommended rules", async () => {
  const config = await createConfig({ extends: ['recommended'] });
  const problems = await lintFromString({ source: readDescription(), absoluteRef: 'openapi.json', config });
  expect(problems.map(({ ruleId, message, location }) => `${ruleId} ${location[0]?.pointer}: ${message}`)).toEqual([]);
});

test("docs/openapi.json has no warnings by Spectral's OpenAPI rules", async () => {
  const spectral = new spectralCore.Spectral();
  spectral.setRuleset(spectralRulesets.oas as spectralCore.RulesetDefinition);
  const problems = await spectral.run(readDescription());
  expect(problems.map(({ code, message, path }) => `${code} ${path.join('.')}: ${message}`)).toEqual([]);
});

/** Returns JSON with one line per operation and schema, which is short and gives readable diffs. */
function linesOf(value: unknown, depth = 3): string {
  if (depth === 0 || typeof value !== 'object' || value === null || Array.isArray(value)) return JSON.stringify(value);
  const fields = Object.entries(value).map(([name, member]) => `${JSON.stringify(name)}:${linesOf(member, depth - 1)}`);
  return fields.length === 0 ? '{}' : `{${fields.join(',\n')}}`;
}
