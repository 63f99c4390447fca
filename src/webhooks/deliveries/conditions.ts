import { dayOfUuid7 } from '../../platform/lib/uuid7.ts';
import { type DeliveryFilter, isUndeliveredOnly } from './filter.ts';

/** Parameters of an SQL statement. `add` adds a value and returns its placeholder. */
export type Parameters = { values: unknown[]; add: (value: unknown) => string };

export function createParameters(): Parameters {
  const values: unknown[] = [];
  return { values, add: (value) => `$${values.push(value)}` };
}

/**
 * Returns SQL conditions on `webhook_endpoints e` that select the endpoints to which matching deliveries may belong.
 */
export const endpointConditions = (
  { publisherId, event, endpointId }: { publisherId: number; event: string | null; endpointId: number | null },
  { add }: Parameters,
): string[] => [
  `e.publisher_id = ${add(publisherId)}`,
  ...(event === null ? [] : [`(e.event = ${add(event)} or e.event is null)`]),
  ...(endpointId === null ? [] : [`e.id = ${add(endpointId)}`]),
];

/** Returns the SQL condition on `deliveries d` for the event filter. */
export const eventConditions = ({ event }: DeliveryFilter, { add }: Parameters): string[] =>
  event === null ? [] : [`d.event = ${add(event)}`];

/** Returns the SQL conditions on `deliveries d` for the event and endpoint filters. */
export const targetConditions = (filter: DeliveryFilter, parameters: Parameters): string[] => [
  ...eventConditions(filter, parameters),
  ...(filter.endpointId === null ? [] : [`d.endpoint_id = ${parameters.add(filter.endpointId)}`]),
];

/** Returns the SQL conditions on `deliveries d` for the publisher, session and user filters. */
export const userConditions = (
  { publisherId, sessionId, pubUserId }: DeliveryFilter,
  { add }: Parameters,
): string[] => [
  `d.publisher_id = ${add(publisherId)}`,
  ...(sessionId === null ? [] : [`d.session_id = ${add(sessionId)}::uuid`]),
  ...(pubUserId === null ? [] : [`d.pub_user_id = ${add(pubUserId)}`]),
];

export const statusConditions = ({ statuses }: DeliveryFilter, { add }: Parameters): string[] =>
  statuses === null ? [] : [`d.status = any(${add(statuses)}::text[])`];

/** Returns an SQL condition that lets the planner use the partial index on failed and held deliveries. */
export const undeliveredConditions = (filter: DeliveryFilter): string[] =>
  isUndeliveredOnly(filter) ? ['d.undelivered'] : [];

/** Exclusive bounds of a list query, as delivery IDs. */
export type Bounds = { above: string | null; below: string | null };

/**
 * Returns the SQL conditions for a time range. A delivery ID contains its creation time, so each bound limits both the
 * day and the ID.
 */
export function rangeConditions(
  { fromMs, toMs }: DeliveryFilter,
  { above, below }: Bounds,
  { add }: Parameters,
): string[] {
  const lower = [above, fromMs === null ? null : boundaryId(fromMs - 1, 'f')].filter((id) => id !== null);
  const upper = [below, toMs === null ? null : boundaryId(toMs, '0')].filter((id) => id !== null);
  const from = lower.sort().at(-1);
  const to = upper.sort()[0];
  return [
    ...(from === undefined ? [] : [`d.day >= ${add(dayOfUuid7(from))}::date`, `d.id > ${add(from)}::uuid`]),
    ...(to === undefined ? [] : [`d.day <= ${add(dayOfUuid7(to))}::date`, `d.id < ${add(to)}::uuid`]),
  ];
}

/**
 * Returns the lowest (`0`) or highest (`f`) UUID for a millisecond. All IDs created in that millisecond lie between the
 * two.
 */
function boundaryId(timeMs: number, digit: '0' | 'f'): string {
  const hex = Math.max(0, timeMs).toString(16).padStart(12, '0') + digit.repeat(20);
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}
