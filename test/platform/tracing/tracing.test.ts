import { expect, test } from 'vitest';
import { startOpenTelemetry } from '../../../src/platform/tracing/open-telemetry.ts';
import { saveUrlOf, showOneTo } from '../../perks/wallet/support.ts';
import { createTestApp, type TestApp } from '../../support/test-app.ts';
import { clickIdOf } from '../../tracking/conversions/support.ts';
import { type Hook, startHook, startTestDispatcher } from '../../webhooks/dispatcher/support.ts';
import { type ReceivedSpan, startCollector } from './collector.ts';

const callersTrace = '0af7651916cd43dd8448eb211c80319c';
const callersSpan = 'b7ad6b7169203331';

const send = async (t: TestApp, method: 'POST' | 'PUT', path: string, payload: object, traceparent?: string) => {
  const headers = traceparent === undefined ? {} : { traceparent };
  const url = `${path}${path.includes('?') ? '&' : '?'}api_key=${t.publisher.key}`;
  const answer = await t.app.inject({ method, url, payload, headers });
  expect(answer.statusCode, answer.body).toBeLessThan(300);
  return answer.json().data;
};

/** Fetches offers for a user, and wraps the session. */
async function fetchAndWrap(t: TestApp, user: string, wrapTraceparent: string): Promise<string> {
  const request = { placement: 'checkout', theme_id: 'mou', pub_user_id: user };
  const { session_id } = await send(t, 'POST', '/native/v4/offers.json', request);
  const path = `/sdk/v4/usp/session/${session_id}.json`;
  await send(t, 'POST', path, { action: 'wrap', pub_user_id: user }, wrapTraceparent);
  return session_id;
}

const setEndpoint = (t: TestApp, { url }: Hook) =>
  send(t, 'PUT', '/manage/v1/webhook-endpoints/usp.selection', { url, method: 'POST', retry_steps_s: [0, 0] });

const withName = (spans: readonly ReceivedSpan[], name: string) => spans.filter((span) => span.name === name);

test('a trace leads from the caller through the fetch or wrap to the last webhook attempt', async () => {
  const collector = await startCollector();
  const tracing = { endpoint: collector.endpoint, headers: { 'x-tenant': 'a b' }, serviceName: 'perks' };
  const t = await createTestApp({ config: { tracing: { ...tracing, sampler: 'parentbased_always_on', ratio: 1 } } });
  const hook = await startHook((response, _taken, count) => void response.writeHead(count === 1 ? 500 : 200).end());
  const dispatcher = await startTestDispatcher(t, { tracing: t.deps.tracing });
  await setEndpoint(t, hook);
  await t.app.inject('/health/live');
  const sessionId = await fetchAndWrap(t, 'user-1', `00-${callersTrace}-${callersSpan}-01`);
  await expect.poll(() => hook.requests.length).toBe(2);
  const unsampled = `00-${callersTrace.replaceAll('0', '1')}-${callersSpan}-00`;
  await fetchAndWrap(t, 'user-2', unsampled);
  await fetchAndWrap(t, 'user-3', `00-${'0'.repeat(32)}-${callersSpan}-01`);
  await expect.poll(() => hook.requests.length).toBe(4);
  await dispatcher.stop();
  await t.close();
  await Promise.all([hook.close(), collector.close()]);

  expect(collector.headers[0]).toMatchObject({ 'x-tenant': 'a b' });
  const spans = collector.spans.filter(({ traceId }) => traceId === callersTrace);
  const [wrap] = withName(spans, 'POST /sdk/v4/usp/session/:session_id.json');
  expect(wrap).toMatchObject({ parentId: callersSpan, attributes: { 'http.response.status_code': 200 } });
  expect(withName(spans, 'commit')).toMatchObject([{ parentId: wrap?.id, attributes: { 'perkwire.batch.items': 1 } }]);
  const attempts = withName(spans, 'webhook usp.selection').sort((a, b) => (a.startNs < b.startNs ? -1 : 1));
  expect(attempts).toMatchObject([
    {
      parentId: wrap?.id,
      failed: true,
      attributes: { 'http.response.status_code': 500, 'server.address': '127.0.0.1' },
    },
    { parentId: wrap?.id, failed: false, attributes: { 'perkwire.outcome': 'delivered' } },
  ]);
  expect(
    withName(spans, 'claim')
      .map(({ parentId }) => parentId)
      .sort(),
  ).toEqual(attempts.map(({ id }) => id).sort());
  expect(spans).toHaveLength(6);
  expect(spans.every(({ startNs, endNs }) => startNs > 0n && endNs >= startNs)).toBe(true);
  // The receiver gets the trace context of the attempt. A caller's decision not to sample is respected and passed on.
  const sent = hook.requests.map(({ headers }) => headers.traceparent);
  expect(sent.slice(0, 2)).toEqual(attempts.map(({ id }) => `00-${callersTrace}-${id}-01`));
  expect(sent).toContain(unsampled);
  expect(collector.spans.filter(({ traceId }) => unsampled.includes(traceId))).toEqual([]);
  // An invalid header is ignored, so the wrap starts a new trace.
  expect(
    withName(collector.spans, 'POST /sdk/v4/usp/session/:session_id.json').map(({ parentId }) => parentId),
  ).toContain('');

  expect(withName(collector.spans, 'GET /health/live')).toEqual([]);
  const fetches = withName(collector.spans, 'POST /native/v4/offers.json');
  expect(fetches).toHaveLength(3);
  const decided = collector.spans.find((span) => span.attributes['perkwire.session_id'] === sessionId);
  const fetch = fetches.find(({ id }) => id === decided?.parentId);
  expect(decided).toMatchObject({
    name: 'decide',
    traceId: fetch?.traceId,
    attributes: { 'perkwire.result': 'filled' },
  });
  expect(
    collector.spans
      .filter(({ parentId }) => parentId === fetch?.id)
      .map(({ name }) => name)
      .sort(),
  ).toEqual(['commit', 'decide']);
});

