import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { build } from 'esbuild';
import createClient from 'openapi-fetch';
import openapiTS from 'openapi-typescript';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { installTools, loadTool } from '../../scripts/tools.ts';
import { freePort } from '../support/server-process.ts';
import { createTestApp, type TestApp } from '../support/test-app.ts';

/** Changes one row through a generated client, and resolves with the response status. */
type Update = (kind: Kind, id: string, changes: object) => Promise<number>;

/** Kinds of rows, each with a field to change and the stored values. */
const kinds = [
  { name: 'offers', operationId: 'updateOffer', change: { title: 'Changed' } },
  { name: 'campaigns', operationId: 'updateCampaign', change: { name: 'Changed' } },
  { name: 'advertisers', operationId: 'updateAdvertiser', change: { name: 'Changed' } },
  { name: 'themes', operationId: 'updateTheme', change: { name: 'Changed' } },
  { name: 'placements', operationId: 'updatePlacement', change: { unit_enabled: false } },
] as const;
type Kind = (typeof kinds)[number];

/** Stored values that differ from the field defaults, so that a default that is sent by mistake is noticed. */
const stored: Record<string, object> = {
  offers: {
    useraction_url: 'https://brand.example/more',
    useraction_cta: 'More',
    adv_pixel_url: 'https://pixel.example/p.gif',
    mini_text: 'Small print',
    weight: 7,
    wallet_enabled: false,
    language: 'de',
  },
  campaigns: { priority: 3, weight: 7, category: 'Travel' },
};

let t: TestApp;
let url: string;
let folder: string;
let description: string;
let clients: Record<string, Update>;
beforeAll(async () => {
  const port = await freePort();
  url = `http://127.0.0.1:${port}`;
  t = await createTestApp({ config: { publicUrl: url } });
  await t.app.listen({ port, host: '127.0.0.1' });
  description = await readFile(new URL('../../docs/openapi.json', import.meta.url), 'utf8');
  await installTools();
  // The folder is inside the tools, so that their packages are found.
  folder = await mkdtemp(fileURLToPath(new URL('../../tools/node_modules/.generated-updates-', import.meta.url)));
  await writeFile(join(folder, 'openapi.json'), description);
  clients = { types: await typesClient(), zod: await zodClient(), fetch: await fetchClient() };
}, 240_000);
afterAll(async () => {
  await rm(folder, { recursive: true, force: true });
  await t.close();
});

const headers = () => ({ authorization: `Bearer ${t.publisher.key}`, 'content-type': 'application/json' });

/** Returns an update function that uses openapi-fetch, with query and body in the generated types. */
async function typesClient(): Promise<Update> {
  const types = await openapiTS(JSON.parse(description));
  expect(types).toContain('publisher_id?: number');
  const client = createClient<Record<string, never>>({ baseUrl: url, headers: headers() });
  const patch = client.PATCH as unknown as (path: string, call: object) => Promise<{ response: Response }>;
  return async ({ name }, id, body) => {
    const key = name === 'placements' ? 'name' : 'id';
    const params = { path: { [key]: id }, query: { publisher_id: t.publisher.id } };
    return (await patch(`/manage/v1/${name}/{${key}}`, { params, body })).response.status;
  };
}

type Orval = { generate: (options: object) => Promise<void> };

/** Loads the module that orval generates. */
async function generatedModule(client: 'zod' | 'fetch'): Promise<Record<string, unknown>> {
  const { generate } = await loadTool<Orval>('orval');
  const target = join(folder, `${client}.ts`);
  const output = { target, client, mode: 'single', baseUrl: url } as const;
  await generate({ input: join(folder, 'openapi.json'), output, hooks: {} });
  const outfile = target.replace('.ts', '.mjs');
  await build({ entryPoints: [target], outfile, bundle: true, format: 'esm', platform: 'node', logLevel: 'error' });
  return import(pathToFileURL(outfile).href);
}

/** Returns an update function whose bodies are parsed by the generated schema. */
async function zodClient(): Promise<Update> {
  const schemas = await generatedModule('zod');
  return async ({ name, operationId }, id, changes) => {
    const schema = schemas[`${operationId}Body`] as { parse: (value: unknown) => object };
    expect(schema.parse({}), name).toEqual({});
    const body = JSON.stringify(schema.parse(changes));
    const response = await fetch(`${url}/manage/v1/${name}/${id}`, { method: 'PATCH', headers: headers(), body });
    return response.status;
  };
}

async function fetchClient(): Promise<Update> {
  const operations = await generatedModule('fetch');
  return async ({ operationId }, id, changes) => {
    const update = operations[operationId] as (...parameters: unknown[]) => Promise<{ status: number }>;
    return (
      await update(
        id,
        changes,
        { publisher_id: t.publisher.id },
        { headers: { authorization: headers().authorization } },
      )
    ).status;
  };
}

async function call(method: string, path: string, body?: object): Promise<Record<string, unknown>> {
  const payload = body === undefined ? {} : { body: JSON.stringify(body) };
  const response = await fetch(`${url}/manage/v1/${path}`, { method, headers: headers(), ...payload });
  const answer = (await response.json()) as { data: Record<string, unknown> };
  expect(response.status, JSON.stringify(answer)).toBe(200);
  return answer.data;
}

describe.each(kinds)('a change to one field of $name', (kind) => {
  test.each(['types', 'zod', 'fetch'])(
    'keeps all other fields when a generated client sends it (%s)',
    async (client) => {
      const [first] = (await call('GET', `${kind.name}?limit=1`)) as unknown as Record<string, unknown>[];
      const id = String(first?.id ?? first?.name);
      const before = await call('PATCH', `${kind.name}/${id}`, stored[kind.name] ?? { ...undo(kind, first) });
      expect(await clients[client]?.(kind, id, kind.change)).toBe(200);
      const after = await call('GET', `${kind.name}/${id}`);
      expect(after).toEqual({ ...before, ...kind.change, updated_at: after.updated_at });
      await call('PATCH', `${kind.name}/${id}`, undo(kind, before));
    },
  );
});

/** Returns the previous value of a changed field. */
const undo = ({ change }: Kind, row: Record<string, unknown> = {}): object =>
  Object.fromEntries(Object.keys(change).map((name) => [name, row[name]]));
