import type pg from 'pg';
import { type Executor, transaction } from '../platform/db/pool.ts';
import { buildOperationalPayload } from './operational/event-types.ts';
import { enqueue, type OutboxEvent } from './outbox.ts';
import type { OperationalEvent } from './raise-events.ts';

/** Maximum number of events per transaction. */
const maxBatch = 100;

/** Operational event that is being sent, with its subject. */
export type SentEvent = {
  publisherId: number;
  event: OperationalEvent;
  subject: string;
  data: Readonly<Record<string, unknown>>;
};

type OperationalEventRow = {
  publisher_id: number;
  event: OperationalEvent;
  subject: string;
  data: Record<string, unknown> & { endpoint_id?: number };
  count: number;
};

/**
 * Enqueues raised operational events, at most one per subject and hour. Further events for a subject are combined into
 * one event with their count, which is sent at the end of that hour. Events about an endpoint are sent to all endpoints
 * except that one. Any process may run it.
 * @param onSent receives the events as well, in the same transaction
 * @returns the number of events
 */
export async function sendOperationalEvents(
  pool: pg.Pool,
  nowMs: number,
  onSent?: (executor: Executor, events: readonly SentEvent[]) => Promise<void>,
): Promise<number> {
  const toOutbox = ({ publisher_id, event, data, count }: OperationalEventRow): OutboxEvent => ({
    publisherId: publisher_id,
    event,
    sessionId: null,
    pubUserId: null,
    dev: false,
    payload: () => buildOperationalPayload(event, { ...data, count }, nowMs),
    nowMs,
    ...(data.endpoint_id !== undefined && { exceptEndpointId: data.endpoint_id }),
  });
  return transaction(pool, async (executor) => {
    const { rows } = await executor.query<OperationalEventRow>(
      `update operational_events o set raised_at = null, sent_at = $1::timestamptz
      from (
        select publisher_id, event, subject from operational_events
        where raised_at is not null and (sent_at is null or sent_at <= $1::timestamptz - interval '1 hour')
        order by raised_at limit ${maxBatch} for update skip locked
      ) due
      where o.publisher_id = due.publisher_id and o.event = due.event and o.subject = due.subject
      returning o.publisher_id, o.event, o.subject, o.data, o.count`,
      [new Date(nowMs)],
    );
    await enqueue(executor, rows.map(toOutbox));
    await onSent?.(
      executor,
      rows.map(({ publisher_id: publisherId, event, subject, data }) => ({ publisherId, event, subject, data })),
    );
    return rows.length;
  });
}
