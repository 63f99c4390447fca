import { buildCreativeView } from '../catalog/creative-view.ts';
import { eachBeacon, eventKinds } from '../catalog/event-kinds.ts';
import type { Offer, OfferCopy, Publisher } from '../catalog/types.ts';
import { withOldOfferNames } from './legacy-names.ts';

/** The inputs of a rendered offer. */
export type ViewContext = {
  offer: Offer;
  publisher: Pick<Publisher, 'walletEnabled' | 'offerwallEnabled'>;
  /** The copy with its macros filled. */
  copy: OfferCopy;
  /** Signed tracking token of this offer in this session. */
  token: string;
  /** Whether the fetch named a pub_user_id; without one nothing can be saved. */
  hasUser: boolean;
  /** Data URI of the QR code. */
  qrCode: string;
  /** Origin of every URL. */
  publicUrl: string;
};

export const clickUrl = (publicUrl: string, token: string): string => `${publicUrl}/sdk/offer-click?t=${token}`;

/** The offer object of docs/interface.md#offer-object, every field present, old names beside the new ones. */
export function buildOfferView(context: ViewContext) {
  const { offer, publisher, copy, token, publicUrl } = context;
  const { campaign } = offer;
  const walletEnabled = publisher.walletEnabled && offer.walletEnabled;
  const creatives = offer.creatives.map((creative) => buildCreativeView(creative, publicUrl));
  return withOldOfferNames({
    id: offer.id,
    campaign_id: campaign.id,
    title: copy.title,
    advertiser_name: campaign.advertiserName,
    description: copy.description,
    click_url: clickUrl(publicUrl, token),
    image: (creatives.find((creative) => creative.is_primary) ?? creatives[0])?.url ?? '',
    mini_text: copy.miniText,
    terms_and_conditions: offer.termsAndConditions,
    pixel: `${publicUrl}${eventKinds.impression.beacon.path}?t=${token}&cbuster=%7Bcbuster%7D`,
    cta_yes: copy.ctaYes,
    cta_no: copy.ctaNo,
    useraction_cta: offer.useractionCta,
    useraction_url: offer.useractionUrl,
    adv_pixel_url: offer.advPixelUrl,
    beacons: eachBeacon((path) => `${publicUrl}${path}?t=${token}`),
    creatives,
    offerwall_enabled: publisher.offerwallEnabled && offer.offerwallEnabled,
    wallet_enabled: walletEnabled,
    save_for_later_url: walletEnabled && context.hasUser ? `${publicUrl}/wallet/v1/save.json?t=${token}` : null,
    offerwall_url: `${publicUrl}/offerwall?t=${token}`,
    qr_code_img: context.qrCode,
    short_description: copy.shortDescription,
    short_headline: copy.shortHeadline,
    is_loyalty: campaign.isLoyalty,
    loyalty_requirements: offer.loyaltyRequirements,
    tags: campaign.tags,
    campaign: {
      is_product: campaign.isProduct,
      offer_description: campaign.offerDescription,
      campaign_images: campaign.creatives.map((creative) => buildCreativeView(creative, publicUrl)),
    },
  });
}

export type OfferView = ReturnType<typeof buildOfferView>;
