import { createHash } from 'node:crypto';
import { setMaxListeners } from 'node:events';
import { parseUrl } from '../../../platform/lib/url.ts';
import { problem } from '../../../platform/problem.ts';
import type { SecretBox } from '../../../platform/security/secret-box.ts';
import type { Span, Tracing } from '../../../platform/tracing/tracing.ts';
import { destinationPart } from '../../destinations/message.ts';
import type { PayloadLinks } from '../../payload-link.ts';
import type { Sender } from '../../sender.ts';
import { openHeaders, openSecrets, openV1aKeys } from '../../signature.ts';
import { failureText, type TransformedParts, type Transformer } from '../../transformations/transform.ts';
import type { Claimed } from '../claim/claimed.ts';
import { classify, defaultSteps, nextAttempt } from '../settle/retry-schedule.ts';
import type { Outcome, RequestHead, Settlement, TransformedBody } from '../settle/settle.ts';
import { buildRequest, type HttpCall } from './request.ts';
import { fail, localFailure, maxKeptBytes, type SendResult } from './result.ts';

type RequestTools = {
  secretBox: SecretBox;
  payloadLinks: { url: PayloadLinks['url'] };
  /** Returns the current time in epoch milliseconds. */
  now: () => number;
};

export type AttemptTools = RequestTools & {
  sender: Sender;
  /** Applies transformations. Deliveries of endpoints with a transformation need it. */
  transformer?: Transformer;
  /** Returns a random number in [0, 1). */
  random: () => number;
  /** Tracing for attempts. Without it, attempts are not traced, and the trace context is passed on unchanged. */
  tracing?: Tracing;
};

/**
 * Delay before retrying after a local failure, in milliseconds. It doubles each time, up to the maximum. The retry
 * schedule does not apply, because a local failure does not use up an attempt.
 */
const localDelayMs = 1000;
const maxLocalDelayMs = 60_000;

/**
 * Makes one attempt at a delivery. Never rejects. `signal` cancels the attempt, which makes the delivery due again
 * immediately.
 */
export async function attempt(claimed: Claimed, tools: AttemptTools, signal: AbortSignal): Promise<Settlement> {
  const span = startAttempt(tools.tracing, claimed);
  if (span === null) return makeAttempt(claimed, tools, signal);
  const traced = { ...claimed, traceparent: span.traceparent };
  // Return the original `claimed` object, because it identifies the lease.
  const settlement = { ...(await makeAttempt(traced, tools, signal)), claimed: claimed };
  endAttempt(span, settlement);
  return settlement;
}

async function makeAttempt(claimed: Claimed, tools: AttemptTools, signal: AbortSignal): Promise<Settlement> {
  const transformed = claimed.transformation === null ? null : await transform(claimed, tools);
  const call = transformed !== null && 'kind' in transformed ? transformed : prepare(claimed, tools, transformed);
  const { deadlineMs } = claimed;
  const result = 'kind' in call ? call : await tools.sender.send({ deadlineMs, signal, ...call }).catch(localFailure);
  try {
    return settlementOf(claimed, call, result, tools, signal);
  } catch (err) {
    return settlementOf(claimed, call, localFailure(err), tools, signal);
  }
}

function settlementOf(
  claimed: Claimed,
  call: ReturnType<typeof prepare>,
  result: SendResult,
  tools: AttemptTools,
  signal: AbortSignal,
): Settlement {
  const request = 'kind' in call || result.kind === 'blocked' ? null : headOf(call, claimed);
  const verdict = classify(result, tools.now());
  const counts = verdict.outcome !== 'retry' || verdict.countsAsAttempt;
  const attempts = claimed.attempts + (counts ? 1 : 0);
  const disables = verdict.outcome === 'retry' ? null : verdict.disables;
  return {
    claimed,
    attempts,
    disables,
    request,
    ...outcomeOf(claimed, verdict, attempts, tools, signal),
    ...loggedFields('kind' in call ? result : withoutCredentials(result, credentialsOf(call, claimed)), verdict),
  };
}

type Verdict = ReturnType<typeof classify>;

type NotSent = Extract<SendResult, { kind: 'error' }>;

const notSent = (errorClass: 'local' | 'transformation', message: string): NotSent => ({
  ...fail(errorClass, message),
  timing: { dnsMs: 0, connectMs: null, tlsMs: null, firstByteMs: null, totalMs: 0 },
});

