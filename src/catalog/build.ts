import { isServedTo, priorityOf } from './provision.ts';
import type {
  CampaignRow,
  CatalogRows,
  CreativeRow,
  KeyRow,
  OfferRow,
  PlacementRow,
  ProvisionRow,
  PublisherRow,
  SequenceRuleRow,
  ThemeRow,
} from './rows.ts';
import type { ApiKey, Campaign, Creative, Offer, Placement, Provision, Publisher, SequenceRule, Snapshot, Theme } from './types.ts';

/** Turns rows into the immutable snapshot. Pure. */
export function buildSnapshot(rows: CatalogRows): Snapshot {
  const creativesByOffer = groupBy(rows.creatives, (row) => row.offer_id);
  const offerRowsByCampaign = groupBy(rows.offers, (row) => row.campaign_id);
  const offers = new Map<number, Offer>();
  const provisionsByCampaign = groupBy(rows.provisions, (row) => row.campaign_id);
  const candidates = new Map<number, Offer[]>();
  for (const row of rows.campaigns) {
    const offerRows = offerRowsByCampaign.get(row.id) ?? [];
    const campaign = toCampaign(
      row,
      offerRows.flatMap((offer) => creativesByOffer.get(offer.id) ?? []),
      provisionsByCampaign.get(row.id) ?? [],
    );
    for (const offerRow of offerRows) {
      const offer = toOffer(offerRow, campaign, creativesByOffer.get(offerRow.id) ?? []);
      offers.set(offer.id, offer);
      for (const publisherId of campaign.provisions.keys()) {
        if (isServedTo(offer, publisherId)) listUnder(candidates, publisherId, offer);
      }
    }
  }
  for (const [publisherId, list] of candidates) list.sort(byRank(publisherId));

  const publishers = toPublishers(rows, candidates);
  return {
    version: rows.version,
    publishers,
    publishersBySdkId: new Map([...publishers.values()].map((publisher) => [publisher.sdkId, publisher])),
    keys: new Map(rows.keys.map((row) => [row.key_hash, toKey(row)])),
    offers,
  };
}

/** Order of offers: priority (lower first), weight of the campaign, weight of the offer (higher first), id. */
const byRank =
  (publisherId: number) =>
  (a: Offer, b: Offer): number =>
    priorityOf(a.campaign, publisherId) - priorityOf(b.campaign, publisherId) ||
    b.campaign.weight - a.campaign.weight ||
    a.campaign.id - b.campaign.id ||
    b.weight - a.weight ||
    a.id - b.id;

function toPublishers(rows: CatalogRows, candidates: ReadonlyMap<number, Offer[]>): Map<number, Publisher> {
  const themes = groupBy(rows.themes, (row) => row.publisher_id);
  const placements = groupBy(rows.placements, (row) => row.publisher_id);
  const sequenceRules = groupBy(rows.sequenceRules, (row) => row.publisher_id);
  return new Map(
    rows.publishers.map((row) => [
      row.id,
      {
        ...toPublisher(row, themes.get(row.id) ?? [], placements.get(row.id) ?? []),
        candidates: candidates.get(row.id) ?? [],
        sequenceRules: (sequenceRules.get(row.id) ?? []).map(toSequenceRule),
      },
    ]),
  );
}

type OwnOfPublisher = Omit<Publisher, 'candidates' | 'sequenceRules'>;

function toPublisher(row: PublisherRow, themeRows: ThemeRow[], placementRows: PlacementRow[]): OwnOfPublisher {
  const themes = new Map(themeRows.map((theme) => [theme.id, toTheme(theme)]));
  const defaultRow = themeRows.find((theme) => theme.is_default) ?? themeRows[0];
  return {
    id: row.id,
    name: row.name,
    sdkId: row.sdk_id,
    unitEnabled: row.unit_enabled,
    offersPerResponse: row.offers_per_response,
    deliveryPercentage: row.delivery_percentage,
    testMode: row.test_mode,
    timeZone: row.time_zone,
    currencyName: row.currency_name,
    currencyMultiplier: Number(row.currency_multiplier),
    uspEnabled: row.usp_enabled,
    walletEnabled: row.wallet_enabled,
    offerwallEnabled: row.offerwall_enabled,
    privacyUrl: row.privacy_url,
    frameHosts: row.frame_hosts.filter(isFrameHost),
    themes,
    defaultTheme: (defaultRow && themes.get(defaultRow.id)) ?? null,
    placements: new Map(placementRows.map((placement) => [placement.name, toPlacement(placement)])),
  };
}

