import type { PayoutKind } from './rules.ts';

/** Events that campaigns pay for. Reservations store their index in this list. */
export const payingEvents = ['impression', 'click', 'conversion'] as const;

export type PayingEvent = (typeof payingEvents)[number];

/** Returns the event that a payout pays for. */
export const payingEventOf = (payout: PayoutKind): PayingEvent => {
  if (payout === 'cpm') return 'impression';
  return payout === 'cpc' ? 'click' : 'conversion';
};
