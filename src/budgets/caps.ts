import { isOwnKind, type OwnKind, rulesOf } from '../catalog/event-kinds.ts';
import { maxCostMicros, payoutOf } from '../catalog/provisioning.ts';
import {
  type CampaignRules,
  type CapEvent,
  type CapMetric,
  type CapPeriod,
  type FrequencyCap,
  type Goal,
  type GoalMetric,
  pacingOf,
  type TotalCap,
} from '../catalog/rules.ts';
import type { Campaign, Payout, Provision, Publisher, Snapshot } from '../catalog/types.ts';

/** Event in a user history. An own event is identified by a hash of its name (see `exposureEvent`). */
export type ExposureEvent = Exclude<CapEvent, OwnKind> | `own#${string}`;

/** Recorded event of the user, or an impression that is reserved for an offer in another recent session. */
export type Exposure = {
  event: ExposureEvent;
  offerId: number;
  campaignId: number;
  advertiserId: number;
  /** Event time, in epoch milliseconds. */
  atMs: number;
  /** Number of aggregated events, for old events. Defaults to 1. */
  count?: number;
};

export type UserHistory = {
  /** End of each opt-out in epoch seconds, by campaign ID. Null means the opt-out never ends. */
  optOuts: OptOuts;
  /** User's exposures, in any order. */
  exposures: readonly Exposure[];
};

export type OptOuts = Readonly<Record<string, number | null>>;

export const noHistory: UserHistory = { optOuts: {}, exposures: [] };

/**
 * Usage of one metric in the current hour, day and month (in the time zone of the campaign's owner), and over the
 * campaign's lifetime.
 */
export type PeriodUse = { [Per in CapPeriod]?: number };

/**
 * Cap usage of a campaign by metric, including reservations. Values for `budget` are in millionths of the campaign's
 * currency.
 */
export type CapUsage = { [Metric in CapMetric]?: PeriodUse } & {
  /**
   * Part of the usage that is only held by leased slices and by reservations for served offers. Absent if no usage is
   * held. Clicks are never held.
   */
  reserved?: { impressions?: PeriodUse; budget?: PeriodUse };
  /** Number of events delivered for the campaign's goal. Absent if the campaign has no goal. */
  goal?: number;
};

/**
 * Whether usage of a metric can be held for served offers before the event occurs. Only impressions and budget amounts
 * can be held.
 */
export const isHeld = (metric: CapMetric): metric is 'impressions' | 'budget' =>
  metric === 'impressions' || metric === 'budget';

/**
 * Cap usage by `totalsKey`. A missing entry means that there is no usage, or that it does not affect the decision,
 * because there is room for another event under each cap and the campaign has neither pacing nor a goal.
 */
export type Totals = ReadonlyMap<string, CapUsage>;

export const noTotals: Totals = new Map();

/**
 * Builds the key for a campaign's usage across all publishers (`publisherId` is null), or at one publisher whose
 * provisioning sets its own total caps.
 */
export const totalsKey = (campaignId: number, publisherId: number | null): string =>
  publisherId === null ? String(campaignId) : `${campaignId} ${publisherId}`;

/** Total cap prepared for comparison. `limit` has the same unit as the usage: millionths for a budget. */
export type CompiledTotalCap = { cap: TotalCap; limit: number; key: string; zone: string };

/** Campaign hours, as windows in minutes since Monday 00:00. A null `zone` means the user's time zone. */
export type Hours = { zone: string | null; windows: readonly { start: number; end: number }[]; wholeHours: boolean };

/**
 * Campaign total: usage that is counted across all publishers (`publisherId` is null) or at one publisher, and the caps
 * that limit it.
 */
export type LimitedTotal = {
  /** Key of the total, from `totalsKey`. */
  key: string;
  campaignId: number;
  publisherId: number | null;
  timeZone: string;
  /** Percentage by which bookings may exceed a budget (0 to 100). */
  overspendPercent: number;
  /**
   * Price of the next event, in millionths of the payout currency. If several publishers may show the campaign, this is
   * the lowest price.
   */
  nextCostMicros: number;
  /** Highest price of the next event among the publishers that may show the campaign, in millionths. */
  highestCostMicros: number;
  /** Whether pacing plans are compared with the usage of this total. */
  isPaced: boolean;
  /** Caps of the campaign total. Empty if its usage is counted only for a goal. */
  caps: readonly TotalCap[];
  goal: GoalTotal | null;
};

