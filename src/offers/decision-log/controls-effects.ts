import { isDeepStrictEqual } from 'node:util';
import { controlsOf, noControls } from '../../catalog/controls.ts';
import { type ControlsCost, type ControlsEffect, rulesOf, withoutRule } from '../../catalog/controls-rules.ts';
import type { Offer, Publisher, StoredControls } from '../../catalog/types.ts';
import { buildIndex } from '../../decision/build-index.ts';
import { decide } from '../../decision/decide.ts';
import type { DecidedOffer } from '../../decision/types.ts';
import { getOrInsert } from '../../platform/lib/get-or-insert.ts';
import { runInSlices } from '../../platform/lib/slices.ts';
import type { DecisionSample, SampledDecision } from './decision-sample.ts';

/** Rules that are looked at (count): each takes an index and all decisions once more. */
const maxRules = 100;

type Change = (stored: StoredControls) => StoredControls;
const asItWas: Change = (stored) => stored;

/** What the present rules cost: decisions are made again without each that was in force then. */
export async function costOf(sample: DecisionSample, stored: StoredControls): Promise<ControlsCost> {
  const rules = rulesOf(stored);
  const present = await decideAll(sample, asItWas);
  const found: ControlsCost['rules'] = [];
  for (const rule of rules.slice(0, maxRules)) {
    const without = await decideAll(sample, (then) => withoutRule(then, rule), present);
    found.push({ ...rule, effect: differenceOf(sample, present, without) });
  }
  const { decisions, sessions, days } = sample;
  return { days, sessions, sampled: decisions.length, rules: found, rest: Math.max(0, rules.length - maxRules) };
}

/** What other rules would have changed of decisions, had the present ones been in force. */
export async function effectOf(
  sample: DecisionSample,
  present: StoredControls,
  other: StoredControls,
): Promise<ControlsEffect> {
  const before = await decideAll(sample, () => present);
  return differenceOf(sample, before, await decideAll(sample, () => other));
}

/** What is shown, by decision of the sample. */
type Shown = (readonly DecidedOffer[])[];

/** @param same what is shown where the change changes nothing; null: it is decided in any case */
async function decideAll({ decisions }: DecisionSample, change: Change, same: Shown | null = null): Promise<Shown> {
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
  same: Shown | null,
): Generator<void, Shown> {
  const shown: Shown = [];
  for (const [at, { input }] of decisions.entries()) {
    const publisher = variants.get(input.publisher) ?? input.publisher;
    const known = publisher === input.publisher ? same?.[at] : undefined;
    shown.push(known ?? decide({ ...input, publisher }).offers);
    yield;
  }
  return shown;
}

/** The publisher with other rules; itself where they block the same, and separate and bound the same. */
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
  // Rules of placements are in the index.
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

function differenceOf({ decisions, sessions, days }: DecisionSample, before: Shown, after: Shown): ControlsEffect {
  const sampled = decisions.length;
  const micros = new Map<string, number>();
  let changed = 0;
  let emptied = 0;
  for (const [at, was] of before.entries()) {
    const is = after[at] ?? [];
    if (was.length !== is.length || was.some(({ offer }, index) => offer.id !== is[index]?.offer.id)) changed += 1;
    if (was.length > 0 && is.length === 0) emptied += 1;
    for (const [sign, offers] of [
      [-1, was],
      [1, is],
    ] as const)
      for (const { payout, meanMicros } of offers)
        micros.set(payout.currency, getOrInsert(micros, payout.currency, () => 0) + sign * meanMicros);
  }
  const share = (count: number): number => (sampled === 0 ? 0 : count / sampled);
  const revenue = [...micros]
    .map(([currency, sum]) => ({ currency, micros: Math.round((share(sum) || 0) * sessions) }))
    .filter((one) => one.micros !== 0);
  return { days, sessions, sampled, changed: share(changed), emptied: share(emptied), revenue };
}
