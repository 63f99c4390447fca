import type pg from 'pg';
import type { Config } from '../config.ts';
import { createSigner, type TokenCodec } from '../platform/security/tracking-token.ts';
import { createPayloadLinks, payloadLinkPurpose } from '../webhooks/payload-link.ts';
import { embeddedDemoIds, syntheticMark } from './catalogue.ts';

type LatestSession = {
  publisher_id: number;
  id: string;
  pub_user_id: string;
  offer_id: number;
  campaign_id: number;
  dev: boolean;
};

/** SQL that finds the latest session that still has valid tokens and whose perks have not been confirmed. */
const latestSession = `select s.publisher_id, s.id, s.pub_user_id, s.offer_ids[1] as offer_id,
    s.campaign_ids[1] as campaign_id, s.dev
  from sessions s join publishers p on p.id = s.publisher_id
  where p.sdk_id = $1 and s.created_at > $2::timestamptz - interval '20 hours' and s.created_at <= $2
    and s.day >= ($2::timestamptz at time zone 'UTC')::date - 1 and s.usp and s.pub_user_id is not null
    and s.offer_ids <> '{}'
    and not exists (
      select from usp_sessions u where u.day = s.day and u.session_id = s.id and u.wrapped_at is not null)
  order by s.created_at desc limit 1`;

/** SQL that finds the latest session with a stored decision. Generated sessions have none. */
const latestDecision = `select s.id from sessions s join publishers p on p.id = s.publisher_id
  where p.sdk_id = $1 and s.decision is not null and s.custom ->> $2 is null
  order by s.day desc, s.created_at desc limit 1`;

const latestDelivery = `select d.id from deliveries d join publishers p on p.id = d.publisher_id
  where p.sdk_id = $1 and d.status <> 'pending' and d.erased_at is null order by d.day desc, d.id desc limit 1`;

type ValueDeps = { config: Config; pool: pg.Pool; tokens: TokenCodec; now: () => number };

/**
 * Creates a function that reads demo values to fill in the examples in the API reference: sessions, an offer's token,
 * and a delivery. Values that do not exist are left out.
 */
export function createExampleValues({ config, pool, tokens, now }: ValueDeps): () => Promise<Record<string, string>> {
  const links = createPayloadLinks(createSigner(config.tokenKeys, payloadLinkPurpose), config.publicUrl);
  const sessionValues = (session: LatestSession) => ({
    session_id: session.id,
    pub_user_id: session.pub_user_id,
    campaign_id: String(session.campaign_id),
    token: tokens.mint({
      publisherId: session.publisher_id,
      sessionId: session.id,
      offerId: session.offer_id,
      campaignId: session.campaign_id,
      position: 1,
      dev: session.dev,
    }),
  });
  const deliveryValues = ({ id }: { id: string }) => ({
    delivery_id: id,
    payload_token: new URL(links.url(id, now())).searchParams.get('t') ?? '',
  });
  return async () => {
    const [session, decision, delivery] = await Promise.all([
      pool.query<LatestSession>(latestSession, [embeddedDemoIds.sdkId, new Date(now())]),
      pool.query<{ id: string }>(latestDecision, [embeddedDemoIds.sdkId, syntheticMark.name]),
      pool.query<{ id: string }>(latestDelivery, [embeddedDemoIds.sdkId]),
    ]);
    return {
      ...(session.rows[0] && sessionValues(session.rows[0])),
      ...(decision.rows[0] && { decided_session_id: decision.rows[0].id }),
      ...(delivery.rows[0] && deliveryValues(delivery.rows[0])),
    };
  };
}