/**
 * Counter for a campaign's goal. `period` is the key under which the campaign's usage counters track the goal period.
 */
export type GoalTotal = { metric: GoalMetric; sinceMs: number; byMs: number; period: string };

/**
 * Active caps of a catalogue. They determine which events are counted, and for which users. Without a cap, nothing is
 * counted.
 */
export type ActiveCaps = {
  /** Whether `countEvents` must count this event for the campaign at the publisher. */
  counts: (campaign: Campaign, publisherId: number, event: CapEvent) => boolean;
  /** Whether user histories affect which of a publisher's offers are shown. */
  hasFrequencyCaps: (publisherId: number) => boolean;
  /** Whether this event for the campaign at the publisher is stored in the user's history. */
  countsForUser: (campaign: Campaign, publisherId: number, event: CapEvent) => boolean;
  hasTotalCaps: (publisherId: number) => boolean;
  /**
   * Returns a campaign's total caps at a publisher: the campaign's own caps, and those of the publisher's provisioning.
   */
  totalsOf: (campaign: Campaign, publisherId: number) => readonly LimitedTotal[];
  /** Returns the campaign total with the given `totalsKey`, if any. */
  total: (key: string) => LimitedTotal | undefined;
  /** All campaign totals with caps or a goal. */
  totals: readonly LimitedTotal[];
};

type PublisherCaps = {
  byCampaign: Map<number, Set<CapEvent>>;
  byAdvertiser: Map<number, Set<CapEvent>>;
  hasTotals: boolean;
};

/** Active caps found so far, and the number of offers that were searched for them. */
type FoundCaps = {
  size: number;
  active: ActiveCaps;
  ofPublishers: Map<number, PublisherCaps>;
  totals: Map<string, LimitedTotal>;
  /** Totals of each campaign across all publishers. They apply to publishers that have no totals of their own. */
  ownOfCampaigns: Map<number, readonly LimitedTotal[]>;
  /** Campaigns for which some publishers have totals. */
  campaignsOfPublishers: Set<number>;
};

const capsByOffers = new WeakMap<Snapshot['offers'], FoundCaps>();

/**
 * Returns the active caps of a catalogue, which are computed once per snapshot. If publishers have been added to the
 * snapshot since then, only their campaigns are examined.
 */
export function activeCapsOf(snapshot: Snapshot): ActiveCaps {
  const { offers } = snapshot;
  let caps = capsByOffers.get(offers);
  if (caps === undefined || caps.size !== offers.size) {
    caps = findActiveCaps(snapshot, caps ?? null);
    capsByOffers.set(offers, caps);
  }
  return caps.active;
}

/**
 * Returns the active caps for a batch, whose fetches or events can use different snapshots. If publishers are loaded on
 * first use, each snapshot can lack publishers of the others, even if all have the same version. Their caps are
 * therefore combined. If snapshots have different caps for a campaign, those of the newest version apply.
 */
export function activeCapsOfSnapshots(snapshots: Iterable<Snapshot>): ActiveCaps {
  const newestFirst = [...new Set(snapshots)].sort((a, b) => b.version - a.version);
  return combinedCaps([...new Set(newestFirst.map(activeCapsOf))]);
}

function combinedCaps(all: readonly ActiveCaps[]): ActiveCaps {
  const [first] = all;
  if (first !== undefined && all.length === 1) return first;
  const totals = new Map(all.toReversed().flatMap((caps) => caps.totals.map((total) => [total.key, total])));
  return {
    counts: (...event) => all.some((caps) => caps.counts(...event)),
    hasFrequencyCaps: (publisherId) => all.some((caps) => caps.hasFrequencyCaps(publisherId)),
    countsForUser: (...event) => all.some((caps) => caps.countsForUser(...event)),
    hasTotalCaps: (publisherId) => all.some((caps) => caps.hasTotalCaps(publisherId)),
    totalsOf: (campaign, publisherId) =>
      all.map((caps) => caps.totalsOf(campaign, publisherId)).find(({ length }) => length > 0) ?? none,
    total: (key) => totals.get(key),
    totals: [...totals.values()],
  };
}

