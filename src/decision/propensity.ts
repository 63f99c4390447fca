import { hasBit } from './bitset.ts';
import type { Candidate } from './compile.ts';
import type { EligibilityIndex } from './eligibility.ts';
import { type Contender, exploredShare, type PaidRun } from './paid-run.ts';
import { logNormalCumulative } from './random.ts';
import type { Estimate } from './scores.ts';

/** Where a normal distribution is looked at, and the weight of each place (Gauss and Hermite, 7 places). */
const places = [-3.750439717725742, -2.366759410734541, -1.154405394739968, 0, 1.154405394739968, 2.366759410734541, 3.750439717725742];
const weights = [0.0005482688559, 0.0307571239676, 0.240123178605, 0.4571428571429, 0.240123178605, 0.0307571239676, 0.0005482688559];

/** Someone who competes for a place; `weight`: how many of the field it stands for. */
export type Rival = { estimate: Estimate; weight: number };

/**
 * The estimated chance that an offer's draw is the highest among its rivals: its own draw is looked at in a few places,
 * and at each the rivals' chances to be below it are multiplied. Draws are taken for normal.
 */
export function chanceToLead({ mean, spread }: Estimate, rivals: readonly Rival[]): number {
  let chance = 0;
  for (const [index, place] of places.entries()) {
    const at = mean + spread * place;
    let log = 0;
    for (const { estimate, weight } of rivals) {
      log += weight * logChanceBelow(estimate, at);
      if (log < -40) break;
    }
    chance += (weights[index] as number) * Math.exp(log);
  }
  return Math.min(1, chance);
}

/** What nothing is left to chance about ties with its like; the order of the catalogue has settled that before. */
function logChanceBelow({ mean, spread }: Estimate, at: number): number {
  if (spread > 0) return logNormalCumulative((at - mean) / spread);
  return at >= mean ? 0 : Number.NEGATIVE_INFINITY;
}

/** How many of the strongest survivors are looked at each, and how many of the others, at most, stand for all of them. */
const [strongest, sampled] = [16, 16];

/** Those who stand for the field of a run: all that matters of it, found once for all its positions. */
type Standing = Rival & { advertiserId: number; candidate: Candidate };

/**
 * The estimated chances, over all seeds, that the shown offers get their positions: that a draw leads those who can still
 * have the position, or that the offer is explored. Where revenue orders nothing, nothing is left to chance.
 */
export function propensitiesOf(shown: readonly Contender[], index: EligibilityIndex): number[] {
  const fields = new Map<PaidRun, Standing[]>();
  const gone = new Set<number>();
  return shown.map(({ candidate, estimate, run }) => {
    const advertiserId = candidate.offer.campaign.advertiserId;
    let chance = 1;
    if (run !== null && estimate !== null) {
      const field = fields.get(run) ?? fieldOf(run, index);
      fields.set(run, field);
      const rivals = field.filter((other) => other.candidate !== candidate && !gone.has(other.advertiserId));
      chance = Math.min(1, (1 - exploredShare) * chanceToLead(estimate, rivals) + run.exploredChance);
    }
    gone.add(advertiserId);
    return chance;
  });
}

function fieldOf({ ranking: { order, estimates }, bits, survivors }: PaidRun, index: EligibilityIndex): Standing[] {
  const standing = (place: number): Standing => {
    const candidate = index.candidates[order[place] as number] as Candidate;
    return { candidate, advertiserId: candidate.offer.campaign.advertiserId, estimate: estimates[place] as Estimate, weight: 1 };
  };
  const isIn = (place: number): boolean => hasBit(bits, order[place] as number);
  const field: Standing[] = [];
  let place = 0;
  for (; place < order.length && field.length < strongest; place++) {
    if (isIn(place)) field.push(standing(place));
  }
  const others: Standing[] = [];
  const step = Math.max(1, Math.floor((order.length - place) / sampled));
  for (; place < order.length; place += step) {
    if (isIn(place)) others.push(standing(place));
  }
  const weight = Math.max(0, survivors - field.length) / Math.max(1, others.length);
  return [...field, ...others.map((other) => ({ ...other, weight }))];
}
