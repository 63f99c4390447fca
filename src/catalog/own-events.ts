import { Type } from '@sinclair/typebox';
import { problem } from '../management/schema-errors.ts';
import type { Campaign, Publisher } from './types.ts';

/** Of an offer: those of the publisher first, then those of the advertiser (count). */
const maxOwnEvents = 20;

/** Path of the beacon; the event is its parameter `name`. */
export const ownEventPath = '/event/record/own';

export const ownEventsField = (description: string) =>
  Type.Array(
    Type.String({
      pattern: '^[a-z0-9][a-z0-9_-]{0,39}$',
      [problem]: 'must have 1 to 40 lower-case letters, digits, hyphens and underscores',
    }),
    { maxItems: maxOwnEvents, uniqueItems: true, default: [], description },
  );

/** The own events of a campaign's offers at a publisher. */
export function ownEventsOf(
  { ownEvents }: Pick<Publisher, 'ownEvents'>,
  { advertiserEvents }: Pick<Campaign, 'advertiserEvents'>,
): readonly string[] {
  if (advertiserEvents.length === 0) return ownEvents;
  return [...new Set([...ownEvents, ...advertiserEvents])].slice(0, maxOwnEvents);
}
