import { type CapUsage, noHistory, type PeriodUse } from '../../src/budgets/caps.ts';
import type { CampaignRules, CapMetric } from '../../src/catalog/rules.ts';
import type { Campaign, Creative, Offer, Payout, Provision, Publisher, SequenceRule } from '../../src/catalog/types.ts';
import { buildIndex } from '../../src/decision/build-index.ts';
import { decide } from '../../src/decision/decide.ts';
import { type Explanation, explain } from '../../src/decision/explain.ts';
import { type Decision, type DecisionContext, type DecisionInput, unknownGeo } from '../../src/decision/types.ts';
import { allFeature, offerFeature } from '../../src/learning/model/logistic-features.ts';
import { agedFeature } from '../../src/learning/model/rates.ts';
import { addFeature, setPair, slotOf } from '../../src/learning/model/table.ts';
import { createModel, emptyModel, type Model, type RateModel } from '../../src/learning/model.ts';
import { wantedOf } from '../../src/platform/i18n/reader.ts';
import { runAtOnce } from '../../src/platform/lib/slices.ts';

/** Saturday, 21 November 2026, 12:00 UTC. */
export const noonMs = Date.UTC(2026, 10, 21, 12);

export const imageCreative: Creative = {
  id: 1,
  creativeType: 'icon_image',
  isPrimary: true,
  type: 'png',
  width: 1,
  height: 1,
  url: null,
  language: null,
  userId: 0,
};

export const provisionTo = (publisherId: number, over: Partial<Provision> = {}): Provision => ({
  publisherId,
  active: true,
  payoutMicros: null,
  priority: null,
  frequencyCaps: null,
  totalCaps: null,
  ...over,
});

/** Returns a campaign with its own advertiser, provisioned to publisher 1. */
export const campaignOf = (id: number, over: Partial<Campaign> = {}): Campaign => ({
  id,
  publisherId: 1,
  advertiserId: 1000 + id,
  advertiserName: `Advertiser ${over.advertiserId ?? 1000 + id}`,
  advertiserEvents: [],
  name: `Campaign ${id}`,
  category: '',
  tags: [],
  active: true,
  stopped: null,
  priority: 100,
  weight: 100,
  ranking: 'learned',
  isProduct: false,
  isLoyalty: false,
  offerDescription: '',
  landingUrl: 'https://shop.example/',
  clickIdParam: 'click_id',
  optOutDays: null,
  overspendPercent: 0,
  goal: null,
  activatedAtMs: null,
  payout: { kind: 'cpc', amountMicros: 0, currency: 'USD' },
  rules: {},
  provisions: new Map([[1, provisionTo(1)]]),
  creatives: [],
  ...over,
});

export const withRules = (id: number, rules: CampaignRules, over: Partial<Campaign> = {}): Campaign =>
  campaignOf(id, { ...over, rules });

export const pays = (kind: Payout['kind'], amount: number): Payout => ({
  kind,
  amountMicros: Math.round(amount * 1_000_000),
  currency: 'USD',
});

export const offerOf = (id: number, campaign: Campaign, over: Partial<Offer> = {}): Offer => ({
  id,
  publisherId: campaign.publisherId,
  campaign,
  active: true,
  stopped: null,
  weight: 100,
  language: null,
  translations: null,
  copy: {
    title: `Offer ${id}`,
    description: '',
    miniText: '',
    shortHeadline: '',
    shortDescription: '',
    ctaYes: '',
    ctaNo: '',
  },
  termsAndConditions: '',
  loyaltyRequirements: '',
  useractionCta: null,
  useractionUrl: null,
  advPixelUrl: '',
  walletEnabled: true,
  offerwallEnabled: true,
  creatives: [],
  coupon: null,
  ...over,
});

/** Returns one offer per campaign, with the campaign's ID. */
export const offersOf = (...campaigns: readonly Campaign[]): Offer[] =>
  campaigns.map((campaign) => offerOf(campaign.id, campaign));

