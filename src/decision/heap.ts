/** Members with their scores, the highest first; of equal scores the lower member. */
export class Heap {
  readonly #members: number[] = [];
  readonly #scores: number[] = [];

  /** The highest score in it; -1 when it is empty (scores are at least 0). */
  get top(): number {
    return this.#scores[0] ?? -1;
  }

  add(member: number, score: number): void {
    let at = this.#members.length;
    while (at > 0) {
      const parent = (at - 1) >>> 1;
      if (!isBefore(score, member, this.#scores[parent] as number, this.#members[parent] as number)) break;
      this.#move(parent, at);
      at = parent;
    }
    this.#members[at] = member;
    this.#scores[at] = score;
  }

  /** Takes the first member out; -1: none. */
  take(): number {
    const first = this.#members[0];
    if (first === undefined) return -1;
    const member = this.#members.pop() as number;
    const score = this.#scores.pop() as number;
    const size = this.#members.length;
    if (size === 0) return first;
    let at = 0;
    for (let child = 1; child < size; child = 2 * at + 1) {
      if (child + 1 < size && this.#isBefore(child + 1, child)) child += 1;
      if (!isBefore(this.#scores[child] as number, this.#members[child] as number, score, member)) break;
      this.#move(child, at);
      at = child;
    }
    this.#members[at] = member;
    this.#scores[at] = score;
    return first;
  }

  #move(from: number, to: number): void {
    this.#members[to] = this.#members[from] as number;
    this.#scores[to] = this.#scores[from] as number;
  }

  #isBefore(a: number, b: number): boolean {
    return isBefore(this.#scores[a] as number, this.#members[a] as number, this.#scores[b] as number, this.#members[b] as number);
  }
}

const isBefore = (scoreA: number, a: number, scoreB: number, b: number): boolean => scoreA > scoreB || (scoreA === scoreB && a < b);
