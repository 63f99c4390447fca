import { defaultSettings, defaultStyles } from '../offers/settings.ts';
import { SdkError } from './errors.ts';
import type { AdConfig, Answer, Creative, Offer } from './types.ts';

type Fields = Record<string, unknown>;

/**
 * Makes an answer of fetch-offers safe to show: every field has its type, every URL is http(s), texts are plain.
 * Accepts the JSON text, the whole answer, or its `data`. Offers without a usable click URL are left out.
 * @throws SdkError server_error when it is no such answer
 */
export function readAnswer(given: unknown, config: AdConfig): Answer {
  const raw = typeof given === 'string' ? parse(given) : given;
  const data = fieldsOf(fieldsOf(raw).data ?? raw);
  if (!Array.isArray(data.offers)) throw new SdkError('server_error', 'The answer holds no offers list.');
  const styles = fieldsOf(data.styles);
  return {
    offers: data.offers.map(readOffer).filter((offer) => offer !== null),
    sessionId: textOf(data.session_id),
    privacyUrl: urlOf(data.privacy_url),
    settings: overlay(overlay(defaultSettings, fieldsOf(data.settings ?? styles.settings)), config.settings),
    styles: overlay(overlay(defaultStyles, styles), config.styles),
    raw,
  };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new SdkError('server_error', 'The answer is not JSON.');
  }
}

function readOffer(given: unknown): Offer | null {
  const from = fieldsOf(given);
  const beacons = fieldsOf(from.beacons);
  const clickUrl = urlOf(from.click_url);
  if (clickUrl === '' || typeof from.campaign_id !== 'number') return null;
  return {
    id: typeof from.id === 'number' ? from.id : from.campaign_id,
    campaign_id: from.campaign_id,
    title: plain(from.title) || plain(from.short_headline),
    advertiser_name: plain(from.advertiser_name),
    description: plain(from.description) || plain(from.short_description),
    click_url: clickUrl,
    image: urlOf(from.image),
    mini_text: plain(from.mini_text),
    terms_and_conditions: textOf(from.terms_and_conditions),
    pixel: urlOf(from.pixel),
    cta_yes: plain(from.cta_yes) || 'Yes, please',
    cta_no: plain(from.cta_no) || 'No, thanks',
    useraction_cta: plain(from.useraction_cta),
    useraction_url: urlOf(from.useraction_url),
    adv_pixel_url: urlOf(from.adv_pixel_url),
    beacons: { close: urlOf(beacons.close), no_thanks_click: urlOf(beacons.no_thanks_click) },
    creatives: Array.isArray(from.creatives) ? from.creatives.map(readCreative).filter(({ url }) => url !== '') : [],
    offerwall_enabled: from.offerwall_enabled === true,
    wallet_enabled: (from.wallet_enabled ?? from.perkswallet_enabled) === true,
    save_for_later_url: urlOf(from.save_for_later_url),
    offerwall_url: urlOf(from.offerwall_url),
    short_description: plain(from.short_description) || plain(from.description),
    short_headline: plain(from.short_headline) || plain(from.title),
    is_loyalty: (from.is_loyalty ?? from.is_loyaltyboost) === true,
    loyalty_requirements: plain(from.loyalty_requirements ?? from.loyaltyboost_requirements),
  };
}

function readCreative(given: unknown): Creative {
  const from = fieldsOf(given);
  return {
    url: urlOf(from.url),
    width: Number(from.width) || 0,
    height: Number(from.height) || 0,
    creative_type: textOf(from.creative_type),
    is_primary: from.is_primary === true,
  };
}

const fieldsOf = (value: unknown): Fields => (typeof value === 'object' && value !== null ? (value as Fields) : {});

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');

const entities: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"', '#39': "'" };

/** The server escapes the values of macros for HTML; here everything becomes text nodes, so that is undone once. */
const plain = (value: unknown): string => textOf(value).replace(/&(amp|lt|gt|quot|#39);/g, (_all, name: string) => entities[name] ?? '');

/** An absolute http(s) URL, or "". */
export function urlOf(value: unknown): string {
  const text = textOf(value);
  return /^https?:\/\//i.test(text) && URL.canParse(text) ? text : '';
}

/** A deep copy of `base` with the values of `over` that have the same type. */
export function overlay<Base extends object>(base: Base, over: unknown): Base {
  const given = fieldsOf(over);
  const entries = Object.entries(base).map(([key, value]) => {
    const wanted = Object.hasOwn(given, key) ? given[key] : undefined;
    return [key, typeof value === 'object' ? overlay(value, wanted) : typeof wanted === typeof value ? wanted : value];
  });
  return Object.fromEntries(entries) as Base;
}
