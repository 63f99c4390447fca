import { afterAll, beforeAll, expect, test } from 'vitest';
import * as client from '../../../packages/client/src/index.ts';
import type { Publisher } from '../../../src/catalog/types.ts';
import { snippetsFor } from '../../../src/dashboard/pages/integration/snippets.ts';
import { createTestApp, type TestApp } from '../../support/test-app.ts';

let t: TestApp;
beforeAll(async () => {
  t = await createTestApp({ scripts: true });
});
afterAll(() => t.close());

test('every script and page in a snippet is served, and every import exists', async () => {
  const publisher = t.deps.catalog.current().publishersBySdkId.get(t.publisher.sdkId) as Publisher;
  const texts = snippetsFor(publisher, t.deps.config.publicUrl).map(({ text }) => text);
  const urls = texts.flatMap((text) => [...text.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, url = '']) => url));
  expect(urls.length).toBeGreaterThan(2);
  for (const url of urls) {
    const { pathname, search } = new URL(url.replaceAll('&amp;', '&'));
    expect((await t.app.inject(pathname + search)).statusCode, url).toBe(200);
  }
  const imports = texts.flatMap((text) => [...text.matchAll(/import \{ (\w+) \} from '(.*)'/g)]);
  expect(imports.map(([, name = '', from]) => [name in client, from])).toEqual([[true, '@perkwire/client']]);
});
