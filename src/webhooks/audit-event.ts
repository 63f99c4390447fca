import { Type } from '@sinclair/typebox';
import type pg from 'pg';
import { type AuditEntry, advanceFeed, lockFeed, readFeed } from '../accounts/audit-feed.ts';
import { transaction } from '../platform/db/pool.ts';
import type { Job } from '../platform/jobs.ts';
import type { EventType } from './events.ts';
import { enqueue } from './outbox.ts';

const event = 'audit.recorded';

/** Maximum number of audit log entries sent per transaction. */
const maxBatch = 500;

const payloadOf = ({ publisher_id: _publisher, ...entry }: AuditEntry): Buffer =>
  Buffer.from(JSON.stringify({ event, timestamp: entry.at, ...entry }));

/** Event type for audit log entries (docs/reference/webhooks.md#operational-events). */
export const auditRecorded: EventType = {
  name: event,
  title: 'Audit log entry',
  description: 'Sent for each entry of the audit log.',
  isOperational: true,
  isNamedOnly: true,
  payload: Type.Object({
    event: Type.Literal(event),
    timestamp: Type.String({ format: 'date-time' }),
    number: Type.Integer({
      minimum: 1,
      description: "Sequence number in the publisher's log, starting at 1 without gaps.",
    }),
    at: Type.String({ format: 'date-time' }),
    actor_kind: Type.Union(
      ['key', 'user', 'system'].map((kind) => Type.Literal(kind)),
      {
        description:
          'Type of the actor. `system` is an operator command, the webhook dispatcher, or the sign-in process.',
      },
    ),
    actor_id: Type.Union([Type.Integer(), Type.Null()], {
      description: 'ID of the key or user, or `null` for operator commands.',
    }),
    actor_label: Type.String({ description: 'Name of the key, e-mail address of the user, or `Operator`.' }),
    action: Type.String({ description: 'Action, such as `create`, `update`, `remove` or `sign_in`.' }),
    resource: Type.String({ description: 'Type of the resource, such as `offers`.' }),
    resource_id: Type.String({
      description: 'ID of the resource: the name of a placement, the e-mail address of a user, or a numeric ID.',
    }),
    changes: Type.Record(Type.String(), Type.Object({ old: Type.Unknown(), new: Type.Unknown() })),
    hash: Type.String({ description: 'SHA-256 hash of the entry and the previous hash, in hex.' }),
  }),
  sample: ({ nowMs }) =>
    payloadOf({
      publisher_id: 1,
      number: 42,
      at: new Date(nowMs).toISOString(),
      actor_kind: 'user',
      actor_id: 1,
      actor_label: 'ann@publisher.example',
      action: 'update',
      resource: 'offers',
      resource_id: '1',
      changes: { title: { old: 'One box free', new: 'Two boxes free' } },
      hash: '9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08',
    }),
};

/**
 * Enqueues an event for each audit log entry that has not been sent yet. Skips entries whose publisher has no endpoint
 * for the event. Any process may run it.
 * @returns the number of entries read
 */
export async function sendAuditEvents(pool: pg.Pool, nowMs: number): Promise<number> {
  return transaction(pool, async (executor) => {
    if (!(await lockFeed(executor, 'webhooks'))) return 0;
    const entries = await readFeed(executor, 'webhooks', { limit: maxBatch, reader: 'publisher' });
    if (entries.length === 0) return 0;
    await enqueue(
      executor,
      entries.map((entry) => ({
        publisherId: entry.publisher_id,
        event,
        sessionId: null,
        pubUserId: null,
        dev: false,
        nowMs,
        payload: () => payloadOf(entry),
      })),
    );
    await advanceFeed(executor, 'webhooks', entries);
    return entries.length;
  });
}

export const auditEventJob = (pool: pg.Pool, now: () => number): Job => ({
  name: 'audit events',
  roles: ['worker'],
  pauseMs: 1000,
  locks: 'a row of audit_feeds (skip locked), then rows of audit_feed_positions in the order of their key',
  run: async () => ((await sendAuditEvents(pool, now())) === maxBatch ? 0 : 1000),
});
