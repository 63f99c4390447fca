import { blankOffer } from '../catalog/blank-offer.ts';
import type { Publisher, Snapshot } from '../catalog/types.ts';
import { withOldOfferNames } from '../offers/legacy-names.ts';
import { fillCopy } from '../offers/macros.ts';
import { buildOfferView } from '../offers/offer-view.ts';
import type { TokenCodec } from '../platform/security/tracking-token.ts';
import type { UspSession } from './usp-sessions.ts';

/** What the payload is built from beside the session. */
export type PayloadContext = {
  publisher: Publisher;
  offers: Snapshot['offers'];
  tokens: Pick<TokenCodec, 'mint'>;
  /** Origin of every URL. */
  publicUrl: string;
};

type PayloadSession = Pick<UspSession, 'id' | 'pubUserId' | 'offerIds' | 'campaignIds' | 'macros' | 'dev'>;

/**
 * The payload of the webhook (docs/interface.md#usp-webhook-payload): the selected campaigns in the order shown, with
 * the texts, tokens and URLs of the fetch answer. An empty selection is valid. Pure. A new field also stands in the
 * schema, `event-type.ts`, and in the type for receivers, `packages/client/src/webhook-events.ts`.
 */
export function buildUspPayload(session: PayloadSession, selected: readonly number[], context: PayloadContext): Buffer {
  const chosen = new Set(selected);
  const campaigns = session.campaignIds.flatMap((campaignId, index) =>
    chosen.has(campaignId) ? [buildCampaign(session, campaignId, index, context)] : [],
  );
  const body = {
    pub_user_id: session.pubUserId ?? '',
    selected: campaigns.length > 0 ? 1 : 0,
    session_id: session.id,
    campaigns,
  };
  return Buffer.from(JSON.stringify({ body }));
}

function buildCampaign(session: PayloadSession, campaignId: number, index: number, context: PayloadContext) {
  const { publisher, offers, tokens, publicUrl } = context;
  const offerId = session.offerIds[index] ?? 0;
  // One that is not in the catalogue any more is sent with its ids and empty texts.
  const offer = offers.get(offerId) ?? blankOffer(offerId, campaignId, publisher.id);
  const claims = {
    publisherId: publisher.id,
    sessionId: session.id,
    offerId,
    campaignId,
    position: index + 1,
    dev: session.dev,
  };
  const copy = fillCopy(offer.copy, session.macros);
  const view = buildOfferView({
    offer,
    publisher,
    copy,
    token: tokens.mint(claims),
    hasUser: session.pubUserId !== null,
    qrCode: '',
    publicUrl,
  });
  return withOldOfferNames({
    campaign_id: campaignId,
    advertiser_name: view.advertiser_name,
    title: view.title,
    short_headline: view.short_headline,
    short_description: view.short_description,
    offer_description: view.campaign.offer_description,
    description: view.description,
    terms_and_conditions: view.terms_and_conditions,
    click_url: view.click_url,
    cta_yes: view.cta_yes,
    cta_no: view.cta_no,
    mini_text: view.mini_text,
    image: view.image,
    pixel: view.pixel,
    adv_pixel_url: view.adv_pixel_url,
    save_for_later_url: view.save_for_later_url ?? '',
    is_loyalty: view.is_loyalty,
    loyalty_requirements: view.loyalty_requirements === '' ? {} : { text: view.loyalty_requirements },
    offerwall_enabled: view.offerwall_enabled,
    wallet_enabled: view.wallet_enabled,
    tags: view.tags,
    beacons: view.beacons,
    creatives: view.creatives,
    useraction_cta: view.useraction_cta,
    useraction_url: view.useraction_url,
    campaign: view.campaign,
  });
}
