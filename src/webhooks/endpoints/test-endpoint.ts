import type { KeyObject } from 'node:crypto';
import { v7 } from 'uuid';
import type { Publisher } from '../../catalog/types.ts';
import { problem } from '../../platform/problem.ts';
import { destinationPart } from '../destinations/message.ts';
import { buildRequest, type Method } from '../dispatcher/send/request.ts';
import type { SendResult } from '../dispatcher/send/result.ts';
import { classify } from '../dispatcher/settle/retry-schedule.ts';
import type { EventType } from '../events.ts';
import type { Sender } from '../sender.ts';
import type { Transformation } from '../transformations/evaluators.ts';
import { failureText, type Transformer } from '../transformations/transform.ts';
import { type TimingView, viewOfTiming } from './timing-view.ts';

export type TestTarget = {
  eventType: EventType;
  url: string;
  method: Method;
  /** Custom headers of the endpoint. */
  headers: Readonly<Record<string, string>>;
  secrets: readonly Buffer[];
  v1aKeys: readonly KeyObject[];
  deadlineMs: number;
  transformation: Transformation | null;
};

/**
 * Result of a test call. `body` contains the first 4 KiB of the response body as text, or null if there was no
 * response.
 */
export type TestOutcome = {
  delivered: boolean;
  status: number | null;
  error: { class: string; message: string } | null;
  timing: TimingView | null;
  headers: Record<string, string> | null;
  body: string | null;
};

type TestTools = {
  sender: Sender;
  transformer: Transformer;
  publisher: Publisher;
  publicUrl: string;
  now: () => number;
};

const shownBytes = 4096;

/**
 * Sends a sample payload in the same way as a delivery. The call is not retried, counted or stored, and a 410 response
 * does not disable the endpoint.
 */
export async function testEndpoint(
  { eventType, deadlineMs, transformation, ...target }: TestTarget,
  tools: TestTools,
): Promise<TestOutcome> {
  const nowMs = tools.now();
  const deliveryId = v7({ msecs: nowMs });
  const payload = eventType.sample({ ...tools, nowMs });
  const source = { deliveryId, event: eventType.name, dev: false, payload, publisherId: tools.publisher.id };
  const outcome = transformation && (await tools.transformer.apply({ ...source, transformation }));
  if (outcome !== null && 'failed' in outcome) {
    const error = { class: 'transformation', message: failureText(outcome.failed) };
    return { delivered: false, status: null, error, timing: null, headers: null, body: null };
  }
  const part = destinationPart({ ...target, ...source, strictEndpointId: null });
  const call = buildRequest({
    ...source,
    ...target,
    transformed: outcome?.parts ?? null,
    nowMs,
    test: true,
    payloadUrl: null,
  });
  return outcomeOf(await tools.sender.send({ ...call, ...part, deadlineMs }), nowMs);
}

function outcomeOf(result: SendResult, nowMs: number): TestOutcome {
  const none = { delivered: false, status: null, timing: null, headers: null, body: null };
  if (result.kind === 'blocked') return { ...none, error: { class: 'blocked', message: result.reason } };
  if (result.kind === 'error')
    return { ...none, error: { class: result.class, message: result.message }, timing: viewOfTiming(result.timing) };
  const { status, headers, body } = result;
  const delivered = classify(result, nowMs).outcome === 'delivered';
  const error = delivered
    ? null
    : {
        class: status >= 300 && status < 400 ? 'redirect' : 'status',
        message: String(problem('answerWas', { status })),
      };
  return {
    delivered,
    status,
    error,
    timing: viewOfTiming(result.timing),
    headers,
    body: body.subarray(0, shownBytes).toString('utf8'),
  };
}
