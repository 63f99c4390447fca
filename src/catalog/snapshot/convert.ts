import { isDeepStrictEqual } from 'node:util';
import { parseNets } from '../../config/nets.ts';
import { exchangeRatesOf } from '../../platform/exchange-rates.ts';
import type { KeyRestrictions } from '../../platform/http/key-restrictions.ts';
import { wantedOf } from '../../platform/i18n/reader.ts';
import { hourMs } from '../../platform/lib/time.ts';
import { toMicros } from '../../platform/money.ts';
import { controlsOf } from '../controls.ts';
import { isFrameHost } from '../names.ts';
import { translationsOf } from '../provisioning.ts';
import { toGoal } from '../rules.ts';
import {
  type ApiKey,
  type Arm,
  type Campaign,
  type CouponPool,
  type Creative,
  controlOf,
  type Experiment,
  holdoutArm,
  type Offer,
  type Placement,
  type Provision,
  type Publisher,
  type SequenceRule,
  type Theme,
} from '../types.ts';
import type {
  AudienceRow,
  CampaignRow,
  CouponRow,
  CreativeRow,
  ExchangeRateRow,
  ExperimentRow,
  KeyRow,
  OfferRow,
  PlacementRow,
  ProvisionRow,
  PublisherRow,
  SequenceRuleRow,
  ThemeRow,
} from './rows.ts';

/**
 * Converts a publisher row. The parts that depend on other rows are left out: the index, sequence rules and
 * experiments.
 * @param earlier the same publisher in an earlier snapshot
 */
export function toPublisher(
  row: PublisherRow,
  themeRows: readonly ThemeRow[],
  placementRows: readonly PlacementRow[],
  audienceRows: readonly AudienceRow[],
  rateRows: readonly ExchangeRateRow[],
  earlier: Publisher | null,
): Omit<Publisher, 'index' | 'sequenceRules' | 'experiments'> {
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
    // This field may be missing in catalogues that earlier releases stored with decisions, as may `ranking` and all
    // other fields read with `??`.
    language: wantedOf(row.language ?? 'en'),
    currencyName: row.currency_name,
    currencyMultiplier: Number(row.currency_multiplier),
    reportingCurrency: row.reporting_currency ?? null,
    exchangeRates: exchangeRatesOf(row.rates_base ?? null, rateRows),
    uspEnabled: row.usp_enabled,
    walletEnabled: row.wallet_enabled,
    offerwallEnabled: row.offerwall_enabled,
    // Reuse the same list object if it is unchanged, because rendered offers are cached by it.
    ownEvents: isDeepStrictEqual(earlier?.ownEvents, row.own_events)
      ? (earlier?.ownEvents ?? [])
      : (row.own_events ?? []),
    privacyUrl: row.privacy_url,
    privacyText: row.privacy_text,
    frameHosts: row.frame_hosts.filter(isFrameHost),
    defaultPlacement: row.default_placement,
    allowedUserAgents: (row.allowed_user_agents ?? []).map((part) => part.toLowerCase()),
    learningExcludedKeys: new Set(row.learning_excluded_keys ?? []),
    postbackEvents: row.postback_events ?? [],
    hasPostbacks: row.has_postbacks ?? false,
    audiences: new Map(audienceRows.map(({ key, id }) => [key, id])),
    keepsAttributes: row.keeps_attributes === true,
    controls: controlsOf(row.controls ?? null, earlier?.controls ?? null),
    themes,
    themesByKey: new Map([...themes.values()].map((theme) => [theme.key, theme])),
    defaultTheme: (defaultRow && themes.get(defaultRow.id)) ?? null,
    placements: new Map(placementRows.map((placement) => [placement.name, toPlacement(placement)])),
  };
}

