import type { Block, Rows } from './rows.ts';

/** Working arrays of a fit, indexed by row. */
export type Work = {
  logits: Float64Array;
  /**
   * First derivative of the log likelihood with respect to the logit, for each row. `infos` is the Fisher information.
   */
  residuals: Float64Array;
  infos: Float64Array;
  /** Share of a row's successes that would be known by now. */
  shares: Float64Array;
  buckets: Int32Array;
};

/** Prior variance for which the combined evidence of all attributes is computed. */
const usualVariance = 0.03;

/**
 * Rows of a block and the cells they belong to. If `rows` is null, the block has all rows. If `cells` is null, all rows
 * are in one cell.
 */
export type Members = { size: number; rows: Int32Array | null; cells: Int32Array | null };

/**
 * Chooses the prior variance of a block by evidence, then takes one Newton step for all of its cells.
 * @returns log evidence for the usual variance compared with no effect
 */
export function step(
  rows: Rows,
  work: Work,
  members: Members,
  block: Block,
  variances: readonly number[] | null,
  penalty = 0,
): number {
  const { means, infos } = block;
  const { residuals, infos: rowInfos } = work;
  const gradients = new Float64Array(means.length);
  infos.fill(0);
  for (let at = 0; at < members.size; at++) {
    const row = members.rows === null ? at : (members.rows[at] as number);
    const cell = members.cells === null ? 0 : (members.cells[at] as number);
    gradients[cell] = (gradients[cell] as number) + (residuals[row] as number);
    infos[cell] = (infos[cell] as number) + (rowInfos[row] as number);
  }
  const evidence = evidenceOf(block, gradients, usualVariance);
  if (variances !== null) block.variance = bestVariance(block, gradients, variances, penalty);
  const moves = gradients;
  let furthest = 0;
  for (let cell = 0; cell < means.length; cell++) {
    const mean = means[cell] as number;
    const target =
      block.variance === 0
        ? 0
        : mean + ((gradients[cell] as number) - mean / block.variance) / ((infos[cell] as number) + 1 / block.variance);
    const move = Math.max(-1, Math.min(1, target - mean));
    moves[cell] = move;
    means[cell] = mean + move;
    furthest = Math.max(furthest, Math.abs(move));
  }
  if (furthest > 0) moveRows(rows, work, members, moves, furthest > 0.3);
  return evidence;
}

/** Adds the steps of the cells to the logits of their rows. After long steps, the residuals are recomputed exactly. */
function moveRows(rows: Rows, work: Work, members: Members, moves: Float64Array, isLong: boolean): void {
  const { logits, residuals, infos } = work;
  for (let at = 0; at < members.size; at++) {
    const row = members.rows === null ? at : (members.rows[at] as number);
    const move = moves[members.cells === null ? 0 : (members.cells[at] as number)] as number;
    logits[row] = (logits[row] as number) + move;
    if (!isLong) residuals[row] = (residuals[row] as number) - (infos[row] as number) * move;
    else if (move !== 0) computeResiduals(rows, work, row, row + 1);
  }
}

/** Returns the variance with the highest evidence (MacKay). */
function bestVariance(block: Block, gradients: Float64Array, variances: readonly number[], penalty: number): number {
  let [best, highest] = [block.variance, Number.NEGATIVE_INFINITY];
  for (const tried of variances) {
    const evidence = tried === 0 ? penalty : evidenceOf(block, gradients, tried);
    if (evidence > highest) [best, highest] = [tried, evidence];
  }
  return best;
}

/**
 * Returns the log evidence for a variance compared with no effect, using a quadratic approximation around the current
 * means.
 */
function evidenceOf({ means, infos }: Block, gradients: Float64Array, variance: number): number {
  let evidence = 0;
  for (let cell = 0; cell < means.length; cell++) {
    const info = infos[cell] as number;
    if (info === 0) continue;
    const score = (gradients[cell] as number) + info * (means[cell] as number);
    evidence += (score * score * variance) / (2 * (1 + info * variance)) - Math.log1p(info * variance) / 2;
  }
  return evidence;
}

export function computeResiduals({ delaysMs, weights }: Rows, work: Work, from: number, to: number): void {
  const { logits, residuals, infos, shares } = work;
  for (let row = from; row < to; row++) {
    const rate = 1 / (1 + Math.exp(-(logits[row] as number)));
    const share = shares[row] as number;
    const weight = weights[row] as number;
    const missing = (share * rate * (1 - rate)) / (1 - rate * share + 1e-12);
    residuals[row] = weight * ((delaysMs[row] as number) >= 0 ? 1 - rate : -missing);
    infos[row] = weight * missing * (1 - rate);
  }
}
