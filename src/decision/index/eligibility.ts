import type { TargetingKey } from '../../catalog/rules/rules.ts';
import type { IndexSource, Offer, OfferIndex, Publisher } from '../../catalog/snapshot/types.ts';
import { sortInSlices } from '../rank/sort.ts';
import type { DecisionContext } from '../types.ts';
import { type Bits, fullBits } from './bitset.ts';
import { type Candidate, type CompiledRules, compileRules, toCandidate } from './compile.ts';
import { bitsWith, createDimension, type Dimension } from './dimension.ts';

/** All that a publisher may show, so laid out that a request finds those it may see by AND-ing a few sets. */
export type EligibilityIndex = OfferIndex & {
  /**
   * Best first: forced, priority, weight of the campaign, campaign, weight of the offer, id. A candidate's place is its
   * bit.
   */
  candidates: readonly Candidate[];
  /** Ends of the runs of equal force and priority. */
  classEnds: readonly number[];
  /** Whether anything in the run pays: then expected revenue orders it. */
  classPays: readonly boolean[];
  everyone: Bits;
  loyal: Bits;
  pictured: Bits;
  offerwall: Bits;
  /** null: nobody. */
  needsIdentity: Bits | null;
  dimensions: readonly { key: IndexedKey; dimension: Dimension }[];
  /** Weekday and hour, for each time zone that hours are given in; `zone` null: the visitor's. */
  hours: readonly { zone: string | null; dimension: Dimension }[];
  byCampaign: ReadonlyMap<number, readonly number[]>;
  /** Provisioned, and still never shown. */
  withheld: readonly Withheld[];
  /** The owner's, else the visitor's time zone, where nothing else is known. */
  timeZone: string;
};

export type Withheld = {
  offer: Offer;
  rule: 'offer_paused' | 'campaign_paused' | 'provisioning_paused' | 'rules_invalid';
};

export type IndexedKey = Exclude<TargetingKey, 'cities' | 'postal_codes'>;

/** The order in which rules are asked, and named. */
const indexedKeys: readonly IndexedKey[] = [
  'countries',
  'regions',
  'placements',
  'platforms',
  'devices',
  'os',
  'browsers',
];

const lower = (value: string): string => value.toLowerCase();
const upper = (value: string): string => value.toUpperCase();
const normalisers: Record<IndexedKey, (value: string) => string> = {
  countries: upper,
  regions: upper,
  placements: (value) => value.toLowerCase().replace(/[\s_]+/g, '-'),
  platforms: lower,
  devices: lower,
  os: lower,
  browsers: lower,
};

/** What a request says of an indexed property. */
export function requestValue(key: IndexedKey, context: DecisionContext): string | null {
  switch (key) {
    case 'countries':
      return context.geo.country;
    case 'regions':
      return context.geo.region;
    case 'placements':
      return context.placement;
    case 'platforms':
      return context.platform;
    case 'devices':
      return context.device;
    case 'os':
      return context.os;
    default:
      return context.browser;
  }
}

/** How many candidates are worked on between two pauses. */
const sliceSize = 100;
const dimensionSlice = 2000;

/** The index of a publisher from a snapshot that was built with `buildIndex`. */
export function indexOf({ index }: Pick<Publisher, 'index'>): EligibilityIndex {
  if (!isEligibilityIndex(index)) throw new Error('the snapshot was built with another index');
  return index;
}

const isEligibilityIndex = (index: OfferIndex): index is EligibilityIndex => 'candidates' in index;

/** Builds the index of a publisher; the caller may do other work at each `yield`. */
export function* buildIndex({ publisher, offers, timeZoneOf }: IndexSource): Generator<void, EligibilityIndex> {
  const unsorted: Candidate[] = [];
  const withheld: Withheld[] = [];
  const compiled = new Map<number, CompiledRules>();
  for (const [done, offer] of offers.entries()) {
    if (done % sliceSize === sliceSize - 1) yield;
    const { campaign } = offer;
    const pause = whyPaused(offer, publisher.id);
    const candidate =
      pause === null ? compileOrNull(offer, publisher, timeZoneOf(campaign.publisherId), compiled) : null;
    if (candidate !== null) unsorted.push(candidate);
    else withheld.push({ offer, rule: pause ?? 'rules_invalid' });
  }
  const candidates = yield* sortInSlices(unsorted, byRank);
  candidates.forEach((candidate, index) => {
    candidate.index = index;
  });
  yield;
  const size = candidates.length;
  const classes = classesOf(candidates);
  const byCampaign = campaignsOf(candidates);
  yield;
  const indices = (takes: (candidate: Candidate) => boolean): Bits =>
    bitsWith(
      size,
      candidates.filter(takes).map(({ index }) => index),
    );
  const nameless = candidates.filter(({ rules }) => rules.needsIdentity).map(({ index }) => index);
  return {
    offers,
    candidates,
    ...classes,
    everyone: fullBits(size),
    loyal: indices(({ offer }) => offer.campaign.isLoyalty),
    pictured: indices(({ offer }) => offer.creatives.length > 0),
    offerwall: indices(({ offer }) => offer.offerwallEnabled),
    needsIdentity: nameless.length === 0 ? null : bitsWith(size, nameless),
    dimensions: yield* buildDimensions(candidates),
    hours: yield* buildHours(candidates),
    byCampaign,
    withheld,
    timeZone: publisher.timeZone,
  };
}

