import { fillText, type MacroValues } from '../../offers/offer-view.ts';
import type { Executor } from '../../platform/db/pool.ts';
import { dayMs } from '../../platform/lib/time.ts';
import type { Received } from '../received.ts';

export type Beacon = { at: string; kind: string; offer_id: number; title: string; suspicious: string | null };

/** Received webhook as the demo shop shows it. For `verified`, see {@link Received}. */
export type SeenWebhook = {
  id: string;
  received_at: string;
  verified: boolean | null;
  dev: boolean;
  pub_user_id: string;
  selected: number | null;
  titles: string[];
};

const maxShown = 20;
const recentMs = 60 * 60_000;
/**
 * Length of the period to search for beacons, in milliseconds. Beacons are stored under the day of their session and
 * are valid for 24 hours, so a recent beacon can be stored under an earlier day.
 */
const daysBackMs = 2 * dayMs;

/** Returns the beacons from the last hour, newest first, at most 20. */
export async function recentBeacons(executor: Executor, publisherId: number, nowMs: number): Promise<Beacon[]> {
  const { rows } = await executor.query<Omit<Beacon, 'at'> & { at: Date; macros: MacroValues | null }>(
    `select e.at, e.kind, e.offer_id, o.title, e.suspicious, s.macros
     from events e join offers o on o.id = e.offer_id left join sessions s on s.id = e.session_id and s.day = e.day
     where e.publisher_id = $1 and e.day >= ($2::timestamptz at time zone 'UTC')::date and e.at > $3
     order by e.at desc limit $4`,
    [publisherId, new Date(nowMs - daysBackMs), new Date(nowMs - recentMs), maxShown],
  );
  return rows.map(({ at, title, macros, ...beacon }) => ({
    ...beacon,
    at: new Date(at).toISOString(),
    title: fillText(title, macros ?? {}),
  }));
}

/** Returns the latest received webhooks, with the offers that the user selected. */
export const recentWebhooks = (received: readonly Received[]): SeenWebhook[] =>
  received.slice(0, maxShown).map(seenWebhook);

export function seenWebhook({ headers, body, received_at, verified }: Received): SeenWebhook {
  const { pub_user_id = '', selected = null, campaigns = [] } = bodyOf(body);
  return {
    id: String(headers['webhook-id'] ?? ''),
    received_at,
    verified,
    dev: headers['perkwire-dev'] === '1',
    pub_user_id,
    selected,
    titles: campaigns.map((campaign) => String(campaign.title)),
  };
}

type Body = { pub_user_id?: string; selected?: number; campaigns?: { title?: unknown }[] };

/** Make no assumptions about the structure of the body, because the receiver accepts unauthenticated requests. */
function bodyOf(text: string): Body {
  try {
    const { body } = JSON.parse(text) as { body?: Record<string, unknown> };
    const { pub_user_id, selected, campaigns } = body ?? {};
    return {
      ...(typeof pub_user_id === 'string' && { pub_user_id }),
      ...(typeof selected === 'number' && { selected }),
      ...(Array.isArray(campaigns) && {
        campaigns: campaigns.filter((campaign) => typeof campaign === 'object' && campaign !== null),
      }),
    };
  } catch {
    return {};
  }
}
