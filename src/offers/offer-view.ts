import { eachBeacon, eventKinds, ownEventPath, ownEventsOf } from '../catalog/event-kinds.ts';
import { offerLimits } from '../catalog/names.ts';
import { buildCreativeView, type Offer, type OfferCopy, type Publisher } from '../catalog/types.ts';
import type { Coupon } from '../coupons/coupon.ts';
import type { Wanted } from '../platform/i18n/reader.ts';
import { escapeHtml } from '../platform/lib/escape-html.ts';
import { firstTag } from '../platform/lib/language-tags.ts';
import type { FetchOffersRequest } from './fetch/request.ts';

/** Publisher settings that affect a rendered offer. */
type ViewPublisher = {
  walletEnabled: boolean;
  offerwallEnabled: boolean;
  language: Wanted;
  ownEvents: readonly string[];
};

/** Everything needed to render an offer. */
export type ViewContext = {
  offer: Offer;
  publisher: ViewPublisher;
  /** Offer copy after macros were replaced. */
  copy: OfferCopy;
  /** Signed tracking token for this offer in this session. */
  token: string;
  /** Whether the fetch has a `pub_user_id`, without which offers cannot be saved. */
  hasUser: boolean;
  /** QR code as a data URI. */
  qrCode: string;
  /** Origin (scheme and host) of all URLs. */
  publicUrl: string;
};

/**
 * Returns the code that all users of an offer share, which is not secret. Returns null if the offer has individual
 * codes or no codes, or if the end of its code pool has passed.
 */
export function sharedCouponOf(offer: Offer, nowMs: number): NonNullable<Coupon> | null {
  const { coupon } = offerAt(offer, nowMs);
  return coupon === null ? null : sharedCouponIn(coupon);
}

function sharedCouponIn(coupon: NonNullable<Offer['coupon']>): NonNullable<Coupon> | null {
  if (coupon.sharedCode === null) return null;
  return { code: coupon.sharedCode, expires_at: coupon.expiresAt, terms: coupon.terms };
}

const endedOffers = new WeakMap<Offer, Offer>();

/** Returns the offer as it is at a given time. The shared code is removed once the end of its pool has passed. */
export function offerAt(offer: Offer, nowMs: number): Offer {
  const { coupon } = offer;
  if (coupon === null || coupon.sharedCode === null || coupon.expiresAt === null) return offer;
  if (Date.parse(coupon.expiresAt) > nowMs) return offer;
  let ended = endedOffers.get(offer);
  if (ended === undefined) {
    ended = { ...offer, coupon: { ...coupon, sharedCode: null } };
    endedOffers.set(offer, ended);
  }
  return ended;
}

export const clickUrl = (publicUrl: string, token: string): string => `${publicUrl}/sdk/offer-click?t=${token}`;

/**
 * Builds the offer object (docs/reference/fetch-offers.md#offer-object). Every field is present, including those with
 * old names.
 */
export function buildOfferView(context: ViewContext) {
  const { offer, publisher, copy, token, publicUrl } = context;
  const { campaign } = offer;
  const walletEnabled = publisher.walletEnabled && offer.walletEnabled;
  const creatives = offer.creatives.map((creative) => buildCreativeView(creative, publicUrl));
  const own = ownEventsOf(publisher, campaign);
  const ownUrl = (name: string): string => `${publicUrl}${ownEventPath}?t=${token}&name=${name}`;
  const shared = offer.coupon === null ? null : sharedCouponIn(offer.coupon);
  return withOldOfferNames({
    id: offer.id,
    campaign_id: campaign.id,
    language: offer.language ?? publisher.language.key,
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
    ...(own.length > 0 && { events: Object.fromEntries(own.map((name) => [name, ownUrl(name)])) }),
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
    ...(shared === null ? {} : { coupon: shared }),
  });
}

export type OfferView = ReturnType<typeof buildOfferView>;

/** Adds the old field names to an offer, or to a campaign in the webhook payload. */
export function withOldOfferNames<
  Entry extends { is_loyalty: unknown; loyalty_requirements: unknown; wallet_enabled: unknown },
>(entry: Entry) {
  return {
    ...entry,
    is_loyaltyboost: entry.is_loyalty,
    loyaltyboost_requirements: entry.loyalty_requirements,
    perkswallet_enabled: entry.wallet_enabled,
  };
}

/** Returns an offer in SDK format without tracked URLs. */
export function untrackedView({
  publisher,
  offer,
  publicUrl,
}: {
  publisher: Publisher;
  offer: Offer;
  publicUrl: string;
}): object {
  const view = buildOfferView({ offer, publisher, copy: offer.copy, token: '', hasUser: false, qrCode: '', publicUrl });
  return {
    ...view,
    pixel: '',
    adv_pixel_url: '',
    beacons: eachBeacon(() => ''),
    save_for_later_url: null,
  };
}