/** Applies the endpoint's transformation to the payload. */
async function transform(claimed: Claimed, { transformer }: AttemptTools): Promise<TransformedParts | NotSent> {
  const { transformation, deliveryId, event, dev, payload, publisherId } = claimed;
  if (transformation === null || transformer === undefined)
    return notSent('local', 'transformations are not available');
  try {
    const outcome = await transformer.apply({ transformation, deliveryId, event, dev, payload, publisherId });
    return 'parts' in outcome ? outcome.parts : notSent('transformation', failureText(outcome.failed));
  } catch (err) {
    return notSent('local', `the transformation could not be run: ${(err as Error).message}`);
  }
}

/** Builds the request of an attempt. */
export function prepare(
  claimed: Claimed,
  { secretBox, payloadLinks, now }: RequestTools,
  transformed: TransformedParts | null = null,
): HttpCall | NotSent {
  try {
    const nowMs = now();
    const { deliveryId, event, url, method, payload, dev, traceparent, publisherId } = claimed;
    const headers = openHeaders(secretBox, claimed.headers);
    const request = buildRequest({
      deliveryId,
      event,
      url,
      method,
      payload,
      headers,
      secrets: openSecrets(secretBox, claimed.secrets),
      v1aKeys: openV1aKeys(secretBox, claimed.v1aKeys),
      nowMs,
      dev,
      test: false,
      traceparent,
      payloadUrl: () => payloadLinks.url(claimed.deliveryId, nowMs),
      transformed,
    });
    const strictEndpointId = claimed.strictOrder ? claimed.endpointId : null;
    return { ...request, ...destinationPart({ url, deliveryId, payload, headers, strictEndpointId, publisherId }) };
  } catch (err) {
    return localFailure(err);
  }
}

function outcomeOf(
  claimed: Claimed,
  verdict: Verdict,
  attempts: number,
  { random }: AttemptTools,
  signal: AbortSignal,
): Outcome {
  if (verdict.outcome === 'delivered') return { outcome: 'delivered' };
  if (verdict.outcome === 'disable_endpoint') return { outcome: 'endpoint_disabled' };
  if (!verdict.countsAsAttempt) return { outcome: 'retry', delayMs: signal.aborted ? 0 : localWaitMs(claimed) };
  const next = nextAttempt({
    attempts,
    steps: claimed.steps ?? defaultSteps,
    random,
    retryAfterMs: verdict.retryAfterMs,
  });
  return next === null ? { outcome: 'failed' } : { outcome: 'retry', delayMs: next.delayMs };
}

/** Returns the delay after a claim that did not use up an attempt, because of a local failure or a dead worker. */
const localWaitMs = ({ generation, attempts }: Claimed): number =>
  Math.min(localDelayMs * 2 ** Math.min(Math.max(generation - attempts - 1, 0), 10), maxLocalDelayMs);

/**
 * Returns the request to store in the log. It omits the values of the endpoint's custom headers, because they may be
 * credentials.
 */
function headOf({ method, url, headers, body }: HttpCall, { headers: own, payload }: Claimed): RequestHead {
  const logged = Object.entries(headers).map(([name, value]) => [name, Object.hasOwn(own, name) ? '[hidden]' : value]);
  const isTransformed = body !== null && body !== payload;
  return { method, url, headers: Object.fromEntries(logged), ...(isTransformed && { body: loggedBodyOf(body) }) };
}

const loggedBodyOf = (body: Buffer): TransformedBody => ({
  text: body.subarray(0, maxKeptBytes).toString('utf8'),
  bytes: body.length,
  sha256: createHash('sha256').update(body).digest('hex'),
});

/** Minimum length of a header value that counts as a credential. Shorter values occur by chance. */
const minCredentialLength = 8;

/**
 * Returns the values of the endpoint's custom headers, the secrets of its destination, and the tokens and passwords
 * that they contain. Values with a slash also occur in the form that PHP writes in JSON.
 */
function credentialsOf({ headers, destination }: HttpCall, { headers: own }: Claimed): string[] {
  const ownValues = Object.entries(headers).flatMap(([name, value]) => (Object.hasOwn(own, name) ? [value] : []));
  const values = [...ownValues, ...Object.values(destination?.secrets ?? {})];
  const tokens = values.flatMap((value) => /^\w+\s+(\S+)$/.exec(value)?.[1] ?? []);
  const passwords = tokens.map((token) =>
    Buffer.from(token, 'base64')
      .toString('latin1')
      .replace(/^[^:]*:/, ''),
  );
  return [...values, ...tokens, ...passwords]
    .filter(({ length }) => length >= minCredentialLength)
    .flatMap((text) => [...new Set([text, text.replaceAll('/', '\\/')])]);
}