/** Whether a text is a host source that may stand in a header, such as `https://shop.example` or `https://*.shop.example:8443`. */
export const isFrameHost = (text: string): boolean =>
  /^https?:\/\/(\*\.)?[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*(:\d{1,5})?$/.test(text) && text.length <= 300;

function toTheme(row: ThemeRow): Theme {
  return {
    id: row.id,
    name: row.name,
    unit: row.unit,
    uspEnabled: row.usp_enabled,
    uspCheckAll: row.usp_check_all,
    offersPerResponse: row.offers_per_response,
    deliveryPercentage: row.delivery_percentage,
    unitEnabled: row.unit_enabled,
    settings: row.settings,
    styles: row.styles,
  };
}

function toPlacement(row: PlacementRow): Placement {
  return {
    name: row.name,
    themeId: row.theme_id,
    offersPerResponse: row.offers_per_response,
    deliveryPercentage: row.delivery_percentage,
    unitEnabled: row.unit_enabled,
  };
}

const toSequenceRule = ({ id, placement, positions, effect, match, weight }: SequenceRuleRow): SequenceRule => ({
  id,
  placement,
  positions,
  effect,
  match,
  weight,
});

function toKey(row: KeyRow): ApiKey {
  return {
    id: row.id,
    name: row.name,
    publisherId: row.publisher_id,
    permissions: new Set(row.permissions),
    rateLimitPerS: row.rate_limit_per_s,
    expiresAtMs: row.expires_at?.getTime() ?? null,
  };
}

function toCampaign(row: CampaignRow, creativeRows: CreativeRow[], provisionRows: ProvisionRow[]): Campaign {
  return {
    id: row.id,
    publisherId: row.publisher_id,
    advertiserId: row.advertiser_id,
    advertiserName: row.advertiser_name,
    name: row.name,
    category: row.category,
    tags: row.tags,
    active: row.active && row.deleted_at === null,
    priority: row.priority,
    weight: row.weight,
    isProduct: row.is_product,
    isLoyalty: row.is_loyalty,
    offerDescription: row.offer_description,
    landingUrl: row.landing_url,
    clickIdParam: row.click_id_param,
    optOutDays: row.opt_out_days,
    payout: { kind: row.payout_kind, amountMicros: microsOf(row.payout_amount), currency: row.payout_currency },
    rules: row.rules,
    provisions: new Map(provisionRows.map((provision) => [provision.publisher_id, toProvision(provision)])),
    creatives: creativeRows.map(toCreative),
  };
}

function toProvision(row: ProvisionRow): Provision {
  return {
    publisherId: row.publisher_id,
    active: row.active,
    payoutMicros: row.payout_amount === null ? null : microsOf(row.payout_amount),
    priority: row.priority,
    frequencyCaps: row.frequency_caps,
    totalCaps: row.total_caps,
  };
}

/** Millionths of a `numeric` with at most six places; money is counted in whole ones. */
const microsOf = (amount: string): number => Math.round(Number(amount) * 1_000_000);

function toOffer(row: OfferRow, campaign: Campaign, creativeRows: CreativeRow[]): Offer {
  return {
    id: row.id,
    publisherId: row.publisher_id,
    campaign,
    active: row.active && row.deleted_at === null,
    weight: row.weight,
    copy: {
      title: row.title,
      description: row.description,
      miniText: row.mini_text,
      shortHeadline: row.short_headline,
      shortDescription: row.short_description,
      ctaYes: row.cta_yes,
      ctaNo: row.cta_no,
    },
    termsAndConditions: row.terms_and_conditions,
    loyaltyRequirements: row.loyalty_requirements,
    useractionCta: row.useraction_cta,
    useractionUrl: row.useraction_url,
    advPixelUrl: row.adv_pixel_url,
    walletEnabled: row.wallet_enabled,
    offerwallEnabled: row.offerwall_enabled,
    creatives: creativeRows.map(toCreative),
  };
}

function toCreative(row: CreativeRow): Creative {
  return {
    id: row.id,
    creativeType: row.creative_type,
    isPrimary: row.is_primary,
    type: row.type,
    width: row.width,
    height: row.height,
    url: row.url,
    userId: row.user_id,
  };
}

function groupBy<Row>(rows: readonly Row[], keyOf: (row: Row) => number): Map<number, Row[]> {
  const groups = new Map<number, Row[]>();
  for (const row of rows) listUnder(groups, keyOf(row), row);
  return groups;
}

function listUnder<K, V>(lists: Map<K, V[]>, key: K, value: V): void {
  const list = lists.get(key);
  if (list === undefined) lists.set(key, [value]);
  else list.push(value);
}
