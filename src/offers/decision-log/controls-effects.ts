import { isDeepStrictEqual } from 'node:util';
import {
  type ControlsCost,
  type ControlsEffect,
  controlsOf,
  noControls,
  rulesOf,
  withoutRules,
} from '../../catalog/controls.ts';
import type { Offer, Publisher, StoredControls } from '../../catalog/types.ts';
import { buildIndex } from '../../decision/build-index.ts';
import { decide } from '../../decision/decide.ts';
import type { DecidedOffer } from '../../decision/types.ts';
import { getOrInsert } from '../../platform/lib/get-or-insert.ts';
import { runInSlices } from '../../platform/lib/slices.ts';
import type { DecisionSample, SampledDecision } from './decision-sample.ts';

/**
 * Maximum number of rules to evaluate. The number is limited because, for each rule, the index is rebuilt and all
 * decisions are repeated.
 */
const maxRules = 100;

type Change = (stored: StoredControls) => StoredControls;
const asItWas: Change = (stored) => stored;

/** Minimum number of decisions required for a revenue estimate. */
const minDecisions = 20;

/** Revenue booked in the sample period, in millionths of the currency unit, by currency. */
export type BookedRevenue = ReadonlyMap<string, number>;

/**
 * Estimates the cost of each current rule by re-deciding the sample without the rule. A rule that was not in force at
 * the time of a decision does not affect that decision's result.
 */
export async function costOf(
  sample: DecisionSample,
  stored: StoredControls,
  booked: BookedRevenue,
): Promise<ControlsCost> {
  const rules = rulesOf(stored);
  const present = await decideAll(sample, asItWas);
  const costs: ControlsCost['rules'] = [];
  for (const rule of rules.slice(0, maxRules)) {
    const without = await decideAll(sample, (then) => withoutRules(then, [rule]), present);
    costs.push({ ...rule, effect: differenceOf(sample, present, without, booked) });
  }
  const { decisions, sessions, days } = sample;
  return { days, sessions, sampled: decisions.length, rules: costs, rest: Math.max(0, rules.length - maxRules) };
}

/** Estimates how the decisions would have changed if a different set of rules had been in force. */
export async function effectOf(
  sample: DecisionSample,
  present: StoredControls,
  other: StoredControls,
  booked: BookedRevenue,
): Promise<ControlsEffect> {
  const before = await decideAll(sample, () => present);
  return differenceOf(sample, before, await decideAll(sample, () => other), booked);
}

/** Offers shown by each decision in the sample. */
type ShownOffers = (readonly DecidedOffer[])[];

/**
 * Re-decides the whole sample with changed rules.
 * @param same decisions to reuse if the change has no effect; null always re-decides
 */
async function decideAll(
  { decisions }: DecisionSample,
  change: Change,
  same: ShownOffers | null = null,
): Promise<ShownOffers> {
  const variants = new Map<Publisher, Publisher>();
  for (const { input, publishers } of decisions)
    if (!variants.has(input.publisher)) {
      const variant = await variantOf(input.publisher, change, publishers);
      variants.set(input.publisher, variant);
    }
  return runInSlices(decideEach(decisions, variants, same));
}

function* decideEach(
  decisions: readonly SampledDecision[],
  variants: ReadonlyMap<Publisher, Publisher>,
  same: ShownOffers | null,
): Generator<void, ShownOffers> {
  const decided: ShownOffers = [];
  for (const [at, { input }] of decisions.entries()) {
    const publisher = variants.get(input.publisher) ?? input.publisher;
    const unchanged = publisher === input.publisher ? same?.[at] : undefined;
    decided.push(unchanged ?? decide({ ...input, publisher }).offers);
    yield;
  }
  return decided;
}

/** Returns the publisher with changed rules, or the same object if the change has no effect. */
async function variantOf(
  publisher: Publisher,
  change: Change,
  publishers: SampledDecision['publishers'],
): Promise<Publisher> {
  const stored = publisher.controls?.stored ?? noControls;
  const changed = change(stored);
  if (isDeepStrictEqual(changed, stored)) return publisher;
  const variant = { ...publisher, controls: controlsOf(changed, null) };
  const timeZoneOf = (id: number): string => publishers.get(id)?.timeZone ?? 'UTC';
  const { offers } = publisher.index;
  const isBlocked = ({ controls }: Publisher, offer: Offer): boolean => (controls?.blockOf(offer) ?? null) !== null;
  // Also compare placement rules, because they are part of the index.
  const isSameThere = isDeepStrictEqual(changed.placements, stored.placements);
  const blocksSame = isSameThere && offers.every((offer) => isBlocked(variant, offer) === isBlocked(publisher, offer));
  if (
    blocksSame &&
    isDeepStrictEqual([changed.separate.categories, changed.floors], [stored.separate.categories, stored.floors])
  )
    return publisher;
  if (blocksSame) return variant;
  return { ...variant, index: await runInSlices(buildIndex({ publisher: variant, offers, timeZoneOf })) };
}

function differenceOf(
  { decisions, sessions, days }: DecisionSample,
  before: ShownOffers,
  after: ShownOffers,
  booked: BookedRevenue,
): ControlsEffect {
  const sampled = decisions.length;
  let changed = 0;
  let emptied = 0;
  for (const [at, was] of before.entries()) {
    const is = after[at] ?? [];
    if (was.length !== is.length || was.some(({ offer }, index) => offer.id !== is[index]?.offer.id)) changed += 1;
    if (was.length > 0 && is.length === 0) emptied += 1;
  }
  const share = (count: number): number => (sampled === 0 ? 0 : count / sampled);
  const money = changeOfRevenue(expectedOf(before), expectedOf(after), sampled >= minDecisions ? booked : new Map());
  return { days, sessions, sampled, changed: share(changed), emptied: share(emptied), ...money };
}

/** Returns the expected revenue from the shown offers by currency, in millionths of the currency unit. */
function expectedOf(offers: ShownOffers): Map<string, number> {
  const expected = new Map<string, number>();
  for (const { payout, meanMicros } of offers.flat())
    expected.set(payout.currency, getOrInsert(expected, payout.currency, () => 0) + meanMicros);
  return expected;
}

/**
 * Estimates the revenue change by currency: booked revenue times the relative change in expected revenue. The model may
 * expect different amounts than those booked, but its error is the same before and after. A currency has insufficient
 * data if it has no booked or expected revenue, or if the estimated gain exceeds its booked revenue.
 */
function changeOfRevenue(
  before: ReadonlyMap<string, number>,
  after: ReadonlyMap<string, number>,
  booked: BookedRevenue,
): { revenue: ControlsEffect['revenue']; isEnough: boolean } {
  const revenue: ControlsEffect['revenue'] = [];
  let isEnough = true;
  for (const currency of new Set([...before.keys(), ...after.keys()])) {
    const [was = 0, is = 0, bookedMicros = 0] = [before.get(currency), after.get(currency), booked.get(currency)];
    if (is === was) continue;
    const micros = was > 0 && bookedMicros > 0 ? Math.round((bookedMicros * (is - was)) / was) : null;
    if (micros === null || micros > bookedMicros) isEnough = false;
    else if (micros !== 0) revenue.push({ currency, micros });
  }
  return { revenue, isEnough };
}
