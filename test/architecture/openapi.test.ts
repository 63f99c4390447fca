import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { loadTool } from '../../scripts/tools.ts';
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

type Redocly = {
  createConfig: (config: { extends: string[] }) => Promise<unknown>;
  lintFromString: (options: {
    source: string;
    absoluteRef: string;
    config: unknown;
  }) => Promise<{ ruleId: string; message: string; location: { pointer?: string }[] }[]>;
};

test("docs/openapi.json has no warnings by Redocly's recommended rules", async () => {
  const { createConfig, lintFromString } = await loadTool<Redocly>('@redocly/openapi-core');
  const config = await createConfig({ extends: ['recommended'] });
  const problems = await lintFromString({ source: readDescription(), absoluteRef: 'openapi.json', config });
  expect(problems.map(({ ruleId, message, location }) => `${ruleId} ${location[0]?.pointer}: ${message}`)).toEqual([]);
});

type Spectral = {
  setRuleset: (ruleset: unknown) => void;
  run: (source: string) => Promise<{ code: string | number; message: string; path: (string | number)[] }[]>;
};
type SpectralCore = { default: { Spectral: new () => Spectral } };
type SpectralRulesets = { default: { oas: unknown } };

test("docs/openapi.json has no warnings by Spectral's OpenAPI rules", async () => {
  const core = await loadTool<SpectralCore>('@stoplight/spectral-core');
  const rulesets = await loadTool<SpectralRulesets>('@stoplight/spectral-rulesets');
  const spectral = new core.default.Spectral();
  spectral.setRuleset(rulesets.default.oas);
  const problems = await spectral.run(readDescription());
  expect(problems.map(({ code, message, path }) => `${code} ${path.join('.')}: ${message}`)).toEqual([]);
});

/** Returns JSON with one line per operation and schema, which is short and gives readable diffs. */
function linesOf(value: unknown, depth = 3): string {
  if (depth === 0 || typeof value !== 'object' || value === null || Array.isArray(value)) return JSON.stringify(value);
  const fields = Object.entries(value).map(([name, member]) => `${JSON.stringify(name)}:${linesOf(member, depth - 1)}`);
  return fields.length === 0 ? '{}' : `{${fields.join(',\n')}}`;
}
