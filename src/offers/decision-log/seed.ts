import type { Offer } from '../../catalog/snapshot/types.ts';

/** The seed of a session's decision: the last 32 of the random bits of its id. */
export const seedOf = (sessionId: string): number => Number.parseInt(sessionId.slice(28), 16);

/** The decided offers with the one first whose link led to the offerwall, if it is among them. */
export function withLinkedFirst<Shown extends { offer: Offer }>(
  shown: readonly Shown[],
  linkedOfferId: number | null,
): readonly Shown[] {
  const linked = shown.find(({ offer }) => offer.id === linkedOfferId);
  return linked === undefined ? shown : [linked, ...shown.filter((one) => one !== linked)];
}
