import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { findReference } from '../support/api-description.ts';
import { createTestApp, type TestApp } from '../support/test-app.ts';

type Reference = { $ref?: string };
type ResponseObject = Reference & { description?: string; content?: Record<string, { schema: Reference }> };
type Parameter = Reference & { name: string; in: string; required?: boolean; schema: unknown };
type Operation = {
  operationId?: string;
  summary?: string;
  tags?: string[];
  parameters?: Parameter[];
  requestBody?: { content: Record<string, { schema: unknown }> };
  responses: Record<string, ResponseObject>;
};
type Description = {
  openapi: string;
  info: { title: string; version: string };
  servers: { url: string }[];
  paths: Record<string, { parameters?: Parameter[] } & { [method: string]: Operation }>;
  components: { schemas: Record<string, unknown> };
};

let t: TestApp;
let description: Description;
let operations: { name: string; path: string; method: string; operation: Operation }[];
beforeAll(async () => {
  t = await createTestApp();
  const answer = await t.app.inject('/docs/json');
  expect(answer.statusCode).toBe(200);
  description = answer.json();
  operations = Object.entries(description.paths).flatMap(([path, { parameters: shared = [], ...methods }]) =>
    Object.entries(methods as Record<string, Operation>).map(([method, { parameters = [], ...rest }]) => {
      const operation = { ...rest, parameters: [...shared, ...parameters] };
      return { name: `${method} ${path}`, path, method, operation };
    }),
  );
});
afterAll(() => t?.close());

/** Resolves a reference. Returns any other value unchanged. */
function resolve<Value extends Reference>(value: Value): Value {
  return value.$ref === undefined ? value : (findReference(description, value.$ref) as Value);
}

/** Returns the names of operations that fail the check. */
const without = (check: (entry: { path: string; method: string; operation: Operation }) => boolean): string[] =>
  operations.filter((entry) => !check(entry)).map(({ name }) => name);

describe('the OpenAPI description', () => {
  test('has version 3.1 and names the product and the configured origin', () => {
    expect(description.openapi).toMatch(/^3\.1\.\d+$/);
    expect(description.info).toMatchObject({ title: 'Perkwire', version: expect.stringMatching(/^\d+\.\d+\.\d+$/) });
    expect(description.servers).toEqual([{ url: 'http://perks.test' }]);
  });

  test('contains the public calls', () => {
    const names = operations.map(({ name }) => name);
    for (const name of [
      'post /native/v2/offers.json',
      'post /native/v4/offers.json',
      'get /sdk/v2/impression/p.png',
      'get /event/record/no_thanks_click',
      'get /event/record/close',
      'get /sdk/offer-click',
      'post /sdk/v4/usp/{session_id}/{campaign_id}/select.json',
      'put /sdk/v4/usp/session/{session_id}.json',
    ])
      expect(names).toContain(name);
  });

  test('has a unique id for every operation', () => {
    expect(without(({ operation }) => operation.operationId !== undefined)).toEqual([]);
    const ids = operations.map(({ operation }) => operation.operationId);
    expect(ids.filter((id, at) => ids.indexOf(id) !== at)).toEqual([]);
  });

  test('has a summary, a tag and a success response for every operation', () => {
    expect(without(({ operation }) => (operation.summary ?? '') !== '')).toEqual([]);
    expect(without(({ operation }) => (operation.tags ?? []).length > 0)).toEqual([]);
    expect(without(({ operation }) => Object.keys(operation.responses).some((status) => /^[23]/.test(status)))).toEqual(
      [],
    );
  });

  test('declares every path variable as a parameter', () => {
    expect(
      without(({ path, operation }) =>
        [...path.matchAll(/\{(\w+)\}/g)].every(([, name]) =>
          operation.parameters
            ?.map(resolve)
            .some((parameter) => parameter.name === name && parameter.in === 'path' && parameter.required === true),
        ),
      ),
    ).toEqual([]);
  });

  test('describes every error response by the same error format', () => {
    const broken = operations
      .filter(({ path }) => !path.startsWith('/health/'))
      .flatMap(({ name, operation }) =>
        Object.entries(operation.responses)
          .filter(([status, answer]) => {
            const { content } = resolve(answer);
            // A request with an invalid token gets the same image as one with a valid token.
            if (/^[23]/.test(status) || content?.['image/png'] !== undefined) return false;
            return content?.['application/json']?.schema.$ref !== '#/components/schemas/Error';
          })
          .map(([status]) => `${name} ${status}`),
      );
    expect(broken).toEqual([]);
    expect(description.components.schemas.Error).toMatchObject({
      type: 'object',
      required: ['message', 'error', 'request_id'],
      properties: { error: { required: ['code', 'message'] } },
    });
  });

  test('defines each repeated schema once under a name', () => {
    const countByText = new Map<string, number>();
    const visit = (value: unknown): void => {
      if (typeof value !== 'object' || value === null) return;
      const text = JSON.stringify(value);
      if ('properties' in value && text.length > 400) countByText.set(text, (countByText.get(text) ?? 0) + 1);
      for (const child of Object.values(value)) visit(child);
    };
    visit(description.paths);
    visit(description.components.schemas);
    expect([...countByText].flatMap(([text, count]) => (count > 1 ? [`give a title to ${text}`] : []))).toEqual([]);
  });

  test('contains every schema that it refers to', () => {
    const references = [...JSON.stringify(description).matchAll(/"\$ref":"([^"]+)"/g)].map(
      ([, target]) => target as string,
    );
    expect(references.length).toBeGreaterThan(10);
    for (const $ref of new Set(references)) {
      expect($ref).toMatch(/^#\//);
      resolve({ $ref });
    }
  });

  test('describes the fields of fetch-offers', () => {
    const fetch = description.paths['/native/v4/offers.json']?.post;
    expect(fetch?.parameters?.map((parameter) => resolve(parameter).name)).toEqual(
      expect.arrayContaining(['loyaltyboost', 'creative', 'campaignId', 'country', 'pub_user_id']),
    );
    const body = resolve(fetch?.requestBody?.content['application/json']?.schema as Reference) as {
      properties: Record<string, unknown>;
    };
    expect(Object.keys(body.properties)).toEqual(
      expect.arrayContaining(['placement', 'ua', 'ip', 'ad_fp', 'pub_user_id', 'dev']),
    );
  });
});

test('the documentation can be browsed at /docs', async () => {
  const page = await t.app.inject('/docs');
  expect(page.statusCode).toBe(200);
  expect(page.headers['content-type']).toMatch(/^text\/html/);
  // Files that the page loads and pages that it links to are served here, too.
  const linked = [...page.body.matchAll(/(?:src|href)="(\/docs[^"#]*)/g)].map(([, path]) => path as string);
  expect(linked.length).toBeGreaterThan(25);
  for (const path of new Set(linked))
    expect([path, (await t.app.inject(path)).statusCode]).toEqual([path, path === '/docs/guides' ? 302 : 200]);
  expect((await t.app.inject('/docs/api/nothing')).statusCode).toBe(404);
});