/** Hides the endpoint's credentials in a response before it is logged, because a receiver may echo the request. */
function withoutCredentials(result: SendResult, credentials: readonly string[]): SendResult {
  if (result.kind !== 'response' || credentials.length === 0) return result;
  const masked = (text: string): string =>
    credentials.reduce((rest, credential) => rest.replaceAll(credential, '[hidden]'), text);
  // Latin-1 keeps every byte, so a body in any encoding stays the same outside the credentials.
  const body = Buffer.from(masked(result.body.toString('latin1')), 'latin1');
  const headers = Object.entries(result.headers).map(([name, value]) => [name, masked(value)]);
  return { ...result, body, headers: Object.fromEntries(headers) };
}

type Logged =
  | 'status'
  | 'errorClass'
  | 'errorMessage'
  | 'timing'
  | 'remoteAddress'
  | 'responseHeaders'
  | 'responseBody'
  | 'responseTruncated';

function loggedFields(result: SendResult, verdict: Verdict): Pick<Settlement, Logged> {
  const errorClass = verdict.outcome === 'retry' ? verdict.failure : null;
  const answer = { remoteAddress: null, responseHeaders: null, responseBody: null, responseTruncated: null };
  const none = { status: null, errorClass, timing: null, ...answer };
  if (result.kind === 'blocked') return { ...none, errorMessage: result.reason };
  if (result.kind === 'error') {
    const { message, timing, remoteAddress = null } = result;
    return { ...none, errorMessage: message, timing, remoteAddress };
  }
  const { status, timing, remoteAddress, headers, body, truncated } = result;
  const errorMessage =
    errorClass && String(errorClass === 'redirect' ? problem('redirected') : problem('answerWas', { status }));
  return {
    status,
    errorClass,
    errorMessage,
    timing,
    remoteAddress,
    responseHeaders: headers,
    responseBody: body,
    responseTruncated: truncated,
  };
}

/**
 * Starts a span for the attempt in the trace of the operation that caused the delivery. The span includes the time
 * since the delivery was due. Returns null if there is no trace.
 */
function startAttempt(tracing: Tracing | undefined, { traceparent, event, lagMs }: Claimed): Span | null {
  if (traceparent === null || tracing === undefined) return null;
  const span = tracing.start(`webhook ${event}`, 'client', traceparent);
  const nowMs = performance.now();
  span?.child('claim', nowMs - Math.max(0, lagMs), nowMs);
  return span;
}

/** Ends the span. Of the URL, its attributes contain only the host, because the rest may identify users. */
function endAttempt(span: Span, { claimed, attempts, outcome, status, errorClass }: Settlement): void {
  const { deliveryId, endpointId, event, method, url } = claimed;
  span.end(
    {
      'http.request.method': method,
      'server.address': parseUrl(url)?.hostname ?? '',
      'perkwire.delivery_id': deliveryId,
      'perkwire.endpoint_id': endpointId,
      'perkwire.event': event,
      'perkwire.attempts': attempts,
      'perkwire.outcome': outcome,
      ...(status === null ? {} : { 'http.response.status_code': status }),
      ...(errorClass === null ? {} : { 'error.type': errorClass }),
    },
    outcome === 'delivered' ? null : (errorClass ?? outcome),
  );
}

/** Calls that one worker has in flight. */
export type Calls = {
  /** Makes an attempt and passes its settlement to `onEnd`. */
  start: (claimed: Claimed) => void;
  /** Waits until all calls have ended. Cancels the remaining calls after the time limit. */
  drain: (limitMs: number) => Promise<void>;
};

export function createCalls(tools: AttemptTools, onEnd: (settlement: Settlement) => void): Calls {
  const cancel = new AbortController();
  setMaxListeners(0, cancel.signal); // one listener for each call in flight
  const inFlight = new Set<Promise<void>>();
  return {
    start: (claimed) => {
      const call = attempt(claimed, tools, cancel.signal).then((settlement) => {
        inFlight.delete(call);
        onEnd(settlement);
      });
      inFlight.add(call);
    },
    drain: async (limitMs) => {
      const timer = setTimeout(() => cancel.abort(), limitMs);
      await Promise.allSettled(inFlight);
      clearTimeout(timer);
    },
  };
}
