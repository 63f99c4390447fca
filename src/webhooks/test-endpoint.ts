import { v7 } from 'uuid';
import type { Publisher } from '../catalog/types.ts';
import { compose, type Method } from './dispatcher/compose.ts';
import type { Sender, SendResult, Timing } from './dispatcher/deliver.ts';
import { classify } from './dispatcher/schedule.ts';
import { buildDummyPayload } from './dummy-payload.ts';
import type { WebhookEvent } from './endpoints.ts';

export type TestTarget = { event: WebhookEvent; url: string; method: Method; secrets: readonly Buffer[]; deadlineMs: number };

/** What came of a test. `body` is the first 4 KiB as text; null where there was no answer. */
export type TestOutcome = {
  delivered: boolean;
  status: number | null;
  error: { class: string; message: string } | null;
  timing: { dns_ms: number; connect_ms: number | null; first_byte_ms: number | null; total_ms: number } | null;
  headers: Record<string, string> | null;
  body: string | null;
};

type TestTools = { sender: Sender; publisher: Publisher; publicUrl: string; now: () => number };

const shownBytes = 4096;

/** Sends a dummy payload the way deliveries are sent. Never retried, never counted, not stored; a 410 disables nothing. */
export async function testEndpoint({ event, url, method, secrets, deadlineMs }: TestTarget, tools: TestTools): Promise<TestOutcome> {
  const nowMs = tools.now();
  const call = compose({
    deliveryId: v7({ msecs: nowMs }),
    event,
    url,
    method,
    payload: buildDummyPayload({ ...tools, nowMs }),
    secrets,
    nowMs,
    dev: false,
    test: true,
    payloadUrl: null,
  });
  return outcomeOf(await tools.sender.send({ ...call, deadlineMs }), nowMs);
}

function outcomeOf(result: SendResult, nowMs: number): TestOutcome {
  const none = { delivered: false, status: null, timing: null, headers: null, body: null };
  if (result.kind === 'blocked') return { ...none, error: { class: 'blocked', message: result.reason } };
  if (result.kind === 'error') return { ...none, error: { class: result.class, message: result.message }, timing: timingOf(result.timing) };
  const { status, headers, body } = result;
  const delivered = classify(result, nowMs).outcome === 'delivered';
  const error = delivered ? null : { class: status >= 300 && status < 400 ? 'redirect' : 'status', message: `the answer was ${status}` };
  return { delivered, status, error, timing: timingOf(result.timing), headers, body: body.subarray(0, shownBytes).toString('utf8') };
}

function timingOf({ dnsMs, connectMs, firstByteMs, totalMs }: Timing): TestOutcome['timing'] {
  const rounded = (ms: number | null): number | null => (ms === null ? null : Math.round(ms * 10) / 10);
  return {
    dns_ms: rounded(dnsMs) as number,
    connect_ms: rounded(connectMs),
    first_byte_ms: rounded(firstByteMs),
    total_ms: rounded(totalMs) as number,
  };
}
