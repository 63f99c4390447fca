import type { Column, Rows } from './rows.ts';

/** Fraction of the capacity that remains in use after thinning. */
const targetPart = 0.75;

/**
 * Makes room in a full set of rows. Keeps all successes, all rows that may still get a success, and a sample of the
 * other rows. The sampling rate is lower for offers with many rows, and each sampled row is weighted to stand for
 * dropped rows as well. If there are too many successes, the oldest rows are dropped.
 * @param youngSinceMs time since which rows may still get a success, in epoch milliseconds
 */
export function thinRows(rows: Rows, youngSinceMs: number): void {
  const target = Math.floor(rows.capacity * targetPart);
  const isFixed = (row: number): boolean =>
    (rows.delaysMs[row] as number) >= 0 || (rows.atMs[row] as number) >= youngSinceMs;
  let fixed = 0;
  let from = rows.size;
  while (from > 0 && fixed <= (target * 2) / 3) {
    from -= 1;
    if (isFixed(from)) fixed += 1;
  }
  const weights: number[][] = rows.offerIds.map(() => []);
  for (let row = from; row < rows.size; row++)
    if (!isFixed(row)) weights[rows.offers[row] as number]?.push(rows.weights[row] as number);
  const most = mostOfEach(
    weights.map(({ length }) => length),
    target - fixed,
  );
  const leastWeights = weights.map((list) => leastWeightOf(list, most));
  // The newest row differs between runs. Without it, the same rows would be kept in each run.
  const salt = rows.ids[rows.size - 1] as number;
  keepRows(rows, (row) => {
    if (row < from) return 0;
    if (isFixed(row)) return 1;
    const part = Math.min(1, (rows.weights[row] as number) / (leastWeights[rows.offers[row] as number] as number));
    return uniformOf(rows.ids[row] as number, salt) < part ? 1 / part : 0;
  });
}

/** Returns the maximum number of rows per offer for which the total is at most `sum`. */
function mostOfEach(counts: readonly number[], sum: number): number {
  const sorted = counts.toSorted((a, b) => a - b);
  let remaining = Math.max(1, sum);
  for (const [at, count] of sorted.entries()) {
    const share = remaining / (sorted.length - at);
    if (count > share) return share;
    remaining -= count;
  }
  return Number.POSITIVE_INFINITY;
}

/**
 * Returns the weight that rows have at least after thinning, so that about `most` of them are kept. A lighter row is
 * kept with a probability in proportion to its weight. Heavier rows are always kept, and never get heavier, because
 * few rows with large weights would decide the fit after many runs.
 */
function leastWeightOf(weights: readonly number[], most: number): number {
  if (weights.length <= most) return 0;
  const sorted = weights.toSorted((a, b) => b - a);
  let remaining = sorted.reduce((sum, weight) => sum + weight, 0);
  for (const [heavier, weight] of sorted.entries()) {
    const least = remaining / (most - heavier);
    if (heavier + 1 >= most || weight <= least) return least;
    remaining -= weight;
  }
  return 0;
}

/** Returns a pseudorandom number from 0 to 1 that depends only on the row ID and on the salt of the run. */
function uniformOf(id: number, salt: number): number {
  const mixed = Math.imul((id % 4_294_967_291) ^ Math.imul(salt % 4_294_967_291, 0x9e3779b1), 0x85ebca6b);
  return (Math.imul(mixed ^ (mixed >>> 15), 0xc2b2ae35) >>> 0) / 2 ** 32;
}

/**
 * Keeps or drops rows, and scales the weights of those kept.
 * @param factorOf returns the factor for a row's weight; 0 drops the row
 */
function keepRows(rows: Rows, factorOf: (row: number) => number): void {
  const newIndex = new Int32Array(rows.size);
  const factors = Float64Array.from(newIndex, (_, row) => factorOf(row));
  let size = 0;
  for (let row = 0; row < rows.size; row++) newIndex[row] = factors[row] === 0 ? -1 : size++;
  rows.indexOf.clear();
  for (let row = 0; row < rows.size; row++) {
    const at = newIndex[row] as number;
    if (at === -1) continue;
    for (const values of [rows.offers, rows.places, rows.atMs, rows.delaysMs, rows.ids])
      values[at] = values[row] as number;
    rows.weights[at] = (rows.weights[row] as number) * (factors[row] as number);
    rows.indexOf.set(rows.ids[at] as number, at);
  }
  rows.size = size;
  for (const column of rows.columns.values()) keepCells(column, newIndex);
}

function keepCells(column: Column, newIndex: Int32Array): void {
  let size = 0;
  for (let at = 0; at < column.size; at++) {
    const row = newIndex[column.rows[at] as number] as number;
    if (row === -1) continue;
    column.rows[size] = row;
    column.values[size] = column.values[at] as number;
    column.cells[size] = column.cells[at] as number;
    size += 1;
  }
  column.size = size;
  column.checkedSize = Math.min(column.checkedSize, size);
}
