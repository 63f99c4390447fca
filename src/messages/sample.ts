import type { MessagePerk } from '../perks/perk-messages.ts';
import { dayMs } from '../platform/lib/time.ts';

/** Returns sample perks for previews and tests: one with a code and all notes, and one without. */
export const samplePerks = (publicUrl: string, nowMs: number): MessagePerk[] => [
  {
    title: '20% off your first order',
    description: 'Fresh coffee, roasted on the day it is sent. Free delivery from three bags on.',
    advertiser: 'Example Roasters',
    url: publicUrl,
    coupon: { code: 'SAMPLE-2031', expires_at: new Date(nowMs + 30 * dayMs).toISOString(), terms: 'Once per person.' },
  },
  {
    title: 'A month of films for free',
    description: 'No card needed, and it ends by itself.',
    advertiser: 'Example Cinema',
    url: publicUrl,
  },
];