function toTheme(row: ThemeRow): Theme {
  return {
    id: row.id,
    key: row.key,
    name: row.name,
    unit: row.unit,
    uspEnabled: row.usp_enabled,
    uspCheckAll: row.usp_check_all,
    offersPerResponse: row.offers_per_response,
    deliveryPercentage: row.delivery_percentage,
    unitEnabled: row.unit_enabled,
    settings: row.settings,
    styles: row.styles,
    appearance: row.appearance,
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

export const toSequenceRule = ({ id, placement, positions, effect, match, weight }: SequenceRuleRow): SequenceRule => ({
  id,
  placement,
  positions,
  effect,
  match,
  weight,
});

export function toExperiment(row: ExperimentRow): Experiment {
  const { id, key, version, salt, placements, allocation } = row;
  const arms = row.arms.map((arm): Arm => ({ key: arm.key, isHoldout: false, changes: arm.changes }));
  if (row.holdout > 0) arms.push({ key: holdoutArm, isHoldout: true, changes: {} });
  return {
    id,
    key,
    version,
    salt,
    allocation,
    placements: placements === null ? null : new Set(placements),
    campaignId: row.campaign_id,
    startMs: row.start_ms ?? Number.POSITIVE_INFINITY,
    endMs: row.end_ms ?? Number.POSITIVE_INFINITY,
    arms: new Map(arms.map((arm) => [arm.key, arm])),
    control: controlOf(row.arms),
    ramp:
      row.ramp?.map(({ after_hours: hours, share }) => ({ fromMs: (row.start_ms ?? 0) + hours * hourMs, share })) ??
      null,
  };
}

export function toKey(row: KeyRow): ApiKey {
  return {
    id: row.id,
    name: row.name,
    publisherId: row.publisher_id,
    permissions: new Set(row.permissions),
    rateLimitPerS: row.rate_limit_per_s,
    limits: [
      ...(row.rate_limit_per_s === null ? [] : [{ id: row.id, perS: row.rate_limit_per_s }]),
      ...row.maker_limits,
    ],
    expiresAtMs: row.expires_at?.getTime() ?? null,
    restrictions: restrictionsOf(row),
  };
}

/** Returns the restrictions on a key. Returns null if none exists, so that requests need only one check. */
function restrictionsOf(row: KeyRow): KeyRestrictions | null {
  const { read_only: readOnly, allowed_addresses: addresses, campaigns, placements } = row;
  if (!readOnly && addresses === null && campaigns === null && placements === null) return null;
  return {
    readOnly,
    nets: addresses && parseNets(addresses.join()),
    resources:
      campaigns === null && placements === null
        ? null
        : { campaigns: campaigns && new Set(campaigns), placements: placements && new Set(placements) },
  };
}

export function toCampaign(row: CampaignRow, creativeRows: CreativeRow[], provisionRows: ProvisionRow[]): Campaign {
  const stopped = row.stopped === true ? 'campaign' : row.advertiser_stopped === true ? 'advertiser' : null;
  return {
    id: row.id,
    publisherId: row.publisher_id,
    advertiserId: row.advertiser_id,
    advertiserName: row.advertiser_name,
    advertiserEvents: row.advertiser_events ?? [],
    name: row.name,
    category: row.category,
    tags: row.tags,
    active: row.active && stopped === null && row.deleted_at === null,
    stopped,
    priority: row.priority,
    weight: row.weight,
    ranking: row.ranking ?? 'learned',
    isProduct: row.is_product,
    isLoyalty: row.is_loyalty,
    offerDescription: row.offer_description,
    landingUrl: row.landing_url,
    clickIdParam: row.click_id_param,
    optOutDays: row.opt_out_days,
    overspendPercent: row.overspend_percent ?? 0,
    goal: toGoal(row.goal, row.goal_since),
    activatedAtMs: row.activated_at == null ? null : new Date(row.activated_at).getTime(),
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

/** Converts a `numeric` value with up to six decimals to millionths, the unit of all amounts in this module. */
const microsOf = (amount: string): number => toMicros(Number(amount));

export function toOffer(row: OfferRow, campaign: Campaign, creativeRows: CreativeRow[]): Offer {
  const creatives = creativeRows.map(toCreative);
  const coupon = row.coupon ?? null;
  const stopped = row.stopped === true ? 'offer' : (campaign.stopped ?? (coupon?.drained ? 'codes' : null));
  return {
    id: row.id,
    publisherId: row.publisher_id,
    campaign,
    active: row.active && stopped === null && row.deleted_at === null,
    stopped,
    weight: row.weight,
    language: row.language ?? null,
    translations: translationsOf(row, creatives),
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
    creatives,
    coupon: coupon && toCouponPool(coupon),
  };
}

const toCouponPool = (row: CouponRow): CouponPool => ({
  giveAt: row.give_at,
  sharedCode: row.shared_code,
  terms: row.terms,
  expiresAt: row.expires_at === null ? null : new Date(row.expires_at).toISOString(),
  validDays: row.valid_days,
  holdMinutes: row.hold_minutes,
});

function toCreative(row: CreativeRow): Creative {
  return {
    id: row.id,
    creativeType: row.creative_type,
    isPrimary: row.is_primary,
    type: row.type,
    width: row.width,
    height: row.height,
    url: row.url,
    language: row.language ?? null,
    userId: row.user_id,
  };
}
