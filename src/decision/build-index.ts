import { normaliseName } from '../catalog/names.ts';
import type { FindBlock, IndexSource, Offer } from '../catalog/types.ts';
import { getOrInsert } from '../platform/lib/get-or-insert.ts';
import { firstTag } from '../platform/lib/language-tags.ts';
import type {
  AudienceIndex,
  Bits,
  Dimension,
  EligibilityIndex,
  IndexedKey,
  PriorityClass,
  Withheld,
} from './eligibility.ts';
import { type Candidate, type CompiledRules, compileRules, toCandidate } from './index/compile.ts';
import { createDimension } from './index/dimension.ts';
import { clearBit, emptyBits, fullBits, setBit } from './index/index-filters.ts';
import { sortInSlices } from './index/sort.ts';

/** Targeting keys that are indexed, in the order in which their exclusions are reported. */
const indexedKeys: readonly IndexedKey[] = [
  'countries',
  'regions',
  'placements',
  'platforms',
  'devices',
  'os',
  'browsers',
  'languages',
];

const lower = (value: string): string => value.toLowerCase();
const upper = (value: string): string => value.toUpperCase();
const normalisers: Record<IndexedKey, (value: string) => string> = {
  countries: upper,
  regions: upper,
  placements: normaliseName,
  platforms: lower,
  devices: lower,
  os: lower,
  browsers: lower,
  languages: lower,
};

/** Number of candidates to process between two pauses, both when compiling offers and when building a dimension. */
const sliceSize = 100;
const dimensionSliceSize = 2000;

/** Builds the eligibility index of a publisher. The caller may do other work at each `yield`. */
export function* buildIndex(source: IndexSource): Generator<void, EligibilityIndex> {
  const { candidates, withheld } = yield* compileOffers(source);
  yield;
  const size = candidates.length;
  const byCampaign = campaignsOf(candidates);
  yield;
  const bitsOf = (isMember: (candidate: Candidate) => boolean): Bits => {
    const bits = emptyBits(size);
    for (const candidate of candidates) if (isMember(candidate)) setBit(bits, candidate.index);
    return bits;
  };
  const needsIdentity = candidates.some(({ rules }) => rules.needsIdentity);
  return {
    offers: source.offers,
    candidates,
    classes: classesOf(candidates),
    all: fullBits(size),
    loyalty: bitsOf(({ offer }) => offer.campaign.isLoyalty),
    withCreative: bitsOf(({ offer }) => offer.creatives.length > 0),
    offerwall: bitsOf(({ offer }) => offer.offerwallEnabled),
    needsIdentity: needsIdentity ? bitsOf(({ rules }) => rules.needsIdentity) : null,
    dimensions: yield* buildDimensions(candidates),
    audiences: buildAudiences(candidates, source.publisher.id),
    blockedAt: yield* buildBlockedAt(candidates, source.publisher),
    hours: yield* buildHours(candidates),
    byCampaign,
    withheld,
    timeZone: source.publisher.timeZone,
    language: firstTag(source.publisher.language.key),
  };
}

type BlockedAt = EligibilityIndex['blockedAt'];

/**
 * Builds the sets of candidates that are blocked by rules for a single placement, in addition to candidates that are
 * blocked everywhere.
 */
function* buildBlockedAt(
  candidates: readonly Candidate[],
  { controls }: IndexSource['publisher'],
): Generator<void, BlockedAt> {
  const blockedAt = new Map<string, { bits: Bits; blockOf: FindBlock }>();
  for (const [placement, blockOf] of controls?.placements ?? []) {
    const bits = emptyBits(candidates.length);
    for (const candidate of candidates) {
      if (candidate.index % sliceSize === sliceSize - 1) yield;
      if (blockOf(candidate.offer) !== null) setBit(bits, candidate.index);
    }
    blockedAt.set(placement, { bits, blockOf });
  }
  return blockedAt;
}

type Compiled = { candidates: Candidate[]; withheld: Withheld[] };

/** Compiles the rules of all offers and sorts the eligible ones in catalogue order. */
function* compileOffers({ publisher, offers, timeZoneOf }: IndexSource): Generator<void, Compiled> {
  const unsorted: Candidate[] = [];
  const withheld: Withheld[] = [];
  const compiled = new Map<number, CompiledRules>();
  for (const [done, offer] of offers.entries()) {
    if (done % sliceSize === sliceSize - 1) yield;
    const withholding = withholdingOf(offer, publisher);
    const capZone = timeZoneOf(offer.campaign.publisherId);
    const candidate = withholding === null ? compileOrNull(offer, publisher.id, capZone, compiled) : null;
    if (candidate !== null) unsorted.push(candidate);
    else withheld.push({ offer, exclusion: withholding ?? { rule: 'rules_invalid' } });
  }
  const candidates = yield* sortInSlices(unsorted, byCatalogueOrder);
  candidates.forEach((candidate, index) => {
    candidate.index = index;
  });
  return { candidates, withheld };
}

