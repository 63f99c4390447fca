import type { Executor } from '../../../platform/db/pool.ts';
import { dayOfUuid7 } from '../../../platform/lib/uuid7.ts';

/** Answered fetch with the events recorded for it so far. */
export type LiveRequest = {
  sessionId: string;
  at: Date;
  placement: string;
  country: string | null;
  dev: boolean;
  offers: number;
  /** Number of events by kind. Suspicious events, such as those from bots, are excluded. */
  events: Readonly<Record<string, number>>;
  /** Time when the user confirmed the perks, or null if they have not been confirmed. */
  wrappedAt: Date | null;
  /** Number of selected perks, or null for a session without perks. */
  selected: number | null;
};

/**
 * Returns the IDs of a publisher's sessions that follow a given session, oldest first. Only newer rows are read, using
 * the primary key.
 */
export async function sessionsAfter(
  executor: Executor,
  publisherId: number,
  after: string,
  limit: number,
): Promise<string[]> {
  const { rows } = await executor.query<{ id: string }>({
    name: 'live_sessions',
    text: 'select id from sessions where day >= $1::date and id > $2 and publisher_id = $3 order by day, id limit $4',
    values: [dayOfUuid7(after), after, publisherId, limit],
  });
  return rows.map(({ id }) => id);
}

/** Returns the given sessions of a publisher with their events, newest first. */
export async function findRequests(
  executor: Executor,
  publisherId: number,
  sessionIds: readonly string[],
): Promise<LiveRequest[]> {
  if (sessionIds.length === 0) return [];
  const { rows } = await executor.query<LiveRequest>({
    name: 'live_requests',
    text: `with wanted as (select day, id from unnest($2::date[], $3::uuid[]) as w (day, id))
    select s.id as "sessionId", s.created_at as at, s.placement, s.country, s.dev, cardinality(s.offer_ids) as offers,
      u.wrapped_at as "wrappedAt", cardinality(u.selected) as selected,
      coalesce((
        select jsonb_object_agg(kind, n) from (
          select split_part(e.kind, ':', 1) as kind, count(*)::int as n
          from events e
          where e.day = s.day and e.session_id = s.id and e.suspicious is null
          group by 1
        ) as counts
      ), '{}') as events
    from wanted w
    join sessions s on s.day = w.day and s.id = w.id and s.publisher_id = $1
    left join usp_sessions u on u.day = s.day and u.session_id = s.id
    order by s.day desc, s.id desc`,
    values: [publisherId, sessionIds.map(dayOfUuid7), sessionIds],
  });
  return rows;
}
