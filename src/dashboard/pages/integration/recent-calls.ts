import { v7 } from 'uuid';
import type { Executor } from '../../../platform/db/pool.ts';
import { dayOfUuid7 } from '../../../platform/lib/uuid7.ts';

/** One answered call for offers, and what has come of it so far. */
export type Call = {
  sessionId: string;
  at: Date;
  placement: string;
  country: string | null;
  dev: boolean;
  offers: number;
  /** Beacons and clicks by kind; what does not count (a bot, say) is in none. */
  events: Readonly<Record<string, number>>;
  /** When the perks were confirmed. */
  wrappedAt: Date | null;
  /** How many were picked; null: the session has no perks. */
  selected: number | null;
};

/** Below all session ids of that moment. */
export const sessionIdAt = (atMs: number): string => v7({ msecs: atMs, random: new Uint8Array(16), seq: 0 });

/**
 * Ids of a publisher's sessions after one, oldest first, at most `limit`. Reads only what is newer, in the order of the
 * key.
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

/** How these sessions of a publisher stand, newest first. */
export async function callsOf(executor: Executor, publisherId: number, sessionIds: readonly string[]): Promise<Call[]> {
  if (sessionIds.length === 0) return [];
  const { rows } = await executor.query<CallRow>({
    name: 'live_calls',
    text: `with wanted as (select day, id from unnest($2::date[], $3::uuid[]) as w (day, id))
    select s.id, s.created_at, s.placement, s.country, s.dev, cardinality(s.offer_ids) as offers,
      u.wrapped_at, cardinality(u.selected) as selected,
      coalesce((select jsonb_object_agg(kind, n) from (
        select e.kind, count(*)::int as n from events e where e.day = s.day and e.session_id = s.id and e.suspicious is null group by e.kind
      ) as counted), '{}') as events
    from wanted w join sessions s on s.day = w.day and s.id = w.id and s.publisher_id = $1
      left join usp_sessions u on u.day = s.day and u.session_id = s.id
    order by s.day desc, s.id desc`,
    values: [publisherId, sessionIds.map(dayOfUuid7), sessionIds],
  });
  return rows.map((row) => ({
    sessionId: row.id,
    at: row.created_at,
    placement: row.placement,
    country: row.country,
    dev: row.dev,
    offers: row.offers,
    events: row.events,
    wrappedAt: row.wrapped_at,
    selected: row.selected,
  }));
}

type CallRow = {
  id: string;
  created_at: Date;
  placement: string;
  country: string | null;
  dev: boolean;
  offers: number;
  wrapped_at: Date | null;
  selected: number | null;
  events: Record<string, number>;
};