const none: readonly LimitedTotal[] = [];

function findActiveCaps({ offers, publishers }: Snapshot, before: FoundCaps | null): FoundCaps {
  const { ofPublishers, totals, ownOfCampaigns, campaignsOfPublishers } = before ?? {
    ofPublishers: new Map<number, PublisherCaps>(),
    totals: new Map<string, LimitedTotal>(),
    ownOfCampaigns: new Map<number, readonly LimitedTotal[]>(),
    campaignsOfPublishers: new Set<number>(),
  };
  const addTotals = (limited: readonly LimitedTotal[]): void => {
    for (const total of limited) {
      totals.set(total.key, total);
      if (total.publisherId === null) ownOfCampaigns.set(total.campaignId, [total]);
      else campaignsOfPublishers.add(total.campaignId);
    }
  };
  const campaigns = new Set<Campaign>();
  let at = 0;
  for (const { campaign } of offers.values()) if (at++ >= (before?.size ?? 0)) campaigns.add(campaign);
  for (const campaign of campaigns) {
    // Include campaigns that no publisher runs any longer, because events for them may still arrive.
    addTotals(ownTotals(campaign, publishers.get(campaign.publisherId)));
    for (const publisherId of campaign.provisions.keys()) {
      const caps = frequencyCapsOf(campaign, publisherId);
      const limited = findTotals(campaign, publisherId, publishers.get(campaign.publisherId));
      if (caps.length === 0 && limited.length === 0) continue;
      const activeCaps = ofPublishers.get(publisherId) ?? {
        byCampaign: new Map(),
        byAdvertiser: new Map(),
        hasTotals: false,
      };
      ofPublishers.set(publisherId, activeCaps);
      for (const { scope, event } of caps) {
        if (scope === 'advertiser') addTo(activeCaps.byAdvertiser, campaign.advertiserId, event);
        else addTo(activeCaps.byCampaign, campaign.id, event);
      }
      activeCaps.hasTotals ||= limited.length > 0;
      addTotals(limited);
    }
  }
  const active: ActiveCaps = {
    counts: (campaign, publisherId, event) =>
      active.countsForUser(campaign, publisherId, event) ||
      active.totalsOf(campaign, publisherId).some((total) => countsFor(total, event)),
    hasFrequencyCaps: (publisherId) => {
      const activeCaps = ofPublishers.get(publisherId);
      return activeCaps !== undefined && (activeCaps.byCampaign.size > 0 || activeCaps.byAdvertiser.size > 0);
    },
    countsForUser: (campaign, publisherId, event) => {
      const activeCaps = ofPublishers.get(publisherId);
      if (activeCaps === undefined) return false;
      return (
        activeCaps.byCampaign.get(campaign.id)?.has(event) === true ||
        activeCaps.byAdvertiser.get(campaign.advertiserId)?.has(event) === true
      );
    },
    hasTotalCaps: (publisherId) => ofPublishers.get(publisherId)?.hasTotals === true,
    totalsOf: (campaign, publisherId) => {
      const own = ownOfCampaigns.get(campaign.id) ?? none;
      if (!campaignsOfPublishers.has(campaign.id)) return own;
      const ofPublisher = totals.get(totalsKey(campaign.id, publisherId));
      return ofPublisher === undefined ? own : [...own, ofPublisher];
    },
    total: (key) => totals.get(key),
    totals: [...totals.values()],
  };
  return { size: offers.size, active, ofPublishers, totals, ownOfCampaigns, campaignsOfPublishers };
}

/** Properties of a fetch that determine its caps and budgets. No caps apply to test fetches (`dev`). */
export type LimitedFetch = {
  readonly snapshot: Snapshot;
  readonly publisher: { readonly id: number };
  readonly userKey: string | null;
  readonly dev: boolean;
};

/** Budget data needed to decide a fetch: the user's history for frequency caps, and the usage for total caps. */
export type FetchNeeds = { readonly history: boolean; readonly totals: boolean };

const nothing: FetchNeeds = { history: false, totals: false };
const onlyHistory: FetchNeeds = { history: true, totals: false };
const onlyTotals: FetchNeeds = { history: false, totals: true };
const both: FetchNeeds = { history: true, totals: true };