export function publisherWith(offers: readonly Offer[], over: Partial<Publisher> = {}): Publisher {
  const rest = { language: over.language ?? wantedOf('en'), controls: over.controls ?? null };
  const own = { id: 1, timeZone: over.timeZone ?? 'UTC', ...rest };
  const building = buildIndex({ publisher: own, offers, timeZoneOf: () => own.timeZone });
  let step = building.next();
  while (step.done !== true) step = building.next();
  return {
    ...own,
    name: 'Shop',
    sdkId: '0123456789abcdef',
    unitEnabled: true,
    offersPerResponse: 10,
    deliveryPercentage: 100,
    testMode: false,
    currencyName: 'points',
    currencyMultiplier: 1,
    reportingCurrency: null,
    exchangeRates: { base: null, byCurrency: new Map() },
    uspEnabled: false,
    walletEnabled: false,
    offerwallEnabled: false,
    privacyUrl: null,
    privacyText: '',
    frameHosts: [],
    ownEvents: [],
    defaultPlacement: null,
    learningExcludedKeys: new Set(),
    allowedUserAgents: [],
    postbackEvents: [],
    hasPostbacks: false,
    keepsAttributes: false,
    audiences: new Map(),
    themes: new Map(),
    themesByKey: new Map(),
    defaultTheme: null,
    placements: new Map(),
    index: step.value,
    sequenceRules: [],
    experiments: null,
    ...over,
  };
}

export const contextOf = (over: Partial<DecisionContext> = {}): DecisionContext => ({
  surface: 'unit',
  placement: 'checkout',
  platform: 'web',
  device: 'desktop',
  os: 'windows',
  browser: 'chrome',
  language: null,
  geo: unknownGeo,
  custom: new Map(),
  audiences: [],
  nowMs: noonMs,
  userKey: 'user',
  loyalty: 'also',
  onlyWithCreative: false,
  campaignId: null,
  count: null,
  shownElsewhere: null,
  arm: null,
  dev: false,
  ...over,
});

export type InputOptions = Partial<Omit<DecisionInput, 'context'>> & { context?: Partial<DecisionContext> };

export const inputOf = (publisher: Publisher, { context, ...over }: InputOptions = {}): DecisionInput => ({
  publisher,
  theme: null,
  context: contextOf(context),
  history: noHistory,
  totals: new Map(),
  model: emptyModel,
  seed: 1,
  ...over,
});

export const shownBy = ({ offers }: Decision): number[] => offers.map(({ offer }) => offer.id);

export const decideOfferIds = (
  offers: readonly Offer[],
  options: InputOptions = {},
  publisher: Partial<Publisher> = {},
): number[] => shownBy(decide(inputOf(publisherWith(offers, publisher), options)));

export const sequenceRule = (id: number, over: Partial<SequenceRule>): SequenceRule => ({
  id,
  placement: null,
  positions: null,
  effect: 'deny',
  match: {},
  weight: 100,
  ...over,
});

const unused: PeriodUse = { hour: 0, day: 0, month: 0, lifetime: 0 };

export const useOf = (over: { [Metric in CapMetric]?: Partial<PeriodUse> }): CapUsage => ({
  impressions: { ...unused, ...over.impressions },
  clicks: { ...unused, ...over.clicks },
  budget: { ...unused, ...over.budget },
});

/** Returns usage that is partly reserved. */
export const heldOf = (over: Parameters<typeof useOf>[0], reservedUse: Parameters<typeof useOf>[0]): CapUsage => {
  const { impressions = {}, budget = {} } = useOf(reservedUse);
  return { ...useOf(over), reserved: { impressions, budget } };
};

/** Event counts of an offer at the first position. */
export type Counts = { impressions: number; clicks: number; conversions: number };

export const counts = (impressions: number, clicks: number, conversions = 0): Counts => ({
  impressions,
  clicks,
  conversions,
});

/**
 * Returns a model that learned from the given event counts. Without events, each offer starts with one success at the
 * start rate.
 */
export function modelOf(
  offers: readonly Offer[],
  countsByOffer: ReadonlyMap<number, Counts>,
  { model = createModel() }: { model?: Model } = {},
): Model {
  for (const { id } of offers) {
    const own = countsByOffer.get(id);
    if (own === undefined) continue;
    setRate(model.click, id, own.clicks, own.impressions);
    setRate(model.conversion, id, own.conversions, own.clicks);
  }
  return { ...model, version: model.version + 1 };
}

function setRate({ rates, startRate }: RateModel, id: number, successes: number, trials: number): void {
  const set = (feature: string, entity: number, first: number, second: number): void =>
    setPair(rates, slotOf(rates, addFeature(rates, feature), entity), first, second);
  const rate = Math.min(0.999, (successes + 1) / (trials + 1 / startRate));
  const logit = (p: number): number => Math.log(p / (1 - p));
  set(allFeature, 0, logit(startRate), 1);
  set(offerFeature, id, logit(rate) - logit(startRate), 1 / ((successes + 1) * (1 - rate)));
  set(agedFeature, id, successes, trials);
}

/** Explains a decision without pauses. */
export const explainAtOnce = (input: DecisionInput): Explanation[] => runAtOnce(explain(input));
