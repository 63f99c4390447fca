import { AppError } from '../../platform/errors.ts';
import { dayMs } from '../../platform/lib/time.ts';
import { isUuid7, readUuid, writeUuid } from '../../platform/lib/uuid7.ts';
import { type DeliveryFilter, type DeliveryStatus, isDeliveryId } from './filter.ts';

type Asked = { event?: string; from?: string; to?: string; session_id?: string; pub_user_id?: string };

type Narrowed = { endpointId: number | null; statuses: readonly DeliveryStatus[] | null };

/**
 * What a caller asked for, within its publisher.
 * @throws AppError `invalid_request` for a session or a time that cannot be
 */
export function readFilter(
  asked: Asked,
  { endpointId, statuses }: Narrowed,
  publisherId: number,
  nowMs: number,
): DeliveryFilter {
  const sessionId = asked.session_id?.toLowerCase() ?? null;
  if (sessionId !== null && !isUuid7(sessionId)) throw invalid('/session_id', 'must be a session_id');
  return {
    publisherId,
    event: asked.event ?? null,
    endpointId,
    statuses: statuses === null ? null : [...statuses].sort(),
    fromMs: asked.from === undefined ? null : timeOf('/from', asked.from, nowMs),
    toMs: asked.to === undefined ? null : timeOf('/to', asked.to, nowMs),
    sessionId,
    pubUserId: asked.pub_user_id?.toWellFormed().trim() ?? null,
  };
}

/** Kept between the epoch and tomorrow, where all deliveries are. */
function timeOf(path: string, text: string, nowMs: number): number {
  const timeMs = Date.parse(text);
  if (Number.isNaN(timeMs) || !isDay(text.slice(0, 10))) throw invalid(path, 'must be a time');
  return Math.min(Math.max(timeMs, 0), nowMs + dayMs);
}

/** Whether a day is in the calendar: a 30th of February would be read as one of March. */
const isDay = (day: string): boolean => new Date(Date.parse(day)).toISOString().startsWith(day);

const invalid = (path: string, message: string): AppError =>
  new AppError('invalid_request', { details: [{ path, message }] });

/**
 * The id of a delivery as it is in a path: a UUID, or the `webhook-id` of its attempts; null when there can be no such
 * delivery.
 */
export function readDeliveryId(text: string, nowMs: number): string | null {
  const lower = text.toLowerCase();
  const hex = /^msg_([0-9a-f]{32})$/.exec(lower)?.[1];
  const id = hex === undefined ? lower : readUuid(Buffer.from(hex, 'hex'), 0);
  return isDeliveryId(id, nowMs) ? id : null;
}

/** A place in the log: the id of the last delivery looked at. */
export function writeCursor(id: string): string {
  const bytes = Buffer.alloc(16);
  writeUuid(id, bytes, 0);
  return bytes.toString('base64url');
}

/** @throws AppError `invalid_request` for anything but a cursor of ours */
export function readCursor(text: string, nowMs: number): string {
  const bytes = Buffer.from(text, 'base64url');
  const id = bytes.length === 16 && bytes.toString('base64url') === text ? readUuid(bytes, 0) : '';
  if (!isDeliveryId(id, nowMs)) throw invalid('/querystring/cursor', 'must be the next_cursor of a page');
  return id;
}
