import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { nodeProblem } from '../../src/runtime/node-version.ts';

test('a Node.js that is too old is named in one sentence with the version needed', () => {
  for (const version of ['18.20.8', '20.18.3', '16.0.0'])
    expect(nodeProblem(version)).toBe(`Perkwire needs Node.js 20.19 or newer; this is ${version}.`);
  for (const version of ['20.19.0', '20.20.1', '22.0.0', process.versions.node])
    expect(nodeProblem(version)).toBeNull();
});

test('package.json asks for the same version', () => {
  const { engines } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'));
  expect(nodeProblem('1.0.0')).toContain(`Node.js ${engines.node.replace('>=', '')} `);
});
