import { expect, test } from 'vitest';
import {
  decodeMessage,
  encodeMessage,
  LaterVersionError,
  UnreadableMessageError,
} from '../../src/event-log/message.ts';
import { trackedEvent } from '../tracking/journey.ts';

const event = trackedEvent();
const textOf = (change: object): Buffer => Buffer.from(JSON.stringify({ version: 1, events: [event], ...change }));

test('a decoded message contains the events that were encoded', () => {
  const events = [event, { ...trackedEvent(undefined, 'no_thanks'), optOutDays: null }];
  expect(decodeMessage(encodeMessage(events))).toEqual(events);
  expect(decodeMessage(encodeMessage([]))).toEqual([]);
});

test.each([
  ['malformed JSON', Buffer.from('{')],
  ['a number instead of an object', Buffer.from('7')],
  ['a message without a version', textOf({ version: undefined })],
  ['an unknown event kind', textOf({ events: [{ ...event, kind: 'conversion' }] })],
  ['an invalid session ID', textOf({ events: [{ ...event, sessionId: "'; drop table events" }] })],
  [
    'a number that is too large for its column',
    textOf({ events: [{ ...event, claims: { ...event.claims, offerId: 2 ** 40 } }] }),
  ],
])('%s is rejected', (_, data) => {
  expect(() => decodeMessage(data)).toThrow(UnreadableMessageError);
});

test('a message of a later version is distinguished from a broken one', () => {
  expect(() => decodeMessage(textOf({ version: 2, events: 'compact' }))).toThrow(LaterVersionError);
});

test('a message in the format of the first version can be read', () => {
  const sessionId = '019aa8f4-5b00-7000-8000-000000000001';
  const claims = { publisherId: 1, sessionId, offerId: 2, campaignId: 3, position: 1, dev: false };
  const first = { kind: 'no_thanks', claims, sessionId, atMs: 1_763_800_000_000, suspicious: null, revenueMicros: 0 };
  const written =
    '{"version":1,"events":[{"kind":"no_thanks",' +
    '"claims":{"publisherId":1,"sessionId":"019aa8f4-5b00-7000-8000-000000000001",' +
    '"offerId":2,"campaignId":3,"position":1,"dev":false},"sessionId":"019aa8f4-5b00-7000-8000-000000000001",' +
    '"atMs":1763800000000,"suspicious":null,"revenueMicros":0,"optOutDays":30}]}';
  expect(decodeMessage(Buffer.from(written))).toEqual([{ ...first, optOutDays: 30 }]);
});
