import { afterAll, beforeAll, expect, test } from 'vitest';
import { createTestApp, type TestApp } from '../support/test-app.ts';

let t: TestApp;
beforeAll(async () => {
  t = await createTestApp({ config: { publicUrl: 'http://localhost:8080' } });
});
afterAll(() => t.close());

test('docs/openapi.json describes the routes as they are (npm run openapi writes it anew)', async () => {
  const description = (await t.app.inject('/docs/json')).json();
  await expect(`${JSON.stringify(description, null, 2)}\n`).toMatchFileSnapshot('../../docs/openapi.json');
});
