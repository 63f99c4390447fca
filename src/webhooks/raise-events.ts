import type { Executor } from '../platform/db/pool.ts';

/** Names of the operational events (docs/reference/webhooks.md#operational-events). */
export const operationalEvents = [
  'endpoint.failing',
  'endpoint.disabled',
  'endpoint.recovered',
  'delivery.exhausted',
  'campaign.budget_reached',
  'campaign.goal_behind',
  'campaign.ended',
  'campaign.landing_page_lost',
  'offer.action_page_lost',
  'draft.waiting',
  'draft.decided',
] as const;
export type OperationalEvent = (typeof operationalEvents)[number];

/**
 * Returns SQL that raises an event for each row of `rows` (publisher_id, subject, data, count). Add it to the statement
 * that stores the cause, so that either both or neither are stored. Each row must have a different subject.
 */
export const raiseEvents = (event: OperationalEvent, rows: string): string => `
    insert into operational_events as o (publisher_id, event, subject, data, count, raised_at)
    select publisher_id, '${event}', subject, data, count, now() from (${rows}) fact order by publisher_id, subject
    on conflict (publisher_id, event, subject) do update set data = excluded.data, raised_at = excluded.raised_at,
      count = case when o.raised_at is null then 0 else o.count end + excluded.count`;

/** Returns SQL like {@link raiseEvents}, except that it raises the event at most once per subject. */
const raiseOnce = (event: OperationalEvent, rows: string): string => `
    insert into operational_events (publisher_id, event, subject, data, count, raised_at)
    select publisher_id, '${event}', subject, data, 1, now() from (${rows}) fact order by publisher_id, subject
    on conflict do nothing`;

/**
 * Returns SQL that withdraws raised events which have not been sent yet, for the subjects in `rows`. The SQL returns
 * the withdrawn events. It waits for any transaction that is sending such an event, because only the update sees
 * whether the event was sent.
 */
export const withdrawEvents = (event: OperationalEvent, rows: string): string => `
    update operational_events p set raised_at = null
    from (${rows}) fact
    where p.publisher_id = fact.publisher_id and p.event = '${event}' and p.subject = fact.subject
      and p.raised_at is not null
    returning p.publisher_id, p.subject`;

/**
 * SQL expression for the fields that an event contains about an endpoint `e`. The URL query is omitted, because it may
 * contain credentials.
 */
export const endpointData =
  "jsonb_build_object('endpoint_id', e.id, 'url', split_part(e.url, '?', 1), 'description', e.description)";

/** `to_char` format for a UTC time. */
export const isoTime = 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"';

/** Fact that causes an event. `subject` identifies the fact permanently, and `data` contains the payload fields. */
export type Fact = { publisherId: number; subject: string; data: Readonly<Record<string, unknown>> };

/** Raises an operational event for each fact that has not raised one yet. */
export async function raiseFacts(executor: Executor, event: OperationalEvent, facts: readonly Fact[]): Promise<void> {
  if (facts.length === 0) return;
  await executor.query(
    raiseOnce(event, 'select * from unnest($1::integer[], $2::text[], $3::jsonb[]) as f (publisher_id, subject, data)'),
    [
      facts.map(({ publisherId }) => publisherId),
      facts.map(({ subject }) => subject),
      facts.map(({ data }) => JSON.stringify(data)),
    ],
  );
}
