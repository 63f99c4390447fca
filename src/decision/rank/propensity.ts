import { hasBit } from '../index/bitset.ts';
import type { Candidate } from '../index/compile.ts';
import type { EligibilityIndex } from '../index/eligibility.ts';
import { logNormalCumulative } from './random.ts';
import { type Contender, exploredShare, type PaidRun } from './revenue-class.ts';
import type { Estimate } from './scores.ts';

/** Where a normal distribution is looked at, and the weight of each place (Gauss and Hermite, 5 places). */
const places = [-2.8569700138728, -1.3556261799742, 0, 1.3556261799742, 2.8569700138728];
const weights = [0.0112574113277, 0.2220759220056, 0.5333333333333, 0.2220759220056, 0.0112574113277];

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

/**
 * How many of the strongest survivors are looked at each, and how many of the others, at most, stand for all of them.
 */
const [strongest, sampled] = [12, 8];

/** Those who stand for the field of a run. Fewer than `keyBits`. */
type Standing = Rival & { advertiserId: number; candidate: Candidate };

/**
 * What is known of a run beforehand: who stands for its field, and chances worked out before, by who leads and who is
 * out.
 */
type Odds = { field: readonly Standing[]; members: Int32Array; advertisers: Int32Array; chances: Map<number, number> };

const known = new WeakMap<PaidRun, Odds>();

/** Chances kept for a run (count). */
const maxChances = 4096;

/** A bit for each of a field: more than there ever are, and with the index of a candidate still an exact number. */
const keyBits = 30;

function oddsOf(run: PaidRun, index: EligibilityIndex): Odds {
  let odds = known.get(run);
  if (odds === undefined) {
    const field = fieldOf(run, index);
    odds = {
      field,
      members: Int32Array.from(field, ({ candidate }) => candidate.index),
      advertisers: Int32Array.from(field, ({ advertiserId }) => advertiserId),
      chances: new Map(),
    };
    known.set(run, odds);
  }
  return odds;
}

/**
 * The estimated chances, over all seeds, that the shown offers get their positions: that a draw leads those who can
 * still
 * have the position, or that the offer is explored. Where revenue orders nothing, nothing is left to chance.
 */
export function propensitiesOf(shown: readonly Contender[], index: EligibilityIndex): number[] {
  let of: PaidRun | null = null;
  /** Who of its field is of an advertiser that is shown already, a bit for each. */
  let gone = 0;
  return shown.map(({ candidate, estimate, run, exploredChance }, at) => {
    if (run === null || estimate === null) return 1;
    const odds = oddsOf(run, index);
    if (run !== of) {
      of = run;
      gone = 0;
      for (const earlier of shown.slice(0, at)) gone |= bitsOf(odds.advertisers, advertiserOf(earlier));
    }
    const leads = chanceAmong(odds, candidate, estimate, gone | bitsOf(odds.members, candidate.index));
    gone |= bitsOf(odds.advertisers, candidate.offer.campaign.advertiserId);
    return Math.min(1, (1 - exploredShare) * leads + exploredChance);
  });
}

const advertiserOf = ({ candidate }: Contender): number => candidate.offer.campaign.advertiserId;

function bitsOf(list: Int32Array, value: number): number {
  let bits = 0;
  for (let at = 0; at < list.length; at++) if (list[at] === value) bits |= 1 << at;
  return bits;
}

/** As `chanceToLead`, against those of the field who are not out. */
function chanceAmong({ field, chances }: Odds, candidate: Candidate, estimate: Estimate, out: number): number {
  const key = candidate.index * 2 ** keyBits + out;
  let chance = chances.get(key);
  if (chance === undefined) {
    chance = chanceToLead(
      estimate,
      field.filter((_, at) => ((out >>> at) & 1) === 0),
    );
    if (chances.size >= maxChances) chances.clear();
    chances.set(key, chance);
  }
  return chance;
}

function fieldOf(
  { ranking: { order, estimates }, bits, survivors, places }: PaidRun,
  index: EligibilityIndex,
): Standing[] {
  const field: Standing[] = [];
  const others: Standing[] = [];
  const addTo = (list: Standing[], place: number): void => {
    if (!hasBit(bits, order[place] as number)) return;
    const candidate = index.candidates[order[place] as number] as Candidate;
    list.push({
      candidate,
      advertiserId: candidate.offer.campaign.advertiserId,
      estimate: estimates[place] as Estimate,
      weight: 1,
    });
  };
  let at = 0;
  for (; at < places.length && field.length < strongest; at++) addTo(field, places[at] as number);
  const step = Math.max(1, Math.floor((places.length - at) / sampled));
  for (; at < places.length; at += step) addTo(others, places[at] as number);
  const weight = Math.max(0, survivors - field.length) / Math.max(1, others.length);
  return [...field, ...others.map((other) => ({ ...other, weight }))];
}
