import { hash } from 'node:crypto';
import { isOwnKind, type OwnKind } from '../../catalog/event-kinds.ts';
import type { CapEvent } from '../../catalog/rules.ts';
import { writeUuid } from '../../platform/lib/uuid7.ts';
import type { Exposure, ExposureEvent } from '../caps.ts';

/*
 * A user's history is stored as a sequence of records of equal length, so that an event or fetch can append a record
 * without reading the others (docs/adr/0005-caps-by-reservation.md). A record contains the event code (1 byte), the IDs
 * of the offer, campaign and advertiser (4 bytes each), the time in epoch milliseconds (6 bytes), a count (4 bytes),
 * and the last 8 bytes of the session ID. These bytes are random. Together with the offer, they identify the
 * reservation that an impression settles. An own event settles no reservation, so its record contains the first 8 bytes
 * of a hash of its name instead.
 */

/** Lifetime of an impression reservation, in milliseconds. A reservation ends earlier if the impression is recorded. */
export const reservationMs = 60_000;

/** Stored event codes, which must never be reassigned. Code 0 is an impression reserved for a served offer. */
const codes: Record<Exclude<CapEvent, OwnKind>, number> = { impression: 1, click: 2, no_thanks: 3, conversion: 4 };
const reservedCode = 0;
const ownCode = 5;
const eventOf = new Map(Object.entries(codes).map(([event, code]) => [code, event as keyof typeof codes]));

export const recordBytes = 31;
const offsets = { offer: 1, campaign: 5, advertiser: 9, atMs: 13, count: 19, session: 23 };

const noSession = Buffer.alloc(recordBytes - offsets.session);
const uuid = Buffer.alloc(16);

function writeRecord(code: number, exposure: Exposure, session: Uint8Array): Buffer {
  const bytes = Buffer.allocUnsafe(recordBytes);
  bytes.writeUInt8(code, 0);
  bytes.writeInt32BE(exposure.offerId, offsets.offer);
  bytes.writeInt32BE(exposure.campaignId, offsets.campaign);
  bytes.writeInt32BE(exposure.advertiserId, offsets.advertiser);
  bytes.writeUIntBE(Math.floor(exposure.atMs), offsets.atMs, 6);
  bytes.writeUInt32BE(exposure.count ?? 1, offsets.count);
  bytes.set(session, offsets.session);
  return bytes;
}

/** Returns the last 8 bytes of a session ID. The buffer is overwritten by the next call. */
function tailOf(sessionId: string): Uint8Array {
  writeUuid(sessionId, uuid, 0);
  return uuid.subarray(-noSession.length);
}

/** Cached hashes of the own events that caps count. There are only a few per campaign with such caps. */
const knownOwn = new Map<OwnKind, ExposureEvent>();
const maxKnownOwn = 10_000;

/** Returns the name of an event in user histories. */
export function exposureEvent(event: CapEvent): ExposureEvent {
  if (!isOwnKind(event)) return event;
  let eventName = knownOwn.get(event);
  if (eventName === undefined) {
    eventName = `${ownPrefix}${hash('sha256', event, 'hex').slice(0, 2 * noSession.length)}`;
    if (knownOwn.size >= maxKnownOwn) knownOwn.clear();
    knownOwn.set(event, eventName);
  }
  return eventName;
}

const ownPrefix = 'own#';
const isOwn = (event: ExposureEvent): event is `own#${string}` => event.startsWith(ownPrefix);

/**
 * Encodes an event as a history record.
 * @param sessionId session whose reservation the event settles, or null if there is nothing to settle
 */
export const exposureRecord = (exposure: Exposure, sessionId: string | null): Buffer =>
  isOwn(exposure.event)
    ? writeRecord(ownCode, exposure, Buffer.from(exposure.event.slice(ownPrefix.length), 'hex'))
    : writeRecord(codes[exposure.event], exposure, sessionId === null ? noSession : tailOf(sessionId));

/** Returns the start of a record, which does not depend on whether its session was settled. */
export const withoutSession = (record: Buffer): Buffer => record.subarray(0, offsets.session);

/** Encodes the reservation of an impression as a history record. */
export const reservedRecord = (exposure: Exposure, sessionId: string): Buffer =>
  writeRecord(reservedCode, exposure, tailOf(sessionId));

/** Reserved impression that has not been recorded yet, with its record. */
export type Reserved = { exposure: Exposure; record: Buffer };

export type StoredHistory = {
  exposures: Exposure[];
  reserved: Reserved[];
  /** Number of settled or expired reservation records. */
  stale: number;
};

/**
 * Decodes the records of a history.
 * @param storedUntilMs time in epoch milliseconds; reservations made more than a minute before it have expired
 */
export function readRecords(bytes: Buffer, storedUntilMs: number): StoredHistory {
  const exposures: Exposure[] = [];
  const open: Reserved[] = [];
  const settled = new Set<string>();
  const count = Math.floor(bytes.length / recordBytes);
  for (let index = 0; index < count; index += 1) {
    const record = bytes.subarray(index * recordBytes, (index + 1) * recordBytes);
    const code = record.readUInt8(0);
    const exposure = readExposure(record, code === ownCode ? ownEventOf(record) : (eventOf.get(code) ?? 'impression'));
    if (code !== reservedCode) {
      exposures.push(exposure);
      if (code === codes.impression) settled.add(settlingKey(record, exposure));
    } else if (exposure.atMs + reservationMs > storedUntilMs) open.push({ exposure, record });
  }
  const reserved = open.filter(({ record, exposure }) => !settled.has(settlingKey(record, exposure)));
  return { exposures, reserved, stale: count - exposures.length - reserved.length };
}

const settlingKey = (record: Buffer, { offerId }: Exposure): string =>
  `${record.toString('latin1', offsets.session)} ${offerId}`;

const ownEventOf = (record: Buffer): ExposureEvent => `${ownPrefix}${record.toString('hex', offsets.session)}`;

function readExposure(record: Buffer, event: ExposureEvent): Exposure {
  const count = record.readUInt32BE(offsets.count);
  return {
    event,
    offerId: record.readInt32BE(offsets.offer),
    campaignId: record.readInt32BE(offsets.campaign),
    advertiserId: record.readInt32BE(offsets.advertiser),
    atMs: record.readUIntBE(offsets.atMs, 6),
    ...(count === 1 ? {} : { count }),
  };
}
