import { getOrInsert } from '../platform/lib/get-or-insert.ts';
import { type Effects, firstPrior, groupOf, readWeightName } from './effects.ts';
import { setPair } from './table.ts';

/** A group's first prior counts like this many weights that are known exactly (count). */
const priorWeights = 3;
/** Steps of the fixed point at a time (count). */
const priorSteps = 5;
const minPrior = 1e-5;

/** The weights of one offer, or category, for one key, and the slot of their average. */
type Family = { average: number; slots: number[] };

/**
 * Estimates the prior variance of each group from its weights (MacKay's evidence procedure): properties that matter
 * keep their effects, those that do not are shrunk to nothing.
 */
export function estimatePriors(effects: Effects): void {
  const { weights, priors } = effects;
  for (const [group, families] of familiesOf(effects)) {
    const before = priors.get(group) as number;
    let prior = before;
    for (let step = 0; step < priorSteps; step++) {
      let [squares, determined] = [0, 0];
      for (const family of families) {
        for (const slot of family.slots) {
          const information = informationOf(effects, slot, family.average);
          const mean = deviation(effects, slot, family.average) * shrinkage(before, prior, information);
          squares += mean * mean;
          determined += (information * prior) / (1 + information * prior);
        }
      }
      prior = Math.max(minPrior, (priorWeights * firstPrior + squares) / (priorWeights + determined));
    }
    prior = Math.fround(prior);
    priors.set(group, prior);
    for (const { slots, average } of families) {
      let [sum, all] = [0, 0];
      const means = slots.map((slot) => {
        const mean =
          deviation(effects, slot, average) * shrinkage(before, prior, informationOf(effects, slot, average));
        const own = weights.second[slot] as number;
        sum += own * mean;
        all += own;
        return mean;
      });
      for (const [at, slot] of slots.entries())
        setPair(weights, slot, means[at] as number, weights.second[slot] as number);
      setPair(weights, average, all === 0 ? 0 : sum / all, weights.second[average] as number);
    }
  }
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
function familiesOf({ weights, priors }: Effects): Map<string, Family[]> {
  const groups = new Map<string, Family[]>();
  const families = new Map<number, Family>();
  for (const [feature, slots] of weights.slots.entries()) {
    const read = readWeightName(weights.features[feature] as string);
    if (read === null) continue;
    const group = groupOf(read.level, read.key);
    if ((priors.get(group) ?? 0) === 0) continue;
    const averages = weights.slots[weights.indexOf.get(read.average) as number];
    for (const [entity, slot] of slots) {
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
