import type { Wanted } from '../platform/i18n/reader.ts';
import { chainOf } from '../platform/lib/language-tags.ts';
import { timeOf } from '../platform/lib/time-zone.ts';
import { type EventKind, rulesOf } from './event-kinds.ts';
import type {
  Campaign,
  Controls,
  Creative,
  Offer,
  Payout,
  TranslatedText,
  Translation,
  Translations as TranslationsOf,
} from './types.ts';

/** Whether an offer belongs to a publisher or is provisioned to it. Inactive provisions count too. */
export const isKnownTo = (offer: Offer, publisherId: number): boolean =>
  offer.publisherId === publisherId || offer.campaign.provisions.has(publisherId);

/** Whether an offer is active, along with its campaign and its provision for the publisher. */
export const isProvisionedTo = (offer: Offer, publisherId: number): boolean =>
  offer.active && offer.campaign.active && offer.campaign.provisions.get(publisherId)?.active === true;

/**
 * Whether a publisher may show an offer: the offer must be provisioned to the publisher and not blocked by the
 * publisher's rules.
 */
export const isServedTo = (offer: Offer, { id, controls }: { id: number; controls: Controls | null }): boolean =>
  isProvisionedTo(offer, id) && (controls === null || controls.blockOf(offer) === null);

/**
 * Returns whether a campaign is yet to start, running or over. Only its start and end dates matter, not its schedule
 * hours.
 */
export function phaseOf({ rules: { schedule = {} } }: Campaign, nowMs: number): 'ahead' | 'running' | 'over' {
  if ((timeOf(schedule.end_at) ?? Number.POSITIVE_INFINITY) <= nowMs) return 'over';
  return (timeOf(schedule.start_at) ?? Number.NEGATIVE_INFINITY) > nowMs ? 'ahead' : 'running';
}

/** Returns the end of a campaign in epoch milliseconds, or null if it has no end. */
export const endMsOf = ({ rules: { schedule = {} } }: Campaign): number | null => timeOf(schedule.end_at) ?? null;

/** Returns the priority of a campaign at a publisher. Campaigns with lower numbers are shown first. */
export const priorityOf = (campaign: Campaign, publisherId: number): number =>
  campaign.provisions.get(publisherId)?.priority ?? campaign.priority;

/** Returns the payout of a campaign at a publisher. */
export function payoutOf(
  { payout, provisions }: { payout: Payout; provisions: Campaign['provisions'] },
  publisherId: number,
): Payout {
  const amountMicros = provisions.get(publisherId)?.payoutMicros ?? null;
  return amountMicros === null ? payout : { ...payout, amountMicros };
}

/**
 * Returns the maximum cost of a paid event, in millionths. The result is 1 for a share of a sale, because the amount is
 * not known in advance.
 */
export function maxCostMicros({ kind, amountMicros }: Payout): number {
  if (kind === 'cpm') return Math.max(1, amountMicros / 1000);
  return kind === 'cps' ? 1 : Math.max(1, amountMicros);
}

/**
 * Returns the revenue from an event, in millionths of the campaign's currency. Clicks earn revenue in CPC campaigns,
 * and impressions in CPM campaigns. The revenue is stored with the event, so that later payout changes do not affect
 * past events.
 */
export function eventRevenueMicros(kind: EventKind, campaign: Campaign, publisherId: number): number {
  const { paidBy } = rulesOf(kind);
  if (paidBy === undefined) return 0;
  const { kind: payout, amountMicros } = payoutOf(campaign, publisherId);
  return paidBy.payout === payout ? Math.round(amountMicros / paidBy.per) : 0;
}

type Translations = TranslationsOf<Offer>;

/** Returns the translations of an offer, or null if the offer has only one language. */
export function translationsOf(
  { translations = {} }: { translations?: Readonly<Record<string, Translation>> },
  creatives: readonly Creative[],
): Translations | null {
  const entries = Object.entries(translations);
  const imageLanguages = new Set(creatives.flatMap(({ language }) => language?.toLowerCase() ?? []));
  if (entries.length === 0 && imageLanguages.size === 0) return null;
  const texts = new Map(entries.map(([tag, translation]) => [tag.toLowerCase(), { tag, texts: translation }]));
  return { texts, imageLanguages, localised: new Map() };
}

/** Key for the original copy, and for creatives that have no language. */
const own = '';

/**
 * Returns an offer in the reader's language. Each text is taken from the first of the reader's languages in which it
 * exists (`pt-BR` before `pt`), or else from the original. `language` is the most preferred of the languages used.
 */