/** Maximum length of each field that can contain macros, in characters. */
const limits: Readonly<Record<keyof OfferCopy, number>> = {
  title: offerLimits.title.maxLength,
  description: offerLimits.description.maxLength,
  miniText: offerLimits.mini_text.maxLength,
  shortHeadline: offerLimits.short_headline.maxLength,
  shortDescription: offerLimits.short_description.maxLength,
  ctaYes: offerLimits.cta_yes.maxLength,
  ctaNo: offerLimits.cta_no.maxLength,
};

const macroPattern = /\{\{\s*([A-Za-z0-9_.-]{1,64})\s*(?:\|([^{}]*))?\}\}/g;

export type MacroValues = Readonly<Record<string, string>>;

const namesByCopy = new WeakMap<OfferCopy, ReadonlySet<string>>();

/** Returns the names of the macros in an offer's copy. The copy is parsed once per offer in a snapshot. */
export function macroNames(copy: OfferCopy): ReadonlySet<string> {
  let names = namesByCopy.get(copy);
  if (names === undefined) {
    names = new Set(
      Object.values(copy).flatMap((value) => [...value.matchAll(macroPattern)].map((match) => match[1] as string)),
    );
    namesByCopy.set(copy, names);
  }
  return names;
}

/** Whether an offer's copy contains a macro. */
export const hasMacros = (copy: OfferCopy): boolean => macroNames(copy).size > 0;

/**
 * Returns the values for macros: custom attributes, and fields that neither identify a person nor authorise a call. IP
 * addresses, fingerprints and keys must never appear in an offer.
 */
export function macroValuesOf(request: FetchOffersRequest, names: Iterable<string>): MacroValues {
  const requestValues: Record<string, string | null> = {
    placement: request.placement,
    country: request.country,
    language: request.language === null ? null : firstTag(request.language.key),
    pub_user_id: request.pubUserId,
    ua: request.userAgent,
  };
  const values: Record<string, string> = {};
  for (const name of names) {
    const value = request.custom.get(name) ?? (Object.hasOwn(requestValues, name) ? requestValues[name] : null);
    if (value !== null && value !== undefined) values[name] = value;
  }
  return values;
}

/**
 * Replaces `{{name}}` and `{{name|fallback}}` in an offer's copy (docs/reference/themes-and-rendering.md#macros).
 * Values are HTML-escaped. If a value is missing, its fallback is used. Without a fallback, the macro is removed
 * together with an adjacent space. Each string is truncated to its maximum length.
 */
export function fillCopy(copy: OfferCopy, values: MacroValues): OfferCopy {
  const filled = { ...copy };
  for (const field of Object.keys(limits) as (keyof OfferCopy)[]) {
    if (copy[field].includes('{{')) filled[field] = cut(fillText(copy[field], values), limits[field]);
  }
  return filled;
}

/** Placeholder for a missing macro value. This character cannot occur in stored text. */
const gap = '\0';

/**
 * Replaces the macros in a string without truncating it. Spaces that the author wrote are preserved, because French has
 * a space before `!`.
 */
export function fillText(text: string, values: MacroValues): string {
  const filled = text.replace(macroPattern, (_macro, name: string, fallback: string | undefined) => {
    const value = Object.hasOwn(values, name) ? values[name] : undefined;
    const words = value?.replace(/\s+/g, ' ').replaceAll(gap, '').trim() ?? '';
    return words === '' ? fallback?.trim() || gap : escapeHtml(words);
  });
  return filled.includes(gap) ? closeGaps(filled) : filled;
}

/**
 * Removes placeholders and collapses the blanks around them. No blank remains at either end of the text, or before
 * punctuation that had none.
 */
const closeGaps = (text: string): string =>
  text.replace(/(\s*)\0(?:\s*\0)*(\s*)/g, (run: string, before: string, after: string, at: number) => {
    const next = text[at + run.length];
    if (at === 0 || next === undefined) return '';
    if (/[,.!?;:)\]»…]/.test(next)) return after;
    return before === '' ? after : before;
  });

/** Truncates a string to at most `limit` characters without splitting an entity or a surrogate pair. */
function cut(text: string, limit: number): string {
  if (text.length <= limit) return text;
  let end = limit;
  if (/[\uD800-\uDBFF]/.test(text[end - 1] as string)) end -= 1;
  const open = text.lastIndexOf('&', end - 1);
  if (open !== -1 && /^&#?\w{0,8}$/.test(text.slice(open, end)) && /^#?\w*;/.test(text.slice(end))) end = open;
  return text.slice(0, end).trimEnd();
}
