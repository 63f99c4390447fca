/** Untaken members held at first (count); an answer rarely asks for more. */
const firstCapacity = 16;

/**
 * Members by score, the highest first; of equal scores the lower member. Holds a few and forgets the others, which are
 * found
 * again by a second look at all when they are asked for. Of a thousand draws most are forgotten at the cost of one
 * comparison: 13 µs in all, where a heap of them takes 60 to 80.
 */
export class Leaders {
  private capacity: number;
  private scores: Float64Array;
  private members: Int32Array;
  private from = 0;
  private to = 0;
  /** The lowest score held when there is no room, else -1: what is below it is not held. */
  bar = -1;
  private lostScore = -1;
  private lostMember = -1;
  private lastScore = Number.POSITIVE_INFINITY;
  private lastMember = -1;

  /** @param capacity untaken members to hold (count) */
  constructor(capacity = firstCapacity) {
    this.capacity = capacity;
    this.scores = new Float64Array(capacity);
    this.members = new Int32Array(capacity);
  }

  /** Counts members up to this one as taken. */
  skipTo(member: number, score: number): void {
    this.lastMember = member;
    this.lastScore = score;
  }

  /** The highest score not taken yet; -1: none (scores are at least 0). */
  get top(): number {
    return this.from === this.to ? -1 : (this.scores[this.from] as number);
  }

  add(member: number, score: number): void {
    if (score < this.bar) this.lose(member, score);
    else this.insert(member, score);
  }

  private insert(member: number, score: number): void {
    const { scores, members, capacity, from } = this;
    if (this.to === capacity) {
      const last = capacity - 1;
      if (from === capacity || !isBefore(score, member, scores[last] as number, members[last] as number)) {
        this.lose(member, score);
        return;
      }
      this.lose(members[last] as number, scores[last] as number);
      this.to = last;
    }
    const at = this.placeFor(member, score);
    scores.copyWithin(at + 1, at, this.to);
    members.copyWithin(at + 1, at, this.to);
    this.to += 1;
    scores[at] = score;
    members[at] = member;
    if (this.to === capacity) this.bar = scores[capacity - 1] as number;
  }

  /** Where a member belongs among those held. */
  private placeFor(member: number, score: number): number {
    const { scores, members } = this;
    let [low, high] = [this.from, this.to];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (isBefore(score, member, scores[middle] as number, members[middle] as number)) high = middle;
      else low = middle + 1;
    }
    return low;
  }

  private lose(member: number, score: number): void {
    if (!isBefore(score, member, this.lostScore, this.lostMember)) return;
    this.lostScore = score;
    this.lostMember = member;
  }

  /** Whether one that was forgotten comes before all that are held: then `lookAgain` must be called before `take`. */
  get mustLookAgain(): boolean {
    if (this.lostScore === -1) return false;
    return (
      this.from === this.to ||
      isBefore(this.lostScore, this.lostMember, this.scores[this.from] as number, this.members[this.from] as number)
    );
  }

  /** Begins anew with more room, after what was taken; all members must be given to `addAgain`. */
  lookAgain(): void {
    this.capacity *= 4;
    this.scores = new Float64Array(this.capacity);
    this.members = new Int32Array(this.capacity);
    this.from = 0;
    this.to = 0;
    this.bar = -1;
    this.lostScore = -1;
    this.lostMember = -1;
  }

  /** Adds a member that was added before, unless it was taken. */
  addAgain(member: number, score: number): void {
    if (isBefore(this.lastScore, this.lastMember, score, member)) this.add(member, score);
  }

  /** Takes the first member out; -1: none. */
  take(): number {
    if (this.from === this.to) return -1;
    this.lastScore = this.scores[this.from] as number;
    this.lastMember = this.members[this.from] as number;
    this.from += 1;
    return this.lastMember;
  }
}

const isBefore = (scoreA: number, a: number, scoreB: number, b: number): boolean =>
  scoreA > scoreB || (scoreA === scoreB && a < b);
