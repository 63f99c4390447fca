import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { dayOf } from '../src/platform/lib/time.ts';
import { newUuid7 } from '../src/platform/lib/uuid7.ts';
import type { Measure } from './conversions.ts';
import { type LoadResult, postRequest } from './load.ts';
import type { ReportRow } from './report.ts';
import { type Stage, untilRolledUp } from './stage.ts';

const wraps = 1000;
/**
 * Number of wraps before the measurement. The first ones take up to 170 ms, because connections plan their statements
 * and the process compiles its code.
 */
const warmUps = 50;

/**
 * Measures the time from sending a wrap until its webhook arrives, one at a time on an idle server. Compares it with a
 * bare route that only forwards the request.
 */
export async function benchWrapLatency(stage: Stage, port: number, barePort: number): Promise<ReportRow[]> {
  let arrived: (() => void) | null = null;
  const receiver = createServer((request, response) => {
    request.resume().on('end', () => {
      arrived?.();
      response.end('ok');
    });
  }).listen(0, '127.0.0.1');
  await new Promise((resolve) => receiver.once('listening', resolve));
  const to = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/hook`;
  await sendWebhooks(port, to);

  const timed = async (start: () => Promise<unknown>): Promise<number> => {
    const startMs = performance.now();
    const done = new Promise<void>((resolve) => {
      arrived = resolve;
    });
    await start();
    await done;
    return performance.now() - startMs;
  };
  const latencies: number[] = [];
  const bareLatencies: number[] = [];
  for (let index = -warmUps; index < wraps; index++) {
    const answer = await call(port, 'POST', '/native/v4/offers.json?api_key=bench-100', {
      placement: 'checkout',
      pub_user_id: `wrap-${index}`,
    });
    const { data } = answer as { data: { session_id: string; offers: { campaign_id: number }[] } };
    await call(
      port,
      'POST',
      `/sdk/v4/usp/${data.session_id}/${data.offers[0]?.campaign_id}/select.json?api_key=bench-100`,
      {
        pub_user_id: `wrap-${index}`,
      },
    );
    const wrapPath = `/sdk/v4/usp/session/${data.session_id}.json?api_key=bench-100`;
    const latency = await timed(() => call(port, 'POST', wrapPath, { action: 'wrap' }));
    const bareLatency = await timed(() => call(barePort, 'POST', `/forward?to=${encodeURIComponent(to)}`, {}));
    if (index < 0) continue;
    latencies.push(latency);
    bareLatencies.push(bareLatency);
  }
  receiver.close();
  receiver.closeAllConnections();
  const { rows } = await stage.pool.query("select count(*) from deliveries where status = 'delivered'");
  return [
    {
      what: 'wrap → webhook received, idle',
      measured: summary(latencies),
      bare: summary(bareLatencies),
      note: `${rows[0].count} deliveries for ${wraps + warmUps} wraps`,
    },
  ];
}

/** Maximum number of wraps prepared per second of load. */
const maxPerS = 10_000;

/**
 * Measures wraps of different open sessions over 64 connections. A second run has commits that take 8 ms longer
 * (PostgreSQL's `commit_delay`), as on a remote disk. Compares the number of deliveries with the number of responses.
 */
export async function benchWraps(
  stage: Stage,
  measure: Measure,
  { port, seconds }: { port: number; seconds: number },
): Promise<ReportRow[]> {
  const rows: ReportRow[] = [];
  const receiver = createServer((request, response) => {
    request.resume().on('end', () => response.end('ok'));
  }).listen(0, '127.0.0.1');
  await new Promise((resolve) => receiver.once('listening', resolve));
  await sendWebhooks(port, `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/hook`);
  for (const delayMs of [0, 8]) {
    await stage.pool.query(`alter system set commit_delay = ${delayMs * 1000}`);
    await stage.pool.query('alter system set commit_siblings = 0');
    await stage.pool.query('select pg_reload_conf()');
    const ids = await openSessions(stage.pool, port, Math.ceil(maxPerS * (seconds + Math.min(5, seconds))));
    await untilRolledUp(stage.pool);
    const count = async (): Promise<number> =>
      Number((await stage.pool.query('select count(*) from deliveries')).rows[0].count);
    const before = await count();
    let sent = 0;
    const what = `wrap, 64 connections${delayMs === 0 ? '' : `, commits ${delayMs} ms slower`}`;
    const measured = await measure(what, 64, port, () => wrapRequest(ids[sent++] as string));
    rows.push({ what, measured, bare: null, note: `${(await count()) - before} deliveries for ${sent} responses` });
  }
  await stage.pool.query('alter system reset commit_delay');
  await stage.pool.query('select pg_reload_conf()');
  receiver.close();
  receiver.closeAllConnections();
  return rows;
}

export const wrapRequest = (session: string): string =>
  postRequest(`/sdk/v4/usp/session/${session}.json?api_key=bench-100`, '{"action":"wrap"}');

/** Sets the webhook URL for the publisher's wraps. */
export async function sendWebhooks(port: number, url: string): Promise<void> {
  const endpoint = '/manage/v1/webhook-endpoints/usp.selection?api_key=bench-100';
  await call(port, 'PUT', endpoint, { url, method: 'POST', enabled: true });
}

/**
 * Inserts copies of one session.
 * @returns the session IDs
 */
export async function openSessions(pool: Stage['pool'], port: number, count: number): Promise<string[]> {
  const body = { placement: 'checkout', pub_user_id: 'wraps' };
  const answer = await call(port, 'POST', '/native/v4/offers.json?api_key=bench-100', body);
  const { data } = answer as { data: { session_id: string } };
  const nowMs = Date.now();
  const ids = Array.from({ length: count }, () => newUuid7(nowMs));
  await pool.query(
    `insert into sessions select (jsonb_populate_record(s, jsonb_build_object('id', copy.id))).*
    from sessions s, unnest($2::uuid[]) copy (id) where s.day = $3 and s.id = $1`,
    [data.session_id, ids, dayOf(nowMs)],
  );
  return ids;
}

function summary(latencies: number[]): LoadResult {
  const sorted = latencies.toSorted((a, b) => a - b);
  const at = (share: number): number => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
  const totalMs = latencies.reduce((sum, value) => sum + value, 0);
  return {
    requests: sorted.length,
    ok: sorted.length,
    failed: 0,
    perS: (sorted.length / totalMs) * 1000,
    p50Ms: at(0.5),
    p99Ms: at(0.99),
    maxMs: at(1),
  };
}

async function call(port: number, method: string, path: string, body: object): Promise<unknown> {
  const answer = await fetch(`http://127.0.0.1:${port}${path}`, {
    method,
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  if (!answer.ok)
    throw new Error(`${method} ${path.split('?')[0]} responded with ${answer.status}: ${await answer.text()}`);
  return answer.json();
}
