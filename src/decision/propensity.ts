import type { Candidate } from './compile.ts';
import { type Contender, exploredShare } from './field.ts';
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

/** How many of a field that is larger stand for all of it. */
const sampleSize = 24;

/**
 * The estimated chance, over all seeds, that a shown offer gets its position: that its draw leads those who can still have
 * the position, or that it is explored. Where revenue orders nothing, nothing is left to chance.
 * @param at its place among the shown, from 0
 */
export function propensityOf({ candidate, run }: Contender, shown: readonly Contender[], at: number): number {
  if (run === null) return 1;
  const before = new Set(shown.slice(0, at).map((contender) => contender.candidate.offer.campaign.advertiserId));
  const after = new Set(
    shown
      .slice(at + 1)
      .filter((contender) => contender.run === run)
      .map((contender) => contender.candidate),
  );
  const { members, estimateOf } = run;
  const step = Math.max(1, Math.ceil(members.length / sampleSize));
  const rivals: Rival[] = [...after].map((rival) => ({ estimate: estimateOf(rival), weight: 1 }));
  for (let place = 0; place < members.length; place += step) {
    const rival = members[place] as Candidate;
    if (rival === candidate || after.has(rival) || before.has(rival.offer.campaign.advertiserId)) continue;
    rivals.push({ estimate: estimateOf(rival), weight: step });
  }
  return Math.min(1, (1 - exploredShare) * chanceToLead(estimateOf(candidate), rivals) + run.exploredChance);
}
