import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Browser, BrowserContext, Page, Request } from 'playwright-core';
import { expect, onTestFinished } from 'vitest';
import { closeContexts, newContext, openBrowser } from '../../support/browser.ts';
import { freePort } from '../../support/server-process.ts';
import { createTestApp, type TestApp } from '../../support/test-app.ts';

type SdkEvent = { event: string; payload: Record<string, unknown> };

export type PageSetup = {
  /** `window.AdConfig`, as JSON values. A callback that records events is added. */
  config?: Record<string, unknown>;
  user?: Record<string, unknown>;
  /** Script that the page runs before the SDK, after config and user are set. */
  before?: string;
  body?: string;
  /** Attributes of the `html` element. */
  html?: string;
  csp?: string;
  /** Nonce of the script tags. */
  nonce?: string | undefined;
  viewport?: { width: number; height: number };
  context?: BrowserContext;
  /** Path of the SDK script. */
  script?: string;
  /** API URL to use instead of the real API. */
  apiUrl?: string;
  /**
   * The whole page, which replaces all options above except the context. `%%HOST%%` is replaced with the service URL.
   */
  document?: string;
};

export type OpenPage = {
  page: Page;
  /** Returns the requests made, as "METHOD path" without the query. */
  calls: () => string[];
  requests: Request[];
  /** Uncaught errors and CSP violations on the page. */
  problems: string[];
  events: () => Promise<SdkEvent[]>;
  names: () => Promise<string[]>;
  until: (event: string, count?: number) => Promise<Record<string, unknown>>;
  calledTimes: (path: string) => number;
};

/** A real service, a web server with the shop's pages, and a browser. */
export type Stage = {
  t: TestApp;
  url: string;
  browser: Browser;
  pageUrl: string;
  newContext: () => Promise<BrowserContext>;
  open: (setup?: PageSetup) => Promise<OpenPage>;
  /** Returns the URL of another page, to navigate a tab to. */
  urlOf: (setup: PageSetup) => string;
  close: () => Promise<void>;
};

export async function startStage(): Promise<Stage> {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const t = await createTestApp({ config: { publicUrl: url }, scripts: true });
  await t.app.listen({ port, host: '127.0.0.1' });
  const setups = new Map<string, PageSetup>();
  const shop = await listen((path, response) => servePage(setups, url, path, response));
  const pageUrl = `http://127.0.0.1:${(shop.address() as AddressInfo).port}`;
  const browser = await openBrowser();
  let pages = 0;
  const urlOf = (setup: PageSetup): string => {
    const path = `/p${++pages}`;
    setups.set(path, setup);
    return pageUrl + path;
  };

  /** Opens a browser context and closes it after the test, because open pages slow down later tests. */
  async function openContext(): Promise<BrowserContext> {
    const context = await newContext(browser);
    onTestFinished(() => context.close());
    return context;
  }

  async function open(setup: PageSetup = {}): Promise<OpenPage> {
    const context = setup.context ?? (await openContext());
    const page = await context.newPage();
    if (setup.viewport !== undefined) await page.setViewportSize(setup.viewport);
    const requests: Request[] = [];
    const problems: string[] = [];
    page.on('request', (request) => requests.push(request));
    // The browser requests the favicon by itself, so such errors are not caused by the SDK.
    const addProblem = (text: string): void => void (text.includes('favicon') || problems.push(text));
    page.on('pageerror', (err) => addProblem(String(err)));
    page.on('console', (message) => {
      if (/Content.Security.Policy|Trusted/.test(message.text())) addProblem(message.text());
    });
    await serveAdvertisers(context);
    await page.goto(urlOf(setup));
    return openPage(page, requests, problems);
  }

  return {
    t,
    url,
    browser,
    pageUrl,
    newContext: openContext,
    open,
    urlOf,
    close: async () => {
      await closeContexts(browser);
      shop.close();
      shop.closeAllConnections();
      await t.close();
    },
  };
}

/** Serves advertisers' pages without network access. */
export const serveAdvertisers = (context: BrowserContext): Promise<unknown> =>
  context.route(/\.example\//, (route) => route.fulfill({ contentType: 'text/html', body: 'advertiser' }));

function openPage(page: Page, requests: Request[], problems: string[]): OpenPage {
  const events = () => page.evaluate(() => (window as unknown as { seen: SdkEvent[] }).seen);
  const pathOf = (request: Request): string => `${request.method()} ${new URL(request.url()).pathname}`;
  return {
    page,
    requests,
    problems,
    calls: () => requests.map(pathOf),
    events,
    names: async () => (await events()).map(({ event }) => event),
    until: async (event, count = 1) => {
      const findMatches = async () => (await events()).filter((sdkEvent) => sdkEvent.event === event);
      await expect
        .poll(async () => (await findMatches()).length, { message: `events ${event}` })
        .toBeGreaterThanOrEqual(count);
      return (await findMatches())[count - 1]?.payload ?? {};
    },
    calledTimes: (path) => requests.filter((request) => new URL(request.url()).pathname.endsWith(path)).length,
  };
}

function listen(serve: (path: string, response: ServerResponse) => void): Promise<Server> {
  return new Promise((resolve) => {
    const server = createServer((request, response) => serve(request.url ?? '/', response)).listen(0, '127.0.0.1', () =>
      resolve(server),
    );
  });
}

/** Serves a page without inline scripts, so that it can have a strict policy. */
function servePage(setups: Map<string, PageSetup>, apiUrl: string, path: string, response: ServerResponse): void {
  const [, name = '', file] = path.split(/[/?]/);
  const setup = setups.get(`/${name}`);
  if (setup === undefined) return void response.writeHead(404).end();
  if (file === 'setup.js')
    return void response.writeHead(200, { 'content-type': 'text/javascript' }).end(setupScript(setup));
  response.writeHead(200, {
    'content-type': 'text/html; charset=utf-8',
    ...(setup.csp === undefined ? {} : { 'content-security-policy': setup.csp }),
  });
  if (setup.document !== undefined) return void response.end(setup.document.replaceAll('%%HOST%%', apiUrl));
  const nonce = setup.nonce === undefined ? '' : ` nonce="${setup.nonce}"`;
  response.end(`<!doctype html><html ${setup.html ?? 'lang="en"'}>
<meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>Shop</title>
<body><main><h1>Thank you for your order</h1>${setup.body ?? ''}</main>
<script${nonce} src="/${name}/setup.js"></script>
<script${nonce} src="${apiUrl}${setup.script ?? '/sdk/launcher.js'}"></script></body></html>`);
}

function setupScript({ config = {}, user = {}, before = '', apiUrl }: PageSetup): string {
  const full = { accountId: '0123456789abcdef', ...(apiUrl === undefined ? {} : { apiUrl }), ...config };
  return `window.seen = [];
window.AdConfig = ${JSON.stringify(full)};
window.AdConfig.callback = (event, payload) => { window.seen.push({ event, payload }); };
window.AdUser = ${JSON.stringify(user)};
${before}`;
}

/** Returns the kinds of the recorded events, in order of arrival. */
export async function storedKinds({ t }: Stage): Promise<string[]> {
  const { rows } = await t.pool.query<{ kind: string }>('select kind from events order by at, kind');
  return rows.map(({ kind }) => kind);
}