test('traces that begin here are sampled by share, and others follow the decision of their caller', async () => {
  const collector = await startCollector();
  const draws = [0.009, 0.01, 0.5, 0.999];
  const setting = { endpoint: collector.endpoint, headers: {}, serviceName: 'perks', ratio: 0.01 } as const;
  const tracing = startOpenTelemetry(
    { ...setting, sampler: 'parentbased_traceidratio' },
    () => {},
    () => draws.shift() ?? 1,
  );
  const names = ['drawn', 'at the ratio', 'above it', 'far above it'];
  const [drawn, ...rest] = names.map((name) => tracing.start(name, 'server', null));
  expect([drawn?.traceparent, ...rest]).toEqual([expect.stringMatching(/-01$/), null, null, null]);
  drawn?.child('part', performance.now(), performance.now());
  drawn?.end({});
  tracing.start('of a caller', 'server', `00-${callersTrace}-${callersSpan}-01`)?.end({});
  const unsampled = `00-${callersTrace}-${callersSpan}-00`;
  expect(tracing.start('passed on', 'server', unsampled)?.traceparent).toBe(unsampled);
  await tracing.close();
  await collector.close();
  expect(collector.spans.map(({ name }) => name).sort()).toEqual(['drawn', 'of a caller', 'part']);
});

test('wallet, conversion and trigger webhooks belong to the trace of their call', async () => {
  const collector = await startCollector();
  const tracing = { endpoint: collector.endpoint, headers: {}, serviceName: 'perks', ratio: 1 };
  const t = await createTestApp({ config: { tracing: { ...tracing, sampler: 'parentbased_always_on' } } });
  await t.pool.query('update publishers set wallet_enabled = true');
  await t.deps.catalog.refresh();
  const hook = await startHook();
  const dispatcher = await startTestDispatcher(t, { tracing: t.deps.tracing });
  const events = ['offer_saved', 'offer_removed', 'conversion', 'usp.selection'];
  const { id } = await send(t, 'POST', '/manage/v1/webhook-endpoints', { url: hook.url, events });
  const offer = await showOneTo(t, 'saver');
  const clickId = await clickIdOf(t, offer.click_url);
  const key = `api_key=${t.publisher.key}`;
  const callers = new Map<string, string>();
  const call = async (event: string, method: 'POST' | 'DELETE', url: string, payload?: object): Promise<void> => {
    const traceId = String(callers.size + 1).repeat(32);
    callers.set(event, traceId);
    const headers = { traceparent: `00-${traceId}-${callersSpan}-01` };
    const answer = await t.app.inject({ method, url, headers, ...(payload === undefined ? {} : { payload }) });
    expect(answer.statusCode, answer.body).toBeLessThan(300);
  };
  await call('offer_saved', 'POST', saveUrlOf(offer));
  await call('offer_removed', 'DELETE', `/wallet/v1/offers/${offer.id}.json?${key}&pub_user_id=saver`);
  await call('conversion', 'POST', '/track', { click_id: clickId, payout: '2' });
  await call('usp.selection', 'POST', `/manage/v1/webhook-triggers?${key}`, { event: 'usp.selection', endpoint: id });
  await expect.poll(() => hook.requests.length).toBe(events.length);
  await dispatcher.stop();
  await t.close();
  await Promise.all([hook.close(), collector.close()]);
  for (const [event, traceId] of callers) {
    const spans = collector.spans.filter((span) => span.traceId === traceId);
    const request = spans.find(({ parentId }) => parentId === callersSpan);
    const [attempt] = withName(spans, `webhook ${event}`);
    expect([event, attempt?.parentId]).toEqual([event, request?.id]);
    const received = hook.requests.find(({ headers }) => headers['perkwire-event'] === event);
    expect(received?.headers.traceparent).toBe(`00-${traceId}-${attempt?.id}-01`);
  }
  const booked = collector.spans.filter((span) => span.traceId === callers.get('conversion'));
  expect(withName(booked, 'commit')).toHaveLength(1);
});

test('requests and webhooks continue without a collector, and without tracing no context is stored', async () => {
  const collector = await startCollector();
  await collector.close();
  const tracing = { endpoint: collector.endpoint, headers: {}, serviceName: 'perks', ratio: 1 };
  const t = await createTestApp({ config: { tracing: { ...tracing, sampler: 'always_on' } } });
  const off = await createTestApp({ databaseUrl: t.databaseUrl });
  const hook = await startHook();
  const dispatcher = await startTestDispatcher(t, { tracing: t.deps.tracing });
  await setEndpoint(t, hook);
  await fetchAndWrap(t, 'user-1', `00-${callersTrace}-${callersSpan}-01`);
  await expect.poll(() => hook.requests.length).toBe(1);
  expect(hook.requests[0]?.headers.traceparent).toContain(callersTrace);
  await fetchAndWrap(off, 'user-2', `00-${callersTrace}-${callersSpan}-01`);
  await expect.poll(() => hook.requests.length).toBe(2);
  expect(hook.requests[1]?.headers).not.toHaveProperty('traceparent');
  await dispatcher.stop();
  await off.close();
  await t.close();
  await hook.close();
});
