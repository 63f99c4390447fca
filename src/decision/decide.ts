import type { Objection } from './explain/exclusions.ts';
import { createField, type Field } from './index/candidate-stream.ts';
import type { Candidate } from './index/compile.ts';
import { indexOf } from './index/eligibility.ts';
import { gateObjections, survivors } from './index/index-filters.ts';
import { type Conflicts, createConflicts } from './rank/conflicts.ts';
import { propensitiesOf } from './rank/propensity.ts';
import type { Contender } from './rank/revenue-class.ts';
import { type Sequence, sequenceOf } from './rank/sequence.ts';
import { isAmong, unitOf } from './rules/unit.ts';
import type { DecidedOffer, Decision, DecisionInput, EmptyReason } from './types.ts';

/** What an explanation wants to know beside the decision. */
export type Trace = {
  /** A rule that keeps a candidate from being shown; the first that is named counts. */
  object: (candidate: Candidate, objection: Objection) => void;
  /** A candidate that nothing shuts out; called best first. */
  rank: (candidate: Candidate, score: number) => void;
};

/**
 * The offers to show, in order. Pure: chance comes from the seed, and the same input gives the same decision, bit for
 * bit.
 *
 * Unit and percentage, then the index, then for the best of the survivors the residual rules; priority, expected
 * revenue;
 * and for each position the sequence rules, one offer of a campaign, one of an advertiser, one of an exclusion group.
 */
export const decide = (input: DecisionInput): Decision => run(input, null);

/** `decide`, telling a trace about every candidate: one code for the decision and its explanation. */
export function run(input: DecisionInput, trace: Trace | null): Decision {
  const { publisher, context } = input;
  const index = indexOf(publisher);
  const relaxed = context.dev || publisher.testMode;
  const off = whyOff(input, relaxed);
  if (off !== null) {
    if (trace !== null) for (const candidate of index.candidates) trace.object(candidate, { rule: off });
    return { offers: [], emptyReason: off };
  }
  const bits = survivors(index, context, relaxed);
  if (trace !== null) traceGates(input, relaxed, trace);
  const field = createField({ index, bits, input, relaxed, onObjection: trace === null ? null : trace.object });
  const sequence = relaxed ? null : sequenceOf(publisher, context.placement);
  const { chosen, left } = fill(input, trace === null ? field : ranked(field, trace), sequence, trace);
  if (chosen.length > 0) {
    const propensities = propensitiesOf(chosen, index);
    return {
      offers: chosen.map((contender, at) => decided(contender, at + 1, propensities[at] as number)),
      emptyReason: null,
    };
  }
  const reason = index.candidates.length === 0 ? 'no_campaigns' : left > 0 ? 'sequence_rules' : 'nothing_eligible';
  return { offers: [], emptyReason: reason };
}

function whyOff(
  { publisher, theme, context, seed }: DecisionInput,
  relaxed: boolean,
): (EmptyReason & ('unit_off' | 'percentage')) | null {
  const unit = unitOf(publisher, theme, context.placement);
  if (!unit.enabled) return 'unit_off';
  return relaxed || isAmong(unit.deliveryPercentage, publisher.id, context.userKey ?? String(seed))
    ? null
    : 'percentage';
}

function traceGates({ publisher, context }: DecisionInput, relaxed: boolean, trace: Trace): void {
  const index = indexOf(publisher);
  const objectionTo = gateObjections(index, context, relaxed);
  for (const candidate of index.candidates) {
    const objection = objectionTo(candidate);
    if (objection !== null) trace.object(candidate, objection);
  }
}

const ranked =
  (field: Field, trace: Trace): Field =>
  () => {
    const contender = field();
    if (contender !== null) trace.rank(contender.candidate, contender.score);
    return contender;
  };

/**
 * Fills the positions one after the other; `left`: how many contenders were met and had to stay out by sequence rules
 * alone.
 */
function fill(
  input: DecisionInput,
  field: Field,
  sequence: Sequence | null,
  trace: Trace | null,
): { chosen: Contender[]; left: number } {
  const { publisher, theme, context } = input;
  const onWall = context.surface === 'offerwall';
  const count = context.count ?? unitOf(publisher, theme, context.placement).offersPerResponse;
  const conflicts = createConflicts(onWall);
  const chosen: Contender[] = [];
  /** Met, and not allowed at the positions so far. */
  const pending: Contender[] = [];

  function pick(position: number): Contender | null {
    const reserved = sequence !== null && !onWall && sequence.isReserved(position);
    let best: Contender | null = null;
    let bestGrade = 0;
    for (let at = 0; ; ) {
      const contender = pending[at] ?? field();
      if (contender === null) break;
      const isNew = at === pending.length;
      const conflict = conflicts.find(contender.candidate);
      if (conflict !== null) {
        trace?.object(contender.candidate, conflict);
        if (!isNew) pending.splice(at, 1);
        continue;
      }
      const { offer } = contender.candidate;
      const denying = sequence?.deniedBy(offer, onWall ? 0 : position) ?? null;
      const grade = denying !== null ? 0 : reserved ? sequence.grade(offer, position) : 1;
      if (grade > 0 && (!reserved || grade === sequence.topGrade(position))) {
        if (!isNew) pending.splice(at, 1);
        return contender;
      }
      if (isNew) pending.push(contender);
      if (grade === 0)
        trace?.object(
          contender.candidate,
          denying === null ? { rule: 'sequence_reserved' } : { rule: 'sequence_denied', ruleId: denying.id },
        );
      if (grade > bestGrade) [best, bestGrade] = [contender, grade];
      at += 1;
    }
    if (best !== null) pending.splice(pending.indexOf(best), 1);
    return best;
  }

  while (chosen.length < count) {
    const contender = pick(chosen.length + 1);
    if (contender === null) break;
    conflicts.add(contender.candidate);
    chosen.push(contender);
  }
  if (trace !== null) traceRest(trace, [...pending, ...rest(field)], conflicts, count);
  return { chosen, left: pending.length };
}

function* rest(field: Field): Generator<Contender> {
  for (let contender = field(); contender !== null; contender = field()) yield contender;
}

/** Says of every contender that is not shown why not. */
function traceRest(trace: Trace, contenders: readonly Contender[], conflicts: Conflicts, count: number): void {
  for (const { candidate } of contenders)
    trace.object(candidate, conflicts.find(candidate) ?? { rule: 'positions_filled', count });
}

function decided({ candidate, score, estimate }: Contender, position: number, propensity: number): DecidedOffer {
  const { offer, priority, payout } = candidate;
  return {
    offer,
    position,
    score,
    propensity,
    priority,
    payout,
    reserveMicros: estimate === null ? 0 : Math.ceil(estimate.mean),
  };
}