/** Returns the budget data that a fetch needs, based on the active caps of its catalogue. */
export function planFetch({ snapshot, publisher, userKey, dev }: LimitedFetch): FetchNeeds {
  if (dev) return nothing;
  const activeCaps = activeCapsOf(snapshot);
  const history = userKey !== null && activeCaps.hasFrequencyCaps(publisher.id);
  if (activeCaps.hasTotalCaps(publisher.id)) return history ? both : onlyTotals;
  return history ? onlyHistory : nothing;
}

/** Whether a campaign total counts events of this kind. Own events are counted only if one of its caps limits them. */
export const countsFor = ({ caps }: LimitedTotal, event: CapEvent): boolean =>
  isOwnKind(event)
    ? caps.some(({ metric }) => metric === event)
    : event === 'conversion' || rulesOf(event).totalCap === true;

/** Treat a missing or invalid list as empty, because stored rules may have been edited by hand. */
const listOf = <Entry>(list: readonly Entry[] | null | undefined): readonly Entry[] =>
  Array.isArray(list) ? list : [];

const frequencyCapsOf = ({ rules, provisions }: Campaign, publisherId: number): readonly FrequencyCap[] =>
  listOf(provisions.get(publisherId)?.frequencyCaps ?? rules.frequency_caps);

function findTotals(campaign: Campaign, publisherId: number, owner: Publisher | undefined): LimitedTotal[] {
  const caps = listOf(campaign.provisions.get(publisherId)?.totalCaps);
  return [...ownTotals(campaign, owner), ...totalOf(campaign, owner, publisherId, caps, null)];
}

/** Campaign or campaign draft, with the properties that determine its capped totals. */
type Limited = {
  id: number;
  overspendPercent: number;
  rules: CampaignRules;
  goal: Goal | null;
  payout: Payout;
  provisions: ReadonlyMap<number, Provision>;
};

/** Returns the campaign totals that are counted across all publishers. */
export const ownTotals = (campaign: Limited, owner: Publisher | undefined): LimitedTotal[] =>
  totalOf(campaign, owner, null, listOf(campaign.rules.total_caps), goalTotalOf(campaign.goal));

const goalTotalOf = (goal: Goal | null): GoalTotal | null =>
  goal && {
    metric: goal.metric,
    sinceMs: goal.sinceMs,
    byMs: goal.byMs,
    period: `goal ${new Date(goal.sinceMs).toISOString()}`,
  };

function totalOf(
  campaign: Limited,
  owner: Publisher | undefined,
  publisherId: number | null,
  caps: readonly TotalCap[],
  goal: GoalTotal | null,
): LimitedTotal[] {
  if (caps.length === 0 && goal === null) return [];
  const { id: campaignId, overspendPercent, rules } = campaign;
  const costs = costsOf(campaign, publisherId);
  return [
    {
      key: totalsKey(campaignId, publisherId),
      campaignId,
      publisherId,
      timeZone: owner?.timeZone ?? 'UTC',
      overspendPercent,
      nextCostMicros: Math.min(...costs),
      highestCostMicros: Math.max(...costs),
      isPaced: pacingOf(rules) !== 'asap',
      caps,
      goal,
    },
  ];
}

/** Amount by which the next event increases the usage of a cap. Budget amounts are in millionths. */
export const nextCostOf = (metric: CapMetric, { nextCostMicros }: LimitedTotal): number =>
  metric === 'budget' ? nextCostMicros : 1;

/**
 * Price of the next event at a publisher, in millionths. If `publisherId` is null, the result contains the prices at
 * all publishers that may show the campaign.
 */
function costsOf(campaign: Limited, publisherId: number | null): number[] {
  const active = [...campaign.provisions.values()].filter((provision) => provision.active);
  const publisherIds = publisherId === null ? active.map((provision) => provision.publisherId) : [publisherId];
  const payouts = publisherIds.length === 0 ? [campaign.payout] : publisherIds.map((id) => payoutOf(campaign, id));
  return payouts.map(maxCostMicros);
}

function addTo(events: Map<number, Set<CapEvent>>, id: number, event: CapEvent): void {
  const eventSet = events.get(id);
  if (eventSet === undefined) events.set(id, new Set([event]));
  else eventSet.add(event);
}
