import { setTimeout as sleep } from 'node:timers/promises';
import sharp from 'sharp';
import { createPublisher } from '../../bench/catalogue.ts';
import { migrate } from '../../src/platform/db/migrate.ts';
import { startChaosPostgres } from '../chaos/postgres.ts';
import { launchBrowser } from '../support/browser.ts';
import { type ServerProcess, startServerProcess } from '../support/server-process.ts';
import { httpReceiver } from '../webhooks/dispatcher/send/receivers.ts';
import { openPool } from './service.ts';
import { startTraceViewer, type TraceViewer, type ViewedSpan } from './trace-viewer.ts';

const key = 'traces';
/** Trace and span IDs of the shop, which calls the service within this span. */
const [traceId, spanId] = ['0af7651916cd43dd8448eb211c80319c', 'b7ad6b7169203331'];

/**
 * Time limit for spans to arrive, in milliseconds. Spans are sent every five seconds, or later on an overloaded
 * machine.
 */
const limitMs = 60_000;

const fetchName = 'POST /native/v4/offers.json';
const wrapName = 'POST /sdk/v4/usp/session/:session_id.json';

/** Checks a shop's trace across a fetch, a wrap and a webhook that fails once, as a third-party collector shows it. */
export async function traces(): Promise<string> {
  const viewer = await startTraceViewer();
  const postgres = await startChaosPostgres();
  const pool = openPool(postgres.url);
  let calls = 0;
  const receiver = await httpReceiver((request, response) => {
    calls += 1;
    response.writeHead(calls === 1 ? 500 : 200);
    request.resume().on('end', () => response.end());
  });
  let server: ServerProcess | undefined;
  try {
    await migrate(postgres.url);
    await createPublisher(pool, { key, campaigns: 4 });
    const env = { OTEL_EXPORTER_OTLP_ENDPOINT: viewer.url };
    server = await startServerProcess({ databaseUrl: postgres.url, env });
    const { url } = server;
    const endpoint = { url: `http://127.0.0.1:${receiver.port}/hook`, method: 'POST', retry_steps_s: [0, 0] };
    await call(url, 'PUT', '/manage/v1/webhook-endpoints/usp.selection', endpoint);
    const request = { placement: 'checkout', pub_user_id: 'user-1' };
    await call(url, 'POST', '/native/v4/offers.json', request); // the first call is slower than others
    const startMs = Date.now();
    const shop = { traceparent: `00-${traceId}-${spanId}-01` };
    const { data } = await call(url, 'POST', '/native/v4/offers.json', request, shop);
    await call(url, 'POST', `/sdk/v4/usp/session/${data.session_id}.json`, { action: 'wrap' }, shop);
    await sendShopSpan(viewer.url, startMs);
    const spans = await untilComplete(viewer);
    process.stdout.write(`${treeOf(spans)}\n`);
    verify(spans);
    if (process.env.UPDATE_IMAGES === '1') await takeScreenshot(viewer);
    return `${spans.length} spans of one trace, from the fetch to the last attempt, each below its parent`;
  } finally {
    await server?.stop();
    await receiver.close();
    await pool.end();
    await postgres.close();
    await viewer.close();
  }
}

type CallResponse = { data: { session_id?: string } };

async function call(origin: string, method: string, path: string, body: object, headers = {}): Promise<CallResponse> {
  const answer = await fetch(`${origin}${path}?api_key=${key}`, {
    method,
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  });
  if (!answer.ok) throw new Error(`${method} ${path} was answered ${answer.status}`);
  return (await answer.json()) as CallResponse;
}

/** Sends the shop's own span, which is the parent of both calls. Times are in nanoseconds. */
async function sendShopSpan(viewerUrl: string, startMs: number): Promise<void> {
  const name = 'POST /orders';
  const time = { startTimeUnixNano: `${startMs}000000`, endTimeUnixNano: `${Date.now()}000000` };
  const resource = { attributes: [{ key: 'service.name', value: { stringValue: 'shop' } }] };
  const spans = [{ traceId, spanId, name, kind: 2, status: { code: 1 }, attributes: [], ...time }];
  const body = JSON.stringify({ resourceSpans: [{ resource, scopeSpans: [{ scope: {}, spans }] }] });
  const headers = { 'content-type': 'application/json' };
  const answer = await fetch(`${viewerUrl}/v1/traces`, { method: 'POST', headers, body });
  if (!answer.ok) throw new Error(`the viewer answered ${answer.status}`);
}

/** Expected spans, each below its parent. */
const expected = [
  ' > POST /orders: ',
  `POST /orders > ${fetchName}: 200`,
  `${fetchName} > decide: filled`,
  `${fetchName} > commit: `,
  `POST /orders > ${wrapName}: 200`,
  `${wrapName} > commit: `,
  `${wrapName} > webhook usp.selection: 500 retry ERROR`,
  'webhook usp.selection > claim: ',
  `${wrapName} > webhook usp.selection: 200 delivered`,
  'webhook usp.selection > claim: ',
];

async function untilComplete(viewer: TraceViewer): Promise<readonly ViewedSpan[]> {
  const endMs = performance.now() + limitMs;
  for (;;) {
    const spans = await viewer.spansOf(traceId);
    if (spans.length >= expected.length || performance.now() > endMs) return spans;
    await sleep(250);
  }
}

/** Returns the result recorded in a span, such as `200 delivered`. */
const resultOf = ({ attributes, status }: ViewedSpan): string =>
  [
    attributes['http.response.status_code'],
    attributes['perkwire.result'],
    attributes['perkwire.outcome'],
    status.code === 'ERROR' ? 'ERROR' : undefined,
  ]
    .filter((value) => value !== undefined)
    .join(' ');

/** @throws if a span is missing, unexpected, or has the wrong parent */
function verify(spans: readonly ViewedSpan[]): void {
  const names = new Map(spans.map((span) => [span.spanId, span.name]));
  const lines = spans.map((span) => {
    const parent = span.parentSpanId ?? '';
    return `${names.get(parent) ?? parent} > ${span.name}: ${resultOf(span)}`;
  });
  const [actualText, expectedText] = [lines.toSorted().join('\n'), expected.toSorted().join('\n')];
  if (actualText !== expectedText) throw new Error(`the viewer shows\n${actualText}\ninstead of\n${expectedText}`);
}

/** Formats a trace as a tree, with children below their parents, by time. */
function treeOf(spans: readonly ViewedSpan[], parentId?: string, depth = 2): string {
  return spans
    .filter(({ parentSpanId }) => parentSpanId === parentId)
    .sort((a, b) => a.startTime - b.startTime)
    .flatMap((span) => {
      const line = `${'  '.repeat(depth)}${span.name}`;
      return [`${line.padEnd(56)} ${resultOf(span)}`.trimEnd(), treeOf(spans, span.spanId, depth + 1)];
    })
    .filter((text) => text !== '')
    .join('\n');
}

/** Takes a screenshot of the trace in the viewer. */
async function takeScreenshot({ url }: TraceViewer): Promise<void> {
  const browser = await launchBrowser();
  const page = await browser.newPage({ viewport: { width: 1280, height: 690 } });
  await page.goto(url);
  await page.getByText('POST /orders').click();
  await page.getByText('claim').last().waitFor();
  await sharp(await page.screenshot())
    .resize({ width: 1000 })
    .webp({ quality: 78 })
    .toFile('docs/images/traces.webp');
  await browser.close();
}
