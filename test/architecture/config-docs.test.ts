import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { configSchema } from '../../src/config.ts';
import { patroniSettings, postgresSettings } from '../chaos/patroni-settings.ts';

type Variable = { name: string; default: string; description: string };

const variables: Variable[] = Object.entries(configSchema.properties).map(([name, property]) => ({
  name,
  default: String(property.default),
  description: property.description ?? '',
}));
const secrets = ['TOKEN_KEYS', 'USER_PEPPER', 'SECRETS_KEY'];

/** Variables that are only read by docker-compose.yml. */
const composeOnly = ['POSTGRES_PASSWORD', 'BALANCER_PORT'];

const read = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');

/** Returns the `NAME=value` lines, each with the comment lines directly above it. */
function parseEnvExample(): (Variable & { comment: string })[] {
  return [...read('.env.example').matchAll(/((?:^#.*\n)*)^(\w+)=(.*)$/gm)].map(
    ([, comment = '', name = '', value = '']) => ({
      name,
      default: value,
      description: comment.split('\n')[0]?.replace(/^# /, '') ?? '',
      comment,
    }),
  );
}

/** Returns the table rows of docs/configuration.md for variables that the process reads. */
function parseConfigurationPage(): Variable[] {
  return [...read('docs/configuration.md').matchAll(/^\| `(\w+)` \| ([^|\n]*) \| ([^|\n]*) \|$/gm)].map(
    ([, name = '', value = '', description = '']) => ({
      name,
      default: value.replaceAll('`', '').replace(/^—$/, ''),
      description,
    }),
  );
}

test('every variable has a default and a one-line description', () => {
  expect(variables.length).toBeGreaterThan(10);
  for (const { name, default: value, description } of variables) {
    expect(value, name).not.toBe('undefined');
    expect(description, name).toMatch(/^\S[^\n]*\.$/);
  }
});

describe('.env.example', () => {
  test('lists every variable with default and description in order, followed by those of Docker Compose', () => {
    const parsedVariables = parseEnvExample();
    expect(parsedVariables.slice(0, variables.length).map(({ comment: _, ...variable }) => variable)).toEqual(
      variables,
    );
    expect(parsedVariables.slice(variables.length).map(({ name }) => name)).toEqual(composeOnly);
  });

  test('contains no secrets, only the commands that generate them', () => {
    const secretVariables = parseEnvExample().filter(({ name }) => [...secrets, 'POSTGRES_PASSWORD'].includes(name));
    expect(secretVariables).toHaveLength(4);
    for (const variable of secretVariables) {
      expect(variable.default, variable.name).toBe('');
      expect(variable.comment, variable.name).toMatch(/openssl rand -(hex|base64) \d+/);
    }
  });
});

test('docs/configuration.md lists every variable with its default and description in order', () => {
  expect(parseConfigurationPage()).toEqual(variables);
});

describe('docker-compose.yml', () => {
  const compose = read('docker-compose.yml');

  test('passes every variable to the processes, except the directory of the embedded database', () => {
    const composeNames = new Set([...compose.matchAll(/^ +([A-Z0-9_]+):/gm)].map(([, name]) => name));
    expect(variables.filter(({ name }) => !composeNames.has(name)).map(({ name }) => name)).toEqual(['DATA_DIR']);
  });

  test('uses only variables in .env.example, and requires the secrets and PUBLIC_URL', () => {
    const used = new Set([...compose.matchAll(/\$\{(\w+)/g)].map(([, name]) => name));
    expect([...used].sort()).toEqual([...secrets, ...composeOnly, 'PUBLIC_URL', 'TRUST_PROXY'].sort());
    const required = new Set([...compose.matchAll(/\$\{(\w+):\?/g)].map(([, name]) => name));
    expect([...required].sort()).toEqual([...secrets, 'POSTGRES_PASSWORD', 'PUBLIC_URL'].sort());
  });

  test('builds one image, pins the others to an exact version, and publishes one port', () => {
    expect([...compose.matchAll(/^ +build:/gm)]).toHaveLength(1);
    const images = [...compose.matchAll(/^ +image: (\S+)/gm), ...read('Dockerfile').matchAll(/^FROM (\w+:\S+)/gm)];
    const foreign = images.map(([, name = '']) => name).filter((name) => name !== 'perkwire');
    expect(foreign.length).toBeGreaterThanOrEqual(4);
    for (const name of foreign)
      expect(name).toMatch(/^(node|haproxy):\d+\.\d+\.\d+(-\S+)?$|^postgres:\d+\.\d+(-\S+)?$/);
    expect([...compose.matchAll(/^ +ports:\n +- .*$/gm)]).toHaveLength(1);
    const renovate = JSON.parse(read('renovate.json')) as { extends: string[]; enabledManagers: string[] };
    expect(renovate.extends).toContain('docker:pinDigests');
    expect(renovate.enabledManagers).toEqual(expect.arrayContaining(['dockerfile', 'docker-compose']));
  });

  test('gives containers no capabilities, new privileges or unnecessary write access', () => {
    const [, services = ''] = compose.split('\nservices:\n');
    const blocks = services.split(/^ {2}(?=\w)/m).filter((block) => /^\w+:\n {4}/.test(block));
    const foreign = blocks.filter((block) => !block.includes('<<: *perkwire') && block.includes('image:'));
    const [, shared = ''] = compose.split('x-perkwire: &perkwire\n');
    expect(foreign).toHaveLength(2);
    for (const block of [shared.split('\n\n')[0] as string, ...foreign]) {
      expect(block).toContain('cap_drop: [ALL]');
      expect(block).toContain('security_opt: ["no-new-privileges:true"]');
      expect(block).toContain('read_only: true');
    }
    expect([...compose.matchAll(/privileged|cap_add/g)]).toHaveLength(1);
  });
});

test('operations.md recommends the Patroni settings that the failover measurements use', () => {
  const [, section = ''] = read('docs/operations.md').split('### Replicated PostgreSQL');
  const [, block = ''] = /```yaml\n([^`]*)```/.exec(section) ?? [];
  const documented = [...block.matchAll(/^ *(\w+): *(\w+)/gm)].map(([, name, value]) => [name, value]);
  const measured = Object.entries({ ...patroniSettings, ...postgresSettings });
  expect(Object.fromEntries(documented)).toEqual(
    Object.fromEntries(measured.map(([name, value]) => [name, String(value)])),
  );
});
