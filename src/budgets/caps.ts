import { isOwnKind, type OwnKind, rulesOf } from '../catalog/event-kinds.ts';
import { maxCostMicros, payoutOf } from '../catalog/provisioning.ts';
import type {
  CampaignRules,
  CapEvent,
  CapMetric,
  CapPeriod,
  FrequencyCap,
  Goal,
  GoalMetric,
  TotalCap,
} from '../catalog/rules.ts';
import type { Campaign, Payout, Provision, Publisher, Snapshot } from '../catalog/types.ts';

/** An event as histories know it: own events by a hash of their names (`exposureEvent`). */
export type ExposureEvent = Exclude<CapEvent, OwnKind> | `own#${string}`;

/** An event of the user, or an impression reserved by another answer in progress. */
export type Exposure = {
  event: ExposureEvent;
  offerId: number;
  campaignId: number;
  advertiserId: number;
  /** Epoch milliseconds. */
  atMs: number;
  /** Number of events, where old ones are aggregated; absent: 1. */
  count?: number;
};

export type UserHistory = {
  /** By campaign id: end of the opt-out in epoch seconds, or null for no end. */
  optOuts: OptOuts;
  /** In any order. */
  exposures: readonly Exposure[];
};

export type OptOuts = Readonly<Record<string, number | null>>;

export const noHistory: UserHistory = { optOuts: {}, exposures: [] };

/** Use of a metric in the current hour, day and month (time zone of the campaign's owner), and in all. */
export type PeriodUse = { [Per in CapPeriod]?: number };

/** Use of a campaign as far as caps limit it, reservations included; `budget` in millionths of its currency. */
export type CapUsage = { [Metric in CapMetric]?: PeriodUse } & {
  /** What of it is only held, by slices and answers in progress; absent: nothing. Clicks are never held. */
  reserved?: { impressions?: PeriodUse; budget?: PeriodUse };
  /** What was delivered for the campaign's goal; absent: it has none. */
  goal?: number;
};

/** Whether answers in progress hold some of it: only of impressions and money. */
export const isHeld = (metric: CapMetric): metric is 'impressions' | 'budget' =>
  metric === 'impressions' || metric === 'budget';

/** By `totalsKey`; missing: no use. */
export type Totals = ReadonlyMap<string, CapUsage>;

export const noTotals: Totals = new Map();

/** Key of a campaign's use at all publishers (`publisherId` null), or at one whose provisioning sets total caps. */
export const totalsKey = (campaignId: number, publisherId: number | null): string =>
  publisherId === null ? String(campaignId) : `${campaignId} ${publisherId}`;

/** A total cap ready to be compared; `limit` as it is counted: budgets in millionths. */
export type CompiledTotalCap = { cap: TotalCap; limit: number; key: string; zone: string };

/** Windows in minutes since Monday 00:00; `zone` null: the user's. */
export type Hours = { zone: string | null; windows: readonly { start: number; end: number }[]; wholeHours: boolean };

/** Total caps that are counted together: over all publishers (null), or over one. */
export type LimitedTotal = {
  campaignId: number;
  publisherId: number | null;
  timeZone: string;
  /** How far what is booked may go beyond a budget (0 to 100). */
  overspendPercent: number;
  /** Price of the next event (millionths of the payout currency); of several publishers, the lowest. */
  nextCostMicros: number;
  /** Empty where only a goal is counted. */
  caps: readonly TotalCap[];
  goal: GoalTotal | null;
};

/** What is counted for a campaign's goal; `period` names it among the periods of its usage. */
export type GoalTotal = { metric: GoalMetric; sinceMs: number; byMs: number; period: string };

/** The caps of a catalogue: which events are counted, and for whom. Without a cap there is no counting. */
export type ActiveCaps = {
  /** Whether `countEvents` has to count an event of a campaign at a publisher. */
  counts: (campaign: Campaign, publisherId: number, event: CapEvent) => boolean;
  /** Whether users' histories matter to what a publisher shows. */
  hasFrequencyCaps: (publisherId: number) => boolean;
  /** Whether an event of a campaign at a publisher is kept in the user's history. */
  countsForUser: (campaign: Campaign, publisherId: number, event: CapEvent) => boolean;
  hasTotalCaps: (publisherId: number) => boolean;
  /** The total caps a campaign has at a publisher: its own, and that publisher's. */
  totalsOf: (campaign: Campaign, publisherId: number) => readonly LimitedTotal[];
  /** By `totalsKey`. */
  total: (key: string) => LimitedTotal | undefined;
  /** All total caps. */
  totals: readonly LimitedTotal[];
};

type PublisherCaps = {
  byCampaign: Map<number, Set<CapEvent>>;
  byAdvertiser: Map<number, Set<CapEvent>>;
  hasTotals: boolean;
};

const known = new WeakMap<Snapshot, ActiveCaps>();

