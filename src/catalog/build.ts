import type { CampaignRow, CatalogRows, CreativeRow, KeyRow, OfferRow, PlacementRow, PublisherRow, ThemeRow } from './rows.ts';
import type { ApiKey, Campaign, Creative, Offer, Placement, Publisher, Snapshot, Theme } from './types.ts';

/** Turns rows into the immutable snapshot. Pure. */
export function buildSnapshot(rows: CatalogRows): Snapshot {
  const creativesByOffer = groupBy(rows.creatives, (row) => row.offer_id);
  const offerRowsByCampaign = groupBy(rows.offers, (row) => row.campaign_id);
  const offers = new Map<number, Offer>();
  const candidates = new Map<number, Offer[]>();
  for (const row of rows.campaigns) {
    const offerRows = offerRowsByCampaign.get(row.id) ?? [];
    const campaign = toCampaign(
      row,
      offerRows.flatMap((offer) => creativesByOffer.get(offer.id) ?? []),
    );
    for (const offerRow of offerRows) {
      const offer = toOffer(offerRow, campaign, creativesByOffer.get(offerRow.id) ?? []);
      offers.set(offer.id, offer);
      if (offer.active && campaign.active) listUnder(candidates, offer.publisherId, offer);
    }
  }
  for (const list of candidates.values()) list.sort(byRank);

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
function byRank(a: Offer, b: Offer): number {
  return (
    a.campaign.priority - b.campaign.priority ||
    b.campaign.weight - a.campaign.weight ||
    a.campaign.id - b.campaign.id ||
    b.weight - a.weight ||
    a.id - b.id
  );
}

function toPublishers(rows: CatalogRows, candidates: ReadonlyMap<number, Offer[]>): Map<number, Publisher> {
  const themes = groupBy(rows.themes, (row) => row.publisher_id);
  const placements = groupBy(rows.placements, (row) => row.publisher_id);
  return new Map(
    rows.publishers.map((row) => [
      row.id,
      toPublisher(row, themes.get(row.id) ?? [], placements.get(row.id) ?? [], candidates.get(row.id) ?? []),
    ]),
  );
}

function toPublisher(row: PublisherRow, themeRows: ThemeRow[], placementRows: PlacementRow[], candidates: readonly Offer[]): Publisher {
  const themes = new Map(themeRows.map((theme) => [theme.id, toTheme(theme)]));
  const defaultRow = themeRows.find((theme) => theme.is_default) ?? themeRows[0];
  return {
    id: row.id,
    name: row.name,
    sdkId: row.sdk_id,
    unitEnabled: row.unit_enabled,
    offersPerResponse: row.offers_per_response,
    timeZone: row.time_zone,
    currencyName: row.currency_name,
    currencyMultiplier: Number(row.currency_multiplier),
    uspEnabled: row.usp_enabled,
    walletEnabled: row.wallet_enabled,
    offerwallEnabled: row.offerwall_enabled,
    privacyUrl: row.privacy_url,
    themes,
    defaultTheme: (defaultRow && themes.get(defaultRow.id)) ?? null,
    placements: new Map(placementRows.map((placement) => [placement.name, toPlacement(placement)])),
    candidates,
  };
}

function toTheme(row: ThemeRow): Theme {
  return {
    id: row.id,
    name: row.name,
    unit: row.unit,
    uspEnabled: row.usp_enabled,
    uspCheckAll: row.usp_check_all,
    offersPerResponse: row.offers_per_response,
    settings: row.settings,
    styles: row.styles,
  };
}

function toPlacement(row: PlacementRow): Placement {
  return { name: row.name, themeId: row.theme_id, offersPerResponse: row.offers_per_response };
}

function toKey(row: KeyRow): ApiKey {
  return {
    id: row.id,
    publisherId: row.publisher_id,
    permissions: new Set(row.permissions),
    rateLimitPerS: row.rate_limit_per_s,
    expiresAtMs: row.expires_at?.getTime() ?? null,
  };
}

function toCampaign(row: CampaignRow, creativeRows: CreativeRow[]): Campaign {
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
    creatives: creativeRows.map(toCreative),
  };
}

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
