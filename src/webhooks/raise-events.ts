import type { Executor } from '../platform/db/pool.ts';

/** Operational events (docs/reference/webhooks.md#operational-events). */
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
 * SQL that raises an event for each row of `rows` (publisher_id, subject, data, count). It runs in the statement of the
 * fact, so that both are written or neither. Each row has a different subject.
 */
export const raiseEvents = (event: OperationalEvent, rows: string): string => `
    insert into operational_events as o (publisher_id, event, subject, data, count, raised_at)
    select publisher_id, '${event}', subject, data, count, now() from (${rows}) fact order by publisher_id, subject
    on conflict (publisher_id, event, subject) do update set data = excluded.data, raised_at = excluded.raised_at,
      count = case when o.raised_at is null then 0 else o.count end + excluded.count`;

/** Like {@link raiseEvents}, but at most once for a subject. */
const raiseOnce = (event: OperationalEvent, rows: string): string => `
    insert into operational_events (publisher_id, event, subject, data, count, raised_at)
    select publisher_id, '${event}', subject, data, 1, now() from (${rows}) fact order by publisher_id, subject
    on conflict do nothing`;

/**
 * SQL that withdraws events of the subjects of `rows` that were raised but not sent yet, and returns them. It waits for
 * a transaction that is sending such an event, because only the update itself sees the result.
 */
export const takeBack = (event: OperationalEvent, rows: string): string => `
    update operational_events p set raised_at = null
    from (${rows}) fact
    where p.publisher_id = fact.publisher_id and p.event = '${event}' and p.subject = fact.subject
      and p.raised_at is not null
    returning p.publisher_id, p.subject`;

/** SQL of the event fields of an endpoint `e`, without the query of its URL, which may contain credentials. */
export const endpointData =
  "jsonb_build_object('endpoint_id', e.id, 'url', split_part(e.url, '?', 1), 'description', e.description)";

/** Format of `to_char` for a time in UTC. */
export const isoTime = 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"';

/** A fact to raise an event for: `subject` is its permanent identifier, `data` are the fields of the payload. */
export type Fact = { publisherId: number; subject: string; data: Readonly<Record<string, unknown>> };

/** Raises an operational event for each fact that was not raised yet. */
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