/** The caps of a catalogue; computed once for each snapshot. Pure. */
export function activeCapsOf(snapshot: Snapshot): ActiveCaps {
  let activeCaps = known.get(snapshot);
  if (activeCaps === undefined) {
    activeCaps = findActiveCaps(snapshot);
    known.set(snapshot, activeCaps);
  }
  return activeCaps;
}

const none: readonly LimitedTotal[] = [];

function findActiveCaps({ offers, publishers }: Snapshot): ActiveCaps {
  const ofPublishers = new Map<number, PublisherCaps>();
  const totals = new Map<string, LimitedTotal>();
  const limitedCampaigns = new Set<number>();
  const addTotals = (limited: readonly LimitedTotal[]): void => {
    for (const total of limited) {
      totals.set(totalsKey(total.campaignId, total.publisherId), total);
      limitedCampaigns.add(total.campaignId);
    }
  };
  for (const campaign of new Set([...offers.values()].map((offer) => offer.campaign))) {
    // Also where it is served to nobody any more: its last events are still to come.
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
      if (!limitedCampaigns.has(campaign.id)) return none;
      return [totals.get(totalsKey(campaign.id, null)), totals.get(totalsKey(campaign.id, publisherId))].filter(
        (total) => total !== undefined,
      );
    },
    total: (key) => totals.get(key),
    totals: [...totals.values()],
  };
  return active;
}

/** A fetch as far as budgets depend on it. No caps apply to tests (`dev`). */
export type LimitedFetch = {
  readonly snapshot: Snapshot;
  readonly publisher: { readonly id: number };
  readonly userKey: string | null;
  readonly dev: boolean;
};

/** Data that the decision of a fetch needs: the user's history for frequency caps, the usage for total caps. */
export type FetchNeeds = { readonly history: boolean; readonly totals: boolean };

const nothing: FetchNeeds = { history: false, totals: false };
const onlyHistory: FetchNeeds = { history: true, totals: false };
const onlyTotals: FetchNeeds = { history: false, totals: true };
const both: FetchNeeds = { history: true, totals: true };

/** Needs of a fetch by the caps of its catalogue. */
export function planFetch({ snapshot, publisher, userKey, dev }: LimitedFetch): FetchNeeds {
  if (dev) return nothing;
  const activeCaps = activeCapsOf(snapshot);
  const history = userKey !== null && activeCaps.hasFrequencyCaps(publisher.id);
  if (activeCaps.hasTotalCaps(publisher.id)) return history ? both : onlyTotals;
  return history ? onlyHistory : nothing;
}

/** Whether a total counts events of a kind: own events where one of its caps limits them. */
export const countsFor = ({ caps }: LimitedTotal, event: CapEvent): boolean =>
  isOwnKind(event)
    ? caps.some(({ metric }) => metric === event)
    : event === 'conversion' || rulesOf(event).totalCap === true;

/** Rules may have been written by hand. */
const listOf = <Entry>(list: readonly Entry[] | null | undefined): readonly Entry[] =>
  Array.isArray(list) ? list : [];

const frequencyCapsOf = ({ rules, provisions }: Campaign, publisherId: number): readonly FrequencyCap[] =>
  listOf(provisions.get(publisherId)?.frequencyCaps ?? rules.frequency_caps);

function findTotals(campaign: Campaign, publisherId: number, owner: Publisher | undefined): LimitedTotal[] {
  const caps = listOf(campaign.provisions.get(publisherId)?.totalCaps);
  return [...ownTotals(campaign, owner), ...totalOf(campaign, owner, publisherId, caps, null)];
}

/** Campaign, or a draft of one, as far as its totals depend on it. */
type Limited = {
  id: number;
  overspendPercent: number;
  rules: CampaignRules;
  goal: Goal | null;
  payout: Payout;
  provisions: ReadonlyMap<number, Provision>;
};

/** What is counted over all publishers. */
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
  const { id: campaignId, overspendPercent } = campaign;
  const nextCostMicros = cheapestCostOf(campaign, publisherId);
  const timeZone = owner?.timeZone ?? 'UTC';
  return [{ campaignId, publisherId, timeZone, overspendPercent, nextCostMicros, caps, goal }];
}

/** Amount that the next event takes from a cap; money in millionths. */
export const nextCostOf = (metric: CapMetric, { nextCostMicros }: LimitedTotal): number =>
  metric === 'budget' ? nextCostMicros : 1;

/** Price of the next event at a publisher (millionths), or at the cheapest one that may show the campaign. */
function cheapestCostOf(campaign: Limited, publisherId: number | null): number {
  const active = [...campaign.provisions.values()].filter((provision) => provision.active);
  const publisherIds = publisherId === null ? active.map((provision) => provision.publisherId) : [publisherId];
  const payouts = publisherIds.length === 0 ? [campaign.payout] : publisherIds.map((id) => payoutOf(campaign, id));
  return Math.min(...payouts.map(maxCostMicros));
}

function addTo(events: Map<number, Set<CapEvent>>, id: number, event: CapEvent): void {
  const known = events.get(id);
  if (known === undefined) events.set(id, new Set([event]));
  else known.add(event);
}
