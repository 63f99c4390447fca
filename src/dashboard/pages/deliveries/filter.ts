import type { Publisher } from '../../../catalog/snapshot/types.ts';
import { isUuid7 } from '../../../platform/lib/uuid7.ts';
import { type DeliveryFilter, deliveryStatuses } from '../../../webhooks/deliveries/filter.ts';
import type { EventTypes } from '../../../webhooks/events.ts';
import type { Problems } from '../../shell/forms.ts';
import { localToInstant } from '../../shell/local-time.ts';

export const filterNames = ['status', 'event', 'from', 'to', 'pub_user_id', 'session_id'] as const;

/** The filter as it is typed; times are in the publisher's zone. */
export type AskedDeliveries = Partial<Record<(typeof filterNames)[number], string>>;

/** The filter to look with; what is wrong in it is left out and named. */
export function readAsked(
  asked: AskedDeliveries,
  { id, timeZone }: Publisher,
  nowMs: number,
  events: EventTypes,
): { filter: DeliveryFilter; problems: Problems } {
  const problems: { path: string; message: string }[] = [];
  const { status = '', event = '', pub_user_id: pubUserId = '', session_id: sessionId = '' } = asked;
  const time = (name: 'from' | 'to'): number | null => {
    const text = asked[name] ?? '';
    if (text === '') return null;
    const atMs = Date.parse(localToInstant(text, timeZone));
    if (Number.isNaN(atMs)) problems.push({ path: `/${name}`, message: 'is no time' });
    return Number.isNaN(atMs) ? null : Math.min(Math.max(atMs, 0), nowMs + 86_400_000);
  };
  const known = deliveryStatuses.find((one) => one === status) ?? null;
  const session = sessionId.toLowerCase();
  if (session !== '' && !isUuid7(session)) problems.push({ path: '/session_id', message: 'is no session id' });
  return {
    filter: {
      publisherId: id,
      event: events.has(event) ? event : null,
      endpointId: null,
      statuses: known === null ? null : [known],
      fromMs: time('from'),
      toMs: time('to'),
      sessionId: isUuid7(session) ? session : null,
      pubUserId: pubUserId === '' ? null : pubUserId.replaceAll('\0', '').toWellFormed().slice(0, 256),
    },
    problems,
  };
}
