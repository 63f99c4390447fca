/** The best draws, at most `limit`: the highest score first; of equal scores the lower member. */
export type Top = {
  readonly limit: number;
  readonly after: Draw;
  scores: number[];
  members: number[];
};

type Draw = { score: number; member: number };

/** @param after only what ranks after it is added */
export const createTop = (limit: number, after: Draw): Top => ({ limit, after, scores: [], members: [] });

/** Whether the list is full, and all of it ranks before a draw. */
export function isFullAbove({ limit, scores, members }: Top, score: number, member: number): boolean {
  if (scores.length < limit) return false;
  const lowest = scores[limit - 1] as number;
  return score < lowest || (score === lowest && member > (members[limit - 1] as number));
}

export function add(top: Top, score: number, member: number): void {
  const { limit, after, scores, members } = top;
  if (score > after.score || (score === after.score && member <= after.member) || isFullAbove(top, score, member))
    return;
  let at = Math.min(scores.length, limit - 1);
  for (; at > 0 && isBefore(score, member, scores[at - 1] as number, members[at - 1] as number); at--) {
    scores[at] = scores[at - 1] as number;
    members[at] = members[at - 1] as number;
  }
  scores[at] = score;
  members[at] = member;
}

const isBefore = (score: number, member: number, otherScore: number, other: number): boolean =>
  score > otherScore || (score === otherScore && member < other);
