import type { Static } from '@sinclair/typebox';
import type pg from 'pg';
import { AppError } from '../../platform/errors.ts';
import type { StreamEvent } from '../../platform/http/event-streams.ts';
import { dayOfUuid7, isPossibleUuid7 } from '../../platform/lib/uuid7.ts';
import type { Logger } from '../../platform/logger.ts';
import type { SecretBox } from '../../platform/security/secret-box.ts';
import type { EndpointActivity } from '../activity/activity.ts';
import { webhookIdOf } from '../deliveries/view.ts';
import { attempt, prepare } from '../dispatcher/send/attempt.ts';
import { fail, maxKeptBytes, type SendResult } from '../dispatcher/send/result.ts';
import { createHealthWatch } from '../dispatcher/settle/health.ts';
import { recordSettlements } from '../dispatcher/settle/record.ts';
import type { Settlement } from '../dispatcher/settle/settle.ts';
import type { DispatcherMetrics } from '../metrics.ts';
import type { PayloadLinks } from '../payload-link.ts';
import { findHandedOut, type HandedOut } from './hand-out.ts';
import { type answerBody, maxHeaderLength, maxHeaders } from './schemas.ts';

/** Dependencies for recording responses. `now` returns epoch milliseconds. */
export type AnswerDeps = {
  pool: pg.Pool;
  secretBox: SecretBox;
  logger: Logger;
  dispatcherMetrics: DispatcherMetrics;
  activity: EndpointActivity;
  now: () => number;
};

/** Remote address that the log shows for requests that a listener forwarded. */
const remoteAddress = 'perkwire listen';

export function createAnswers({
  pool,
  secretBox,
  logger,
  payloadLinks,
  dispatcherMetrics,
  activity,
  now,
}: AnswerDeps & { payloadLinks: { url: PayloadLinks['url'] } }) {
  const watch = createHealthWatch(() => performance.now());
  const { meter } = dispatcherMetrics;
  /** Returns tools that sign as of the attempt's start time, so that the same request can be rebuilt later. */
  const toolsAt = (startedAt: Date) => ({
    secretBox,
    payloadLinks,
    now: () => startedAt.getTime(),
    random: Math.random,
  });
  return {
    /** Builds the stream event with the request of an attempt. */
    eventOf: ({ claimed, startedAt }: HandedOut): StreamEvent => {
      const call = prepare(claimed, toolsAt(startedAt));
      const { deliveryId, generation, event, deadlineMs } = claimed;
      const about = { delivery_id: deliveryId, webhook_id: webhookIdOf(deliveryId), attempt: generation, event };
      const request = 'kind' in call ? null : { headers: call.headers, body: call.body?.toString('utf8') ?? '' };
      return { name: 'delivery', data: JSON.stringify({ ...about, deadline_ms: deadlineMs, ...request }) };
    },
    /**
     * Records the response reported by a listener in the same way as the dispatcher records its own attempts.
     * @throws AppError `attempt_ended` if the listener no longer holds the lease for the delivery
     */
    record: async (
      { publisherId, listenerId }: { publisherId: number; listenerId: number },
      body: Static<typeof answerBody>,
    ): Promise<Settlement> => {
      const { delivery_id: id, attempt: number } = body;
      if (!isPossibleUuid7(id, now())) throw new AppError('attempt_ended');
      const key = { publisherId, listenerId, id, day: dayOfUuid7(id), attempt: number };
      const handedOut = await findHandedOut(pool, key);
      if (handedOut === null) throw new AppError('attempt_ended');
      const sender = { send: async () => resultOf(body), close: async () => {} };
      const settlement = await attempt(
        handedOut.claimed,
        { ...toolsAt(handedOut.startedAt), sender },
        new AbortController().signal,
      );
      const [written] = await recordSettlements({ pool, watch, meter, logger, onWritten: activity.settled }, [
        settlement,
      ]);
      if (written === undefined) throw new AppError('attempt_ended');
      return written;
    },
  };
}

function resultOf(body: Static<typeof answerBody>): SendResult {
  const { status, headers = {}, body_base64: text = '', truncated, error, took_ms: tookMs } = body;
  const timing = { dnsMs: 0, connectMs: null, tlsMs: null, firstByteMs: null, totalMs: tookMs };
  if (status === undefined) {
    const { class: name, message } = error ?? { class: 'other' as const, message: 'the listener had no answer' };
    return { ...fail(name, message), timing };
  }
  const headerEntries = Object.entries(headers)
    .slice(0, maxHeaders)
    .map(([name, value]) => [name.toLowerCase(), value.slice(0, maxHeaderLength).toWellFormed()]);
  const bytes = Buffer.from(text, 'base64');
  return {
    kind: 'response',
    status,
    headers: Object.fromEntries(headerEntries),
    body: bytes.subarray(0, maxKeptBytes),
    truncated: truncated || bytes.length > maxKeptBytes,
    remoteAddress,
    timing,
  };
}
