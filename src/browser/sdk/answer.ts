import type { OfferAppearance } from '../../../packages/client/src/appearance.ts';
import { flatMap, objectOf, parseUrl } from './compat.ts';
import { SdkError } from './errors.ts';
import { withNewOfferNames } from './legacy-names.ts';
import type { AdConfig, Creative, Defaults, Offer, OffersResponse } from './types.ts';

type Fields = Record<string, unknown>;

/** English labels, inserted at build time (scripts/build-sdk.ts). */
declare const UNIT_OFFER: { cta_yes: string; cta_no: string };

/** Default labels of the accept and decline buttons. */
export const defaultAnswers = UNIT_OFFER;

/**
 * Validates and sanitises a fetch-offers response, so that it is safe to display. Every field has the expected type,
 * every URL is http(s), and all copy is plain text. Accepts JSON text, the whole response, or its `data`. Offers
 * without a usable click URL are dropped.
 * @throws SdkError server_error if it is not a fetch-offers response
 */
export function readAnswer(response: unknown, config: AdConfig, defaults: Defaults): OffersResponse {
  const raw = typeof response === 'string' ? parse(response) : response;
  const data = fieldsOf(fieldsOf(raw).data ?? raw);
  if (!Array.isArray(data.offers)) throw new SdkError('server_error', 'The response has no offers list.');
  const ownStyles = fieldsOf(data.styles);
  const styles = overlay(defaults.styles, ownStyles);
  const appearance = { ...fieldsOf(data.appearance), ...config.appearance };
  const { color_scheme, spacing, width, dark, web_font } = appearance as Partial<OfferAppearance>;
  const sent = overlay(defaults.settings, fieldsOf(data.settings ?? ownStyles.settings));
  const settings = overlay(sent, config.settings);
  return {
    offers: data.offers.map(readOffer).filter((offer) => offer !== null),
    sessionId: textOf(data.session_id),
    privacyUrl: urlOf(data.privacy_url),
    // Only the service can enable User Selected Perks. The page can only disable them.
    settings: { ...settings, enable_usp: sent.enable_usp && settings.enable_usp },
    allSelected: sent.usp_all_offers_checked,
    styles: overlay(styles, config.styles),
    terms: defaults.terms,
    dark: color_scheme === 'dark' || color_scheme === 'system' ? overlay(styles, dark) : null,
    appearance: { color_scheme: `${color_scheme}`, spacing: `${spacing}`, width: Number(width) || 0, web_font },
    experiments: Array.isArray(data.experiments) ? { experiments: data.experiments } : null,
    labels: fieldsOf(data.labels),
    raw,
  };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new SdkError('server_error', 'The response is not JSON.');
  }
}

const textNames = [
  'title',
  'advertiser_name',
  'description',
  'mini_text',
  'cta_yes',
  'cta_no',
  'useraction_cta',
  'short_description',
  'short_headline',
  'loyalty_requirements',
] as const;
const urlNames = [
  'click_url',
  'image',
  'pixel',
  'useraction_url',
  'adv_pixel_url',
  'save_for_later_url',
  'offerwall_url',
] as const;
const flagNames = ['offerwall_enabled', 'wallet_enabled', 'is_loyalty'] as const;

const mapped = <Name extends string, Value>(names: readonly Name[], read: (name: Name) => Value): Record<Name, Value> =>
  objectOf(names.map((name) => [name, read(name)] as const)) as Record<Name, Value>;

function readOffer(value: unknown): Offer | null {
  const from = withNewOfferNames(fieldsOf(value));
  const beacons = fieldsOf(from.beacons);
  const texts = mapped(textNames, (name) => plain(from[name]));
  const urls = mapped(urlNames, (name) => urlOf(from[name]));
  if (urls.click_url === '' || typeof from.campaign_id !== 'number') return null;
  return {
    ...texts,
    ...urls,
    ...mapped(flagNames, (name) => from[name] === true),
    id: typeof from.id === 'number' ? from.id : from.campaign_id,
    campaign_id: from.campaign_id,
    title: texts.title || texts.short_headline,
    description: texts.description || texts.short_description,
    short_description: texts.short_description || texts.description,
    short_headline: texts.short_headline || texts.title,
    cta_yes: texts.cta_yes || defaultAnswers.cta_yes,
    cta_no: texts.cta_no || defaultAnswers.cta_no,
    terms_and_conditions: textOf(from.terms_and_conditions),
    beacons: mapped(Object.keys(beacons) as (keyof Offer['beacons'])[], (name) => urlOf(beacons[name])),
    creatives: Array.isArray(from.creatives) ? from.creatives.map(readCreative).filter(({ url }) => url !== '') : [],
  };
}

function readCreative(value: unknown): Creative {
  const from = fieldsOf(value);
  return {
    url: urlOf(from.url),
    creative_type: textOf(from.creative_type),
  };
}

const fieldsOf = (value: unknown): Fields => (typeof value === 'object' && value !== null ? (value as Fields) : {});

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');

const entities: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"', '#39': "'" };

/**
 * Unescapes the HTML entities in macro values from the server, because the SDK inserts every string as a text node.
 * Each entity is unescaped only once.
 */
const plain = (value: unknown): string =>
  textOf(value).replace(/&(amp|lt|gt|quot|#39);/g, (_all, name: string) => entities[name] ?? '');

/** Returns an absolute http(s) URL, or "". */
export function urlOf(value: unknown): string {
  const text = textOf(value);
  return /^https?:\/\//i.test(text) && parseUrl(text) ? text : '';
}

/**
 * Returns an error message for each member of `input` that is missing in `reference` or has a different type there.
 * `path` is the path of `input` in the messages.
 */
export const findInvalidMembers = (reference: object, input: unknown, path: string): string[] =>
  flatMap(Object.entries(fieldsOf(input)), ([name, value]) => {
    const base = (reference as Fields)[name];
    if (base === undefined) return [`${path}.${name} is unknown.`];
    if (typeof value !== typeof base) return [`${path}.${name} must be a ${typeof base}.`];
    return typeof base === 'object' ? findInvalidMembers(base as object, value, `${path}.${name}`) : [];
  });

/** Returns a deep copy of `base`, overridden with those values of `over` that have the same type. */
function overlay<Base extends object>(base: Base, over: unknown): Base {
  const overrides = fieldsOf(over);
  const entries = Object.entries(base).map(([key, value]): [string, unknown] => {
    const override = overrides[key];
    return [
      key,
      typeof value === 'object' ? overlay(value, override) : typeof override === typeof value ? override : value,
    ];
  });
  return objectOf(entries) as Base;
}
