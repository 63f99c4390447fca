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

/** What answers are recorded with. `now`: epoch milliseconds. */
export type AnswerDeps = {
  pool: pg.Pool;
  secretBox: SecretBox;
  logger: Logger;
  dispatcherMetrics: DispatcherMetrics;
  activity: EndpointActivity;
  now: () => number;
};

/** Where the log says that the request went. */
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
  /** Signed at the start of the attempt, so that the request can be made anew. */
  const toolsAt = (startedAt: Date) => ({
    secretBox,
    payloadLinks,
    now: () => startedAt.getTime(),
    random: Math.random,
  });
  return {
    /** The request of an attempt, for the stream. */
    eventOf: ({ claimed, startedAt }: HandedOut): StreamEvent => {
      const call = prepare(claimed, toolsAt(startedAt));
      const { deliveryId, generation, event, deadlineMs } = claimed;
      const about = { delivery_id: deliveryId, webhook_id: webhookIdOf(deliveryId), attempt: generation, event };
      const request = 'kind' in call ? null : { headers: call.headers, body: call.body?.toString('utf8') ?? '' };
      return { name: 'delivery', data: JSON.stringify({ ...about, deadline_ms: deadlineMs, ...request }) };
    },
    /**
     * Records what a listener reports, as the dispatcher records an attempt of its own.
     * @throws AppError `attempt_ended` where the delivery is not the listener's any more
     */
    record: async (
      { publisherId, listenerId }: { publisherId: number; listenerId: number },
      body: Static<typeof answerBody>,
    ): Promise<Settlement> => {
      const { delivery_id: id, attempt: number } = body;
      if (!isPossibleUuid7(id, now())) throw new AppError('attempt_ended');
      const key = { publisherId, listenerId, id, day: dayOfUuid7(id), attempt: number };
      const found = await findHandedOut(pool, key);
      if (found === null) throw new AppError('attempt_ended');
      const sender = { send: async () => resultOf(body), close: async () => {} };
      const settlement = await attempt(
        found.claimed,
        { ...toolsAt(found.startedAt), sender },
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
  const kept = Object.entries(headers)
    .slice(0, maxHeaders)
    .map(([name, value]) => [name.toLowerCase(), value.slice(0, maxHeaderLength).toWellFormed()]);
  const bytes = Buffer.from(text, 'base64');
  return {
    kind: 'response',
    status,
    headers: Object.fromEntries(kept),
    body: bytes.subarray(0, maxKeptBytes),
    truncated: truncated || bytes.length > maxKeptBytes,
    remoteAddress,
    timing,
  };
}
