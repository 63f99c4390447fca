import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { FetchOffersResponse } from '../../packages/client/src/index.ts';
import type { Publisher } from '../../src/catalog/types.ts';
import { uspSelection } from '../../src/perks/usp-selection.ts';
import { offerRemoved, offerSaved } from '../../src/perks/wallet/event-types.ts';
import { conversionEvent } from '../../src/tracking/conversions/postback.ts';
import { createTestApp, type TestApp } from '../support/test-app.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));
let t: TestApp;
let folder: string;
beforeAll(async () => {
  t = await createTestApp();
  folder = await mkdtemp(join(tmpdir(), 'perkwire-types-'));
});
afterAll(async () => {
  await rm(folder, { recursive: true, force: true });
  await t.close();
});

/** Returns a value as JSON with long strings truncated, because only their type matters. */
const literal = (value: unknown): string =>
  JSON.stringify(value, (_key, member: unknown) => (typeof member === 'string' ? member.slice(0, 40) : member));

/** Values that must match a type of the package. */
type Claim = { type: string; values: readonly unknown[] };

/**
 * Checks values against types of the package with the compiler, which rejects unknown and missing keys in literals.
 * @returns compiler errors, one per line
 */
async function typeErrors(claims: readonly Claim[]): Promise<string[]> {
  const file = join(folder, 'values.ts');
  const lines = claims.map(
    ({ type, values }, index) =>
      `export const values${index}: client.${type}[] = [\n${values.map(literal).join(',\n')}\n];\n`,
  );
  await writeFile(file, `import type * as client from '${root}packages/client/src/index.ts';\n${lines.join('')}`);
  const options = ['--strict', '--exactOptionalPropertyTypes', '--noEmit', '--allowImportingTsExtensions'];
  const target = ['--ignoreConfig', '--module', 'nodenext', '--target', 'es2023', '--types', 'node'];
  const tsc = join(root, 'node_modules/typescript/bin/tsc');
  const run = promisify(execFile)(process.execPath, [tsc, ...options, ...target, file], { cwd: root });
  const { stdout } = await run.catch((err: { stdout: string }) => err);
  return stdout.split('\n').filter((line) => /error TS/.test(line));
}

const versions = ['v1', 'v2', 'v4'];

const user = { pub_user_id: 'typed-1', ad_fp: 'f1' };

/** Requests whose responses have different content. */
const variants: { query?: string; body: Record<string, unknown> }[] = [
  { body: {} },
  { body: { placement: 'order-status' } },
  { body: user },
  { body: { ...user, consent: '0' } },
  { body: { ...user, dev: '1' } },
  { body: { ...user, country: 'DE', first_name: 'Ada' } },
  { query: '&loyaltyboost=1', body: user },
  { query: '&loyaltyboost=2', body: user },
  { query: '&creative=1', body: user },
  { query: '&campaignId=1', body: user },
  { query: '&campaignId=999999', body: user },
];

async function answersOf(path: string, key: string): Promise<FetchOffersResponse[]> {
  return Promise.all(
    variants.map(async ({ query = '', body }) => {
      const url = `/native/${path}/offers.json?api_key=${key}${query}`;
      const answer = await t.app.inject({ method: 'POST', url, payload: { placement: 'checkout', ...body } });
      expect(answer.statusCode).toBe(200);
      return answer.json<FetchOffersResponse>();
    }),
  );
}

/** Returns the responses for each version and variant, with an API key and with the SDK ID. */
async function allAnswers(): Promise<FetchOffersResponse[]> {
  const answers: FetchOffersResponse[] = [];
  for (const version of versions)
    for (const key of [t.publisher.key, t.publisher.sdkId]) answers.push(...(await answersOf(version, key)));
  return answers;
}

test('the types match 66 responses exactly, with 3 versions, 11 variants and 2 kinds of key', async () => {
  const answers = await allAnswers();
  expect(answers).toHaveLength(66);
  expect(answers.filter(({ data }) => data.count > 0).length).toBeGreaterThan(50);
  expect(answers.some(({ data }) => data.offers.some((offer) => offer.save_for_later_url !== null))).toBe(true);
  expect(answers.some(({ data }) => data.settings.enable_usp)).toBe(true);
  expect(await typeErrors([{ type: 'FetchOffersResponse', values: answers }])).toEqual([]);
  // TypeScript has only one number type, but clients in Kotlin, Swift and Dart read integers.
  expect(JSON.stringify(answers).match(/"(?!aspect_ratio")\w+":-?\d+[.e]/g)).toBeNull();
});

test('the check detects an unknown key, a missing key and a value of another type in a response', async () => {
  const [answer] = await answersOf('v4', t.publisher.key);
  type Fields = Record<string, unknown>;
  const broken = (change: (data: { settings: Fields; popup: Fields; offer: Fields }) => void): unknown => {
    const copy = structuredClone(answer) as FetchOffersResponse;
    const { settings, styles, offers } = copy.data;
    change({ settings, popup: styles.popup, offer: offers[0] as Fields });
    return copy;
  };
  const values = [
    broken(({ offer }) => Object.assign(offer, { unknown: 1 })),
    broken(({ offer }) => delete offer.tags),
    broken(({ settings }) => delete settings.screen_margin),
    broken(({ settings }) => Object.assign(settings, { delay: '0' })),
    broken(({ popup }) => Object.assign(popup, { more: true })),
  ];
  expect(await typeErrors([{ type: 'FetchOffersResponse', values }])).toHaveLength(values.length);
});

test('the types match every webhook exactly', async () => {
  const publisher = [...t.deps.catalog.current().publishers.values()][0] as Publisher;
  const claims = [uspSelection, offerSaved, offerRemoved, conversionEvent].map(({ name, sample }) => {
    const bytes = sample({ publisher, publicUrl: 'https://offers.example', nowMs: t.deps.now() });
    return { type: `WebhookPayloads['${name}']`, values: [JSON.parse(bytes.toString())] };
  });
  expect(await typeErrors(claims)).toEqual([]);
});
