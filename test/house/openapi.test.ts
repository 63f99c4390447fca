import { readFileSync } from 'node:fs';
import { createConfig, lintFromString } from '@redocly/openapi-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createTestApp, type TestApp } from '../support/test-app.ts';

let t: TestApp;
beforeAll(async () => {
  t = await createTestApp({ config: { publicUrl: 'http://localhost:8080' } });
});
afterAll(() => t.close());

test('docs/openapi.json describes the routes as they are (npm run openapi writes it anew)', async () => {
  const description = (await t.app.inject('/docs/json')).json();
  await expect(`${linesOf(description)}\n`).toMatchFileSnapshot('../../docs/openapi.json');
});

test('docs/openapi.json has no error by the rules that Redocly recommends', async () => {
  const source = readFileSync(new URL('../../docs/openapi.json', import.meta.url), 'utf8');
  const config = await createConfig({ extends: ['recommended'] });
  const problems = await lintFromString({ source, absoluteRef: 'openapi.json', config });
  const errors = problems.filter(({ severity }) => severity === 'error');
  expect(errors.map(({ ruleId, message, location }) => `${ruleId} ${location[0]?.pointer}: ${message}`)).toEqual([]);
});

/** JSON with a line for each operation and schema: short, and readable as a difference. */
function linesOf(value: unknown, depth = 3): string {
  if (depth === 0 || typeof value !== 'object' || value === null || Array.isArray(value)) return JSON.stringify(value);
  const fields = Object.entries(value).map(([name, one]) => `${JSON.stringify(name)}:${linesOf(one, depth - 1)}`);
  return fields.length === 0 ? '{}' : `{${fields.join(',\n')}}`;
}
