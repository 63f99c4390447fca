import type { Executor } from '../../../platform/db/pool.ts';
import { dayMs } from '../../../platform/lib/time.ts';
import { secretBytes, sign } from '../../../webhooks/message/signature.ts';
import type { Received } from '../receiver.ts';

export type Beacon = { at: string; kind: string; offer_id: number; title: string; suspicious: string | null };

/**
 * `verified`: whether the signature is that of the receiver's secret; null: a GET call, whose bytes this page does not
 * rebuild.
 */
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
/** A session's beacons are kept under its day, and are good for 24 hours. */
const daysBackMs = 2 * dayMs;

/** The beacons of the last hour, newest first, 20 at most. */
export async function recentBeacons(executor: Executor, publisherId: number, nowMs: number): Promise<Beacon[]> {
  const { rows } = await executor.query<Omit<Beacon, 'at'> & { at: Date }>(
    `select e.at, e.kind, e.offer_id, o.title, e.suspicious
     from events e join offers o on o.id = e.offer_id
     where e.publisher_id = $1 and e.day >= ($2::timestamptz at time zone 'UTC')::date and e.at > $3
     order by e.at desc limit $4`,
    [publisherId, new Date(nowMs - daysBackMs), new Date(nowMs - recentMs), maxShown],
  );
  return rows.map((row) => ({ ...row, at: new Date(row.at).toISOString() }));
}

/** The newest webhooks with their selection, and whether their signatures are valid. */
export function recentWebhooks(received: readonly Received[], secret: string | null): SeenWebhook[] {
  return received.slice(0, maxShown).map((webhook) => {
    const { pub_user_id = '', selected = null, campaigns = [] } = bodyOf(webhook.body);
    return {
      id: String(webhook.headers['webhook-id'] ?? ''),
      received_at: webhook.received_at,
      verified: webhook.method === 'POST' ? secret !== null && isSigned(webhook, secret) : null,
      dev: webhook.headers['perkwire-dev'] === '1',
      pub_user_id,
      selected,
      titles: campaigns.map((campaign) => String(campaign.title)),
    };
  });
}

/**
 * As a publisher's server would check it (Standard Webhooks 1.0); the receiver is on this machine, so time is not of
 * interest.
 */
function isSigned({ headers, body }: Received, secret: string): boolean {
  const timestampS = Number(headers['webhook-timestamp']);
  if (!Number.isSafeInteger(timestampS) || timestampS < 0) return false;
  const wanted = sign({
    id: String(headers['webhook-id']),
    timestampS,
    body: Buffer.from(body),
    secrets: [secretBytes(secret)],
  });
  return String(headers['webhook-signature']).split(' ').includes(wanted);
}

type Body = { pub_user_id?: string; selected?: number; campaigns?: { title?: unknown }[] };

/** The receiver accepts posts without authentication. */
function bodyOf(text: string): Body {
  try {
    const { body } = JSON.parse(text) as { body?: Record<string, unknown> };
    const { pub_user_id, selected, campaigns } = body ?? {};
    return {
      ...(typeof pub_user_id === 'string' && { pub_user_id }),
      ...(typeof selected === 'number' && { selected }),
      ...(Array.isArray(campaigns) && {
        campaigns: campaigns.filter((one) => typeof one === 'object' && one !== null),
      }),
    };
  } catch {
    return {};
  }
}
