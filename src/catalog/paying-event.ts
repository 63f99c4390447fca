import type { PayoutKind } from './rules.ts';

/** Events that campaigns pay for; reservations store the place in this list. */
export const payingEvents = ['impression', 'click', 'conversion'] as const;

export type PayingEvent = (typeof payingEvents)[number];

/** Event that a campaign pays for. */
export const payingEventOf = (payout: PayoutKind): PayingEvent => {
  if (payout === 'cpm') return 'impression';
  return payout === 'cpc' ? 'click' : 'conversion';
};
