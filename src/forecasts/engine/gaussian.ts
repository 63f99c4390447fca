/** Symmetric or lower triangular matrix, row by row. */
export type Matrix = readonly Float64Array[];

export const matrixOf = (rows: number, columns: number, valueAt: (row: number, column: number) => number): Matrix =>
  Array.from({ length: rows }, (_, row) => Float64Array.from({ length: columns }, (_, column) => valueAt(row, column)));

/** Smallest pivot, so that rounding errors of a nearly singular matrix have no effect. */
const leastPivot = 1e-10;

/** Returns the lower triangular factor of a covariance matrix (Cholesky). Reads only its lower triangle. */
export function factorOf(covariance: Matrix): Matrix {
  const factor = covariance.map(({ length }) => new Float64Array(length));
  for (const [row, values] of covariance.entries()) {
    const own = factor[row] as Float64Array;
    for (let column = 0; column <= row; column++) {
      const other = factor[column] as Float64Array;
      let rest = values[column] as number;
      for (let at = 0; at < column; at++) rest -= (own[at] as number) * (other[at] as number);
      own[column] = column === row ? Math.sqrt(Math.max(leastPivot, rest)) : rest / (other[column] as number);
    }
  }
  return factor;
}

/** Returns x with `factor x = values`. */
export function solve(factor: Matrix, values: Float64Array): Float64Array {
  const solution = values.slice();
  for (const [row, own] of factor.entries()) {
    let rest = solution[row] as number;
    for (let at = 0; at < row; at++) rest -= (own[at] as number) * (solution[at] as number);
    solution[row] = rest / (own[row] as number);
  }
  return solution;
}

export function product(a: Float64Array, b: Float64Array): number {
  let sum = 0;
  for (const [at, value] of a.entries()) sum += value * (b[at] as number);
  return sum;
}
