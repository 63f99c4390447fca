/** Takes members out by their score, highest first; equal scores in the order given. Only what is taken is sorted. */
export class Heap {
  readonly #scores: Float64Array;
  readonly #order: Int32Array;
  #size: number;

  /** @param scores of the members 0, 1, …; not changed while the heap is in use */
  constructor(scores: Float64Array) {
    this.#scores = scores;
    this.#size = scores.length;
    this.#order = new Int32Array(this.#size);
    for (let at = 0; at < this.#size; at++) this.#order[at] = at;
    for (let at = (this.#size >>> 1) - 1; at >= 0; at--) this.#sink(at);
  }

  /** The next member, or -1. */
  take(): number {
    if (this.#size === 0) return -1;
    const first = this.#order[0] as number;
    this.#size -= 1;
    this.#order[0] = this.#order[this.#size] as number;
    this.#sink(0);
    return first;
  }

  #sink(from: number): void {
    const order = this.#order;
    const moved = order[from] as number;
    let at = from;
    for (let child = 2 * at + 1; child < this.#size; child = 2 * at + 1) {
      if (child + 1 < this.#size && this.#isBefore(order[child + 1] as number, order[child] as number)) child += 1;
      if (!this.#isBefore(order[child] as number, moved)) break;
      order[at] = order[child] as number;
      at = child;
    }
    order[at] = moved;
  }

  #isBefore(a: number, b: number): boolean {
    const difference = (this.#scores[a] as number) - (this.#scores[b] as number);
    return difference > 0 || (difference === 0 && a < b);
  }
}