function withholdingOf(offer: Offer, { id, controls }: IndexSource['publisher']): Withheld['exclusion'] | null {
  const { campaign, stopped } = offer;
  if (stopped !== null) return { rule: 'stopped', what: stopped };
  if (!campaign.active) return { rule: 'campaign_paused' };
  if (!offer.active) return { rule: 'offer_paused' };
  if (campaign.provisions.get(id)?.active !== true) return { rule: 'provisioning_paused' };
  const block = controls?.blockOf(offer) ?? null;
  return block && { rule: 'blocked_by_publisher', ...block };
}

/**
 * Compiles an offer. Returns null if its rules are invalid, which only direct database writes can cause. Other
 * campaigns are not affected.
 */
function compileOrNull(
  offer: Offer,
  publisherId: number,
  capZone: string,
  compiled: Map<number, CompiledRules>,
): Candidate | null {
  const { campaign } = offer;
  try {
    const rules = compiled.get(campaign.id) ?? compileRules(campaign, capZone);
    compiled.set(campaign.id, rules);
    return toCandidate(offer, publisherId, rules, capZone);
  } catch {
    return null;
  }
}

const isFixed = ({ offer }: Candidate): boolean => offer.campaign.ranking === 'fixed';

const byCatalogueOrder = (a: Candidate, b: Candidate): number =>
  Number(b.forced) - Number(a.forced) ||
  a.priority - b.priority ||
  Number(isFixed(b)) - Number(isFixed(a)) ||
  b.offer.campaign.weight - a.offer.campaign.weight ||
  a.offer.campaign.id - b.offer.campaign.id ||
  b.offer.weight - a.offer.weight ||
  a.offer.id - b.offer.id;

function classesOf(candidates: readonly Candidate[]): PriorityClass[] {
  const classes: (PriorityClass & { goals: number[] })[] = [];
  for (const candidate of candidates) {
    const { index, forced, priority, payout, rules } = candidate;
    const before = candidates[index - 1];
    let current = classes.at(-1);
    const isSame = before?.forced === forced && before.priority === priority && isFixed(before) === isFixed(candidate);
    if (current === undefined || !isSame) {
      current = { from: index, to: index, pays: false, goals: [] };
      classes.push(current);
    }
    current.to = index + 1;
    current.pays ||= payout.amountMicros > 0 && !isFixed(candidate);
    if (rules.goal !== null) current.goals.push(index);
  }
  return classes;
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
  const dimensions: { key: IndexedKey; dimension: Dimension }[] = [];
  for (const key of indexedKeys) {
    const builder = createDimension(candidates.length, normalisers[key], key === 'languages');
    for (const { rules, index } of candidates) {
      if (index % dimensionSliceSize === 0) yield;
      const list = rules.targeting[key];
      if (list !== undefined) builder.add(index, list);
    }
    yield;
    const dimension = builder.build();
    if (dimension !== null) dimensions.push({ key, dimension });
    yield;
  }
  return dimensions;
}

/**
 * Builds the audience index. An audience belongs to one publisher, so the audiences that campaigns of other publishers
 * target have no members here.
 */
function buildAudiences(candidates: readonly Candidate[], publisherId: number): AudienceIndex | null {
  const size = candidates.length;
  const withoutInclude = fullBits(size);
  const byKey = new Map<string, { included: Bits; excluded: Bits }>();
  const audienceBits = (key: string) =>
    getOrInsert(byKey, key, () => ({ included: emptyBits(size), excluded: emptyBits(size) }));
  let isUsed = false;
  for (const { rules, index, offer } of candidates) {
    const { include, exclude = [] } = rules.targeting.audiences ?? {};
    if (rules.targeting.audiences !== undefined) isUsed = true;
    if (include !== undefined) clearBit(withoutInclude, index);
    if (offer.campaign.publisherId !== publisherId) continue;
    for (const key of include ?? []) setBit(audienceBits(key).included, index);
    for (const key of exclude) setBit(audienceBits(key).excluded, index);
  }
  return isUsed ? { withoutInclude, byKey } : null;
}

function* buildHours(
  candidates: readonly Candidate[],
): Generator<void, { zone: string | null; dimension: Dimension }[]> {
  const zones = new Set(candidates.flatMap(({ rules }) => (rules.hours === null ? [] : [rules.hours.zone])));
  const byZone: { zone: string | null; dimension: Dimension }[] = [];
  for (const zone of zones) {
    const builder = createDimension(candidates.length);
    for (const { rules, index } of candidates) {
      if (index % sliceSize === 0) yield;
      if (rules.hours?.zone === zone) builder.add(index, { include: hoursTouched(rules.hours.windows) });
    }
    yield;
    byZone.push({ zone, dimension: builder.build() as Dimension });
  }
  return byZone;
}

/** Returns the hours of the week that overlap with the time windows. */
function hoursTouched(windows: readonly { start: number; end: number }[]): string[] {
  const hours = new Set<string>();
  for (const { start, end } of windows) {
    for (let hour = Math.floor(start / 60); hour * 60 < end; hour++) hours.add(String(hour));
  }
  return [...hours];
}