export function localise(offer: Offer, preferred: Wanted, publisher: { language: Wanted }): Offer {
  const { translations } = offer;
  if (translations === null) return offer;
  const textsIn = textLanguage(offer, translations, preferred, publisher.language.key);
  const imageLanguage = preferred.chain.find((tag) => translations.imageLanguages.has(tag)) ?? own;
  let byImageLanguage = translations.localised.get(textsIn);
  if (byImageLanguage === undefined) {
    byImageLanguage = new Map();
    translations.localised.set(textsIn, byImageLanguage);
  }
  let localised = byImageLanguage.get(imageLanguage);
  if (localised === undefined) {
    localised = translate(offer, translations, textsIn, imageLanguage);
    byImageLanguage.set(imageLanguage, localised);
  }
  return localised;
}

/**
 * Returns the first of the reader's preferred languages in which the offer has copy. All offers in a response share the
 * same few tag chains.
 */
function textLanguage(
  { language }: Offer,
  { texts }: Translations,
  { chain }: Wanted,
  publisherLanguage: string,
): string {
  const ownTag = (language ?? publisherLanguage).toLowerCase();
  for (const tag of chain) {
    if (texts.has(tag)) return tag;
    if (ownTag === tag || (ownTag.startsWith(tag) && ownTag[tag.length] === '-')) return own;
  }
  return own;
}

function translate(offer: Offer, { texts }: Translations, textsIn: string, imageLanguage: string): Offer {
  const creatives = inLanguage(offer.creatives, imageLanguage);
  const translation = texts.get(textsIn);
  if (translation === undefined) return { ...offer, creatives, translations: null };
  const chain = chainOf(translation.tag);
  const text = (name: TranslatedText, untranslated: string): string =>
    chain.map((tag) => texts.get(tag)?.texts[name]).find((candidate) => candidate !== undefined && candidate !== '') ??
    untranslated;
  const { copy, campaign } = offer;
  return {
    ...offer,
    language: translation.tag,
    translations: null,
    copy: {
      title: text('title', copy.title),
      description: text('description', copy.description),
      miniText: text('mini_text', copy.miniText),
      shortHeadline: text('short_headline', copy.shortHeadline),
      shortDescription: text('short_description', copy.shortDescription),
      ctaYes: text('cta_yes', copy.ctaYes),
      ctaNo: text('cta_no', copy.ctaNo),
    },
    campaign: { ...campaign, offerDescription: text('offer_description', campaign.offerDescription) },
    termsAndConditions: text('terms_and_conditions', offer.termsAndConditions),
    loyaltyRequirements: text('loyalty_requirements', offer.loyaltyRequirements),
    useractionCta: text('useraction_cta', offer.useractionCta ?? '') || null,
    creatives,
  };
}

/**
 * Returns the creatives in the given language. For creative types that have none in this language, returns the
 * creatives without a language.
 */
function inLanguage(creatives: readonly Creative[], tag: string): readonly Creative[] {
  const isIn = ({ language }: Creative): boolean => language?.toLowerCase() === tag;
  const translated = new Set(creatives.filter(isIn).map(({ creativeType }) => creativeType));
  return creatives.filter((creative) =>
    translated.has(creative.creativeType) ? isIn(creative) : creative.language === null,
  );
}

/** Returns an offer's translations into all languages, for rules that search its copy. */
export const allTextsOf = ({ translations }: { translations: Offer['translations'] }): Translation[] =>
  translations === null ? [] : [...translations.texts.values()].map(({ texts }) => texts);

/** Returns a placeholder: an inactive offer of an inactive campaign, with empty copy and no rules. */
export const blankOffer = (id: number, campaignId: number, publisherId: number): Offer => ({
  id,
  publisherId,
  campaign: {
    id: campaignId,
    publisherId,
    advertiserId: 0,
    advertiserName: '',
    advertiserEvents: [],
    name: '',
    category: '',
    tags: [],
    active: false,
    stopped: null,
    priority: 0,
    weight: 0,
    ranking: 'learned',
    isProduct: false,
    isLoyalty: false,
    offerDescription: '',
    landingUrl: '',
    clickIdParam: '',
    optOutDays: null,
    overspendPercent: 0,
    goal: null,
    activatedAtMs: null,
    payout: { kind: 'cpc', amountMicros: 0, currency: 'USD' },
    rules: {},
    provisions: new Map(),
    creatives: [],
  },
  active: false,
  stopped: null,
  weight: 0,
  language: null,
  translations: null,
  copy: { title: '', description: '', miniText: '', shortHeadline: '', shortDescription: '', ctaYes: '', ctaNo: '' },
  termsAndConditions: '',
  loyaltyRequirements: '',
  useractionCta: null,
  useractionUrl: null,
  advPixelUrl: '',
  walletEnabled: false,
  offerwallEnabled: false,
  creatives: [],
  coupon: null,
});
