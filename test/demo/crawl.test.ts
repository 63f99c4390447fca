import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { demoOperatorKey } from '../../src/demo/catalogue.ts';
import { writeHistory } from '../../src/demo/write-history.ts';
import { signInAs, type TestUser } from '../dashboard/support.ts';
import { type DemoServer, startDemoServer } from './support.ts';

/** Maximum number of pages that a crawl opens. Lists link to many rows, whose pages are alike. */
const maxPages = 200;
/**
 * Maximum number of opened pages of one kind, such as pages of a delivery, or pages that differ only in their query.
 */
const maxOfKind = 2;

let demo: DemoServer;
beforeAll(async () => {
  demo = await startDemoServer('rollup', 'delivery counts');
  await writeHistory(demo.t.deps);
});
afterAll(() => demo?.close());

/** Returns the kind of a page: `/p/7/deliveries/42?page=3` and `/p/7/deliveries/43` are of one kind. */
const kindOf = (path: string): string => path.replace(/\?.*$/, '?').replace(/\/[^/?]*(\d|%)[^/?]*/g, '/:id');

const linksIn = (body: string): string[] =>
  [...body.matchAll(/\b(?:href|src|hx-get|data-frame)="([^"]*)"/g)].map(([, link = '']) =>
    link.replaceAll('&amp;', '&').replaceAll('&#38;', '&').replace(/#.*$/, ''),
  );

/**
 * Follows the links of pages, breadth first.
 * @returns the pages that failed; `seen` is the number of opened pages of each kind
 */
async function crawl(
  start: string,
  open: TestUser['get'],
): Promise<{ failed: string[]; openedByKind: Map<string, number> }> {
  const queue = [start];
  const queued = new Set(queue);
  const openedByKind = new Map<string, number>();
  const failed: string[] = [];
  for (let at = 0; at < queue.length && at < maxPages; at += 1) {
    const path = queue[at] as string;
    const { statusCode, body, headers } = await open(path);
    if (statusCode >= 500) failed.push(`${statusCode} ${path}`);
    const next = typeof headers.location === 'string' ? [headers.location] : linksIn(body);
    for (const link of next.filter((href) => URL.canParse(href, demo.url))) {
      const url = new URL(link, new URL(path, demo.url));
      const target = url.pathname + url.search;
      if (url.origin !== demo.url || queued.has(target) || /stream|\.(js|css|png|svg|jpe?g|webp)$/.test(url.pathname))
        continue;
      const kind = kindOf(target);
      const opened = openedByKind.get(kind) ?? 0;
      if (opened >= maxOfKind) continue;
      openedByKind.set(kind, opened + 1);
      queued.add(target);
      queue.push(target);
    }
  }
  return { failed, openedByKind };
}

describe('no link in the demo leads to an error', () => {
  test.each(['analyst', 'manager', 'admin', 'operator'] as const)('for the role %s', async (role) => {
    const user = await signInAs(demo.t, role);
    const { failed, openedByKind } = await crawl(`/dashboard/p/${demo.t.publisher.id}/overview`, user.get);
    expect(failed).toEqual([]);
    expect([...openedByKind.keys()].some((kind) => /\/deliveries\/:id$/.test(kind))).toBe(true);
    expect(openedByKind.size).toBeGreaterThan(30);
  });
});

type Operation = { parameters?: { name: string; in: string }[] };

test('no API GET fails for IDs from its own lists', async () => {
  const { app } = demo;
  const get = (path: string, key: string) => app.inject({ url: path, headers: { authorization: `Bearer ${key}` } });
  const { paths } = (await get('/docs/json', demoOperatorKey)).json() as { paths: Record<string, { get?: Operation }> };
  const failed: string[] = [];
  let requestCount = 0;
  let itemCount = 0;
  const ask = async (path: string) => {
    requestCount += 1;
    const answer = await get(path, path.startsWith('/manage') ? demoOperatorKey : demo.t.publisher.key);
    if (answer.statusCode >= 500) failed.push(`${answer.statusCode} ${path}`);
    return answer;
  };
  const scope = (path: string) => (path.startsWith('/manage') ? `?publisher_id=${demo.t.publisher.id}` : '');
  for (const [path, { get: operation }] of Object.entries(paths)) {
    // /health/learning returns 503 here, because no worker learns.
    if (operation === undefined || /stream|listeners|health\/learning/.test(path)) continue;
    if (!path.includes('{')) {
      await ask(path + scope(path));
      continue;
    }
    const list = path.slice(0, path.indexOf('/{'));
    if (paths[list]?.get === undefined) continue;
    const rows = (await ask(list + scope(list))).json().data;
    const ids = (Array.isArray(rows) ? rows : []).slice(0, maxOfKind).map((row) => row.id ?? row.name ?? row.event);
    for (const id of ids) {
      const { statusCode } = await ask(path.replace(/\{[^}]*\}/, encodeURIComponent(String(id))) + scope(path));
      // The offer may not have coupon codes.
      expect(path.endsWith('/coupon-pool') ? [200, 404, 500] : [200, 500], path).toContain(statusCode);
      itemCount += 1;
    }
  }
  expect(requestCount).toBeGreaterThan(60);
  expect(itemCount).toBeGreaterThan(15);
  expect(failed).toEqual([]);
});
