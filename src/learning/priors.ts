import { getOrInsert } from '../platform/lib/get-or-insert.ts';
import { type Effects, firstPrior, groupOf, levelOf, readWeightName } from './effects.ts';
import { setPair, type Table } from './table.ts';

/** What is usual of its level counts in a group like this many weights that are known exactly (count). */
const priorWeights = 3;
/** Steps of the fixed point at a time (count). */
const priorSteps = 5;
const minPrior = 1e-5;
/** No property is taken to change rates more than this (variance of the logarithm): by 7 times, up or down. */
const maxPrior = 4;
const allowedPrior = (prior: number): number => Math.min(maxPrior, Math.max(minPrior, prior));

/** Whether its priors are of this kind: those of a model that ran away are not. */
export const areSound = ({ priors }: Pick<Effects, 'priors'>): boolean =>
  [...priors.values()].every((prior) => Number.isFinite(prior) && prior <= maxPrior);

/**
 * Logarithms of Bayes factors: of weights that vary, against weights that are all 0. Below the first of them the keys
 * of a level are taken for noise, but for those that reach the second by themselves.
 */
const logFactors = { noise: -6, proven: 4 };

/** The weights of one offer, or category, for one key, and the slot of their average. */
type Family = { average: number; slots: number[] };

/** Families between two pauses (count): about a millisecond of work. */
const sliceSize = 500;

/**
 * Estimates the prior variance of each group from its weights (MacKay's evidence procedure): properties that matter
 * keep their effects, those that do not are shrunk to nothing.
 */
export function* estimatePriors(effects: Effects): Generator<void, void> {
  const { priors } = effects;
  const groups = yield* familiesOf(effects);
  const known = yield* evidenceOfLevels(effects, groups, (before) => before);
  // Whether all matter by a tenth, rather than none.
  const tried = yield* evidenceOfLevels(effects, groups, () => firstPrior);
  for (const [group, families] of groups) {
    const before = priors.get(group) as number;
    const level = levelOf(group);
    const usual = usualOf(known.get(level) as Evidence);
    const isNoise = (tried.get(level) as Evidence).logFactor < logFactors.noise;
    let prior = before;
    for (let step = 0; step < priorSteps; step++) {
      const { squares, determined } = yield* evidenceOf(effects, families, before, prior);
      prior = allowedPrior((priorWeights * usual + squares) / (priorWeights + determined));
    }
    if (isNoise) {
      const { logFactor } = yield* evidenceOf(effects, families, before, prior);
      if (logFactor < logFactors.proven) prior = minPrior;
    }
    prior = Math.fround(prior);
    priors.set(group, prior);
    for (const [at, family] of families.entries()) {
      if (at % sliceSize === 0) yield;
      shrink(effects, family, before, prior);
    }
  }
}

/** Moves the weights of a family to where they are under another prior. */
function shrink(effects: Effects, { slots, average }: Family, before: number, prior: number): void {
  const { weights } = effects;
  let [sum, all] = [0, 0];
  const means = slots.map((slot) => {
    const mean = deviation(effects, slot, average) * shrinkage(before, prior, informationOf(effects, slot, average));
    const own = weights.second[slot] as number;
    sum += own * mean;
    all += own;
    return mean;
  });
  for (const [at, slot] of slots.entries()) setMean(weights, slot, means[at] as number);
  setMean(weights, average, all === 0 ? 0 : sum / all);
}

function setMean(weights: Table, slot: number, mean: number): void {
  if (weights.first[slot] !== Math.fround(mean)) setPair(weights, slot, mean, weights.second[slot] as number);
}

/** The variance that the weights of all keys of a level have in common: where few matter, new ones are doubted. */
const usualOf = ({ squares, determined }: Evidence): number =>
  allowedPrior((priorWeights * firstPrior + squares) / (priorWeights + determined));

/** What the groups of each level say together. @param priorOf the prior that is tried, by that of the group */
function* evidenceOfLevels(
  effects: Effects,
  groups: ReadonlyMap<string, readonly Family[]>,
  priorOf: (before: number) => number,
): Generator<void, Map<string, Evidence>> {
  const sums = new Map<string, Evidence>();
  for (const [group, families] of groups) {
    const before = effects.priors.get(group) as number;
    const own = yield* evidenceOf(effects, families, before, priorOf(before));
    const sum = getOrInsert(sums, levelOf(group), () => ({ squares: 0, determined: 0, logFactor: 0 }));
    sum.squares += own.squares;
    sum.determined += own.determined;
    sum.logFactor += own.logFactor;
  }
  return sums;
}

/**
 * What the weights of a group say of their variance: the sum of their squares, how many the data determine, and the
 * logarithm of the Bayes factor of this variance against none.
 */
type Evidence = { squares: number; determined: number; logFactor: number };

/** @param before the prior that the weights were learned under, `prior` the one that is tried */
function* evidenceOf(
  effects: Effects,
  families: readonly Family[],
  before: number,
  prior: number,
): Generator<void, Evidence> {
  let [squares, determined, logFactor] = [0, 0, 0];
  for (const [at, { slots, average }] of families.entries()) {
    if (at % sliceSize === 0) yield;
    for (const slot of slots) {
      const information = informationOf(effects, slot, average);
      const mean = deviation(effects, slot, average) * shrinkage(before, prior, information);
      squares += mean * mean;
      determined += (information * prior) / (1 + information * prior);
      logFactor += (mean * mean * (information + 1 / prior) - Math.log1p(information * prior)) / 2;
    }
  }
  return { squares, determined, logFactor };
}

const deviation = ({ weights: { first } }: Effects, slot: number, average: number): number =>
  (first[slot] as number) - (first[average] as number);

/** What the data says of a weight, as `effectOf` has it. */
function informationOf({ weights: { second } }: Effects, slot: number, average: number): number {
  const [own, all] = [second[slot] as number, second[average] as number];
  const input = all === 0 ? 1 : 1 - own / all;
  return input * input * own;
}

/** What is left of a mean under another prior. */
const shrinkage = (before: number, prior: number, information: number): number =>
  (1 / before + information) / (1 / prior + information);

/** The open groups with their families. */
function* familiesOf({ weights, priors }: Effects): Generator<void, Map<string, Family[]>> {
  const groups = new Map<string, Family[]>();
  const families = new Map<number, Family>();
  let found = 0;
  for (const [feature, slots] of weights.slots.entries()) {
    const read = readWeightName(weights.features[feature] as string);
    if (read === null) continue;
    const group = groupOf(read.level, read.key);
    if ((priors.get(group) ?? 0) === 0) continue;
    const averages = weights.slots[weights.indexOf.get(read.average) as number];
    for (const [entity, slot] of slots) {
      if (++found % (10 * sliceSize) === 0) yield;
      const average = averages?.get(entity) as number;
      let family = families.get(average);
      if (family === undefined) {
        family = { average, slots: [] };
        families.set(average, family);
        getOrInsert(groups, group, (): Family[] => []).push(family);
      }
      family.slots.push(slot);
    }
  }
  return groups;
}
