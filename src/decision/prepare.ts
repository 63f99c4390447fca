import { indexOf } from './decide.ts';
import { ensureEstimated, revenueModelOf, revenueOrderOf } from './rank/revenue-model.ts';
import type { DecisionInput } from './types.ts';

/** Number of candidates to estimate before yielding. */
const sliceSize = 500;

/**
 * Estimates all candidates for a request in slices, and sorts those of large classes. Without this, the first decision
 * of each scope would do so at once and block the process for tens of milliseconds with 10,000 offers.
 */
export function* prepareDecision(input: DecisionInput): Generator<void, void> {
  const index = indexOf(input.publisher);
  for (const priorityClass of index.classes) {
    if (!priorityClass.pays) continue;
    const model = revenueModelOf(index, priorityClass, input);
    if (model.order !== null) continue;
    for (let at = 0; at < priorityClass.to - priorityClass.from; at++) {
      ensureEstimated(model, at, input);
      if (at % sliceSize === sliceSize - 1) yield;
    }
    if (priorityClass.to - priorityClass.from < sliceSize) continue;
    revenueOrderOf(model, input);
    yield;
  }
}