function whyPaused(offer: Offer, publisherId: number): Withheld['rule'] | null {
  if (!offer.campaign.active) return 'campaign_paused';
  if (!offer.active) return 'offer_paused';
  return offer.campaign.provisions.get(publisherId)?.active === true ? null : 'provisioning_paused';
}

/** Rules that somebody wrote by hand and that make no sense keep their own campaign away, and nothing else. */
function compileOrNull(
  offer: Offer,
  publisher: Pick<Publisher, 'id'>,
  capZone: string,
  compiled: Map<number, CompiledRules>,
): Candidate | null {
  const { campaign } = offer;
  try {
    const rules = compiled.get(campaign.id) ?? compileRules(campaign.rules, campaign.id, capZone);
    compiled.set(campaign.id, rules);
    return toCandidate(offer, publisher, rules, capZone);
  } catch {
    return null;
  }
}

const byRank = (a: Candidate, b: Candidate): number =>
  Number(b.forced) - Number(a.forced) ||
  a.priority - b.priority ||
  b.offer.campaign.weight - a.offer.campaign.weight ||
  a.offer.campaign.id - b.offer.campaign.id ||
  b.offer.weight - a.offer.weight ||
  a.offer.id - b.offer.id;

function classesOf(candidates: readonly Candidate[]): { classEnds: number[]; classPays: boolean[] } {
  const classEnds: number[] = [];
  const classPays: boolean[] = [];
  let pays = false;
  for (const [index, candidate] of candidates.entries()) {
    const next = candidates[index + 1];
    pays ||= candidate.payout.amountMicros > 0;
    if (next?.priority === candidate.priority && next.forced === candidate.forced) continue;
    classEnds.push(index + 1);
    classPays.push(pays);
    pays = false;
  }
  return { classEnds, classPays };
}

function campaignsOf(candidates: readonly Candidate[]): Map<number, number[]> {
  const byCampaign = new Map<number, number[]>();
  for (const { offer, index } of candidates) {
    const list = byCampaign.get(offer.campaign.id);
    if (list === undefined) byCampaign.set(offer.campaign.id, [index]);
    else list.push(index);
  }
  return byCampaign;
}

function* buildDimensions(
  candidates: readonly Candidate[],
): Generator<void, { key: IndexedKey; dimension: Dimension }[]> {
  const found: { key: IndexedKey; dimension: Dimension }[] = [];
  for (const key of indexedKeys) {
    const builder = createDimension(candidates.length, normalisers[key]);
    for (const { rules, index } of candidates) {
      if (index % dimensionSlice === 0) yield;
      const list = rules.targeting[key];
      if (list !== undefined) builder.add(index, list);
    }
    yield;
    const dimension = builder.build();
    if (dimension !== null) found.push({ key, dimension });
    yield;
  }
  return found;
}

function* buildHours(
  candidates: readonly Candidate[],
): Generator<void, { zone: string | null; dimension: Dimension }[]> {
  const zones = new Set(candidates.flatMap(({ rules }) => (rules.hours === null ? [] : [rules.hours.zone])));
  const found: { zone: string | null; dimension: Dimension }[] = [];
  for (const zone of zones) {
    const builder = createDimension(candidates.length);
    for (const { rules, index } of candidates) {
      if (index % sliceSize === 0) yield;
      if (rules.hours?.zone === zone) builder.add(index, { include: hoursTouched(rules.hours.windows) });
    }
    yield;
    found.push({ zone, dimension: builder.build() as Dimension });
  }
  return found;
}

/** The hours of the week that windows have a part in. */
function hoursTouched(windows: readonly { start: number; end: number }[]): string[] {
  const hours = new Set<string>();
  for (const { start, end } of windows) {
    for (let hour = Math.floor(start / 60); hour * 60 < end; hour++) hours.add(String(hour));
  }
  return [...hours];
}
