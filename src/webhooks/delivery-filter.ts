import { AppError } from '../platform/errors.ts';
import { dayMs } from '../platform/lib/time.ts';
import { isPossibleUuid7, isUuid7, readUuid } from '../platform/lib/uuid7.ts';
import { type Problem, problem } from '../platform/problem.ts';
import type { DeliveryFilter, DeliveryStatus } from './deliveries/filter.ts';

type FilterFields = { event?: string; from?: string; to?: string; session_id?: string; pub_user_id?: string };

type Scope = { endpointId: number | null; statuses: readonly DeliveryStatus[] | null };

/**
 * Reads the delivery filter of a request, limited to the caller's publisher.
 * @throws AppError `invalid_request` for an invalid session or time
 */
export function readFilter(
  fields: FilterFields,
  { endpointId, statuses }: Scope,
  publisherId: number,
  nowMs: number,
): DeliveryFilter {
  const sessionId = fields.session_id?.toLowerCase() ?? null;
  if (sessionId !== null && !isUuid7(sessionId)) throw invalid('/session_id', problem('sessionId'));
  return {
    publisherId,
    event: fields.event ?? null,
    endpointId,
    statuses: statuses === null ? null : [...statuses].sort(),
    fromMs: fields.from === undefined ? null : timeOf('/from', fields.from, nowMs),
    toMs: fields.to === undefined ? null : timeOf('/to', fields.to, nowMs),
    sessionId,
    pubUserId: fields.pub_user_id?.toWellFormed().trim() ?? null,
  };
}

/** Parses a time and clamps it to the range from the epoch to tomorrow, which contains all deliveries. */
function timeOf(path: string, text: string, nowMs: number): number {
  const timeMs = Date.parse(text);
  if (Number.isNaN(timeMs) || !isDay(text.slice(0, 10))) throw invalid(path, problem('aTime'));
  return Math.min(Math.max(timeMs, 0), nowMs + dayMs);
}

/** Whether a day exists. The comparison is needed because `Date.parse` accepts 30 February as a day in March. */
const isDay = (day: string): boolean => new Date(Date.parse(day)).toISOString().startsWith(day);

const invalid = (path: string, message: Problem): AppError =>
  new AppError('invalid_request', { details: [{ path, message }] });

/**
 * Parses the delivery ID in a path, which is a UUID or the `webhook-id` of the delivery's attempts. Returns null if no
 * delivery can have this ID.
 */
export function readDeliveryId(text: string, nowMs: number): string | null {
  const lower = text.toLowerCase();
  const hex = /^msg_([0-9a-f]{32})$/.exec(lower)?.[1];
  const id = hex === undefined ? lower : readUuid(Buffer.from(hex, 'hex'), 0);
  return isPossibleUuid7(id, nowMs) ? id : null;
}
