import type { EventType } from './events.ts';

/** Groups of events in the order of the catalogue. */
export const eventGroups = ['users', 'endpoints', 'campaigns', 'approvals', 'others'] as const;
export type EventGroup = (typeof eventGroups)[number];

/** First parts of the event names that belong to a group. */
const prefixesOf: Readonly<Partial<Record<EventGroup, readonly string[]>>> = {
  endpoints: ['endpoint', 'delivery'],
  campaigns: ['campaign', 'offer'],
  approvals: ['draft', 'audit'],
};

/** Returns the group of an event. Operational events are grouped by the first part of their name. */
export function eventGroupOf({ name, isOperational }: EventType): EventGroup {
  if (isOperational === undefined) return 'users';
  const [word = ''] = name.split('.');
  return eventGroups.find((group) => prefixesOf[group]?.includes(word)) ?? 'others';
}
