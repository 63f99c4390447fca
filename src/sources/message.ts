import { isPii, normaliseName } from '../catalog/names.ts';
import { textOrNull } from '../platform/http/body-parsing.ts';
import { ownOf } from '../platform/lib/own.ts';
import { timeOf } from '../platform/lib/time-zone.ts';
import type { SourceSettings } from './settings.ts';

/** Why nothing of an event is taken. */
export type Refusal = 'unreadable' | 'no_message_id' | 'no_user' | 'user_is_pii';

/** What an event asks for. `value` null of an attribute: it is removed. */
export type Effect =
  | { kind: 'attribute'; name: string; value: unknown }
  | { kind: 'audience'; name: string; isIn: boolean; ofSource: boolean }
  | { kind: 'outcome'; name: string; value: unknown; currency: unknown };

export type Message = {
  messageId: string | null;
  type: string;
  /** Of what it speaks: the event of a track call, the audience; else empty. */
  name: string;
  /** The user's id; empty where there is a refusal. */
  userId: string;
  /** When it happened (epoch milliseconds). */
  atMs: number;
  effects: Effect[];
  refusal: Refusal | null;
};

type Fields = Record<string, unknown>;

const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const fieldsOf = (value: unknown): Fields => (isFields(value) ? value : {});
/** Of texts and numbers, as they can be stored; else empty. */
const textOf = (value: unknown, maxLength: number): string =>
  typeof value === 'string' || typeof value === 'number'
    ? (textOrNull(value) ?? '').replaceAll('\0', '').slice(0, maxLength).toWellFormed()
    : '';

/** A message id is kept for as long as repeats may come, so it is bounded (characters). */
const maxMessageId = 128;
const maxName = 200;

/** An event of Segment or RudderStack (https://segment.com/docs/connections/spec), and what it asks for. */
export function readMessage(given: unknown, settings: SourceSettings, nowMs: number): Message {
  const event = fieldsOf(given);
  const messageId = textOf(event.messageId, maxMessageId + 1);
  const hasId = messageId !== '' && messageId.length <= maxMessageId;
  const userId = textOf(event.userId, 257).trim();
  const { name, effects } = readEffects(event, settings);
  const refusal: Refusal | null = !isFields(given)
    ? 'unreadable'
    : !hasId
      ? 'no_message_id'
      : userId === '' || userId.length > 256
        ? 'no_user'
        : isPii(userId)
          ? 'user_is_pii'
          : null;
  return {
    messageId: hasId ? messageId : null,
    type: textOf(event.type, 40) || '–',
    name,
    userId: refusal === null ? userId : '',
    atMs: timeOfEvent(event, nowMs),
    effects: refusal === null ? effects : [],
    refusal,
  };
}

/** A clock that is ahead must not keep later events from counting. */
function timeOfEvent({ timestamp, originalTimestamp }: Fields, nowMs: number): number {
  for (const given of [timestamp, originalTimestamp]) {
    const atMs = typeof given === 'string' ? timeOf(given) : null;
    if (atMs !== null && !Number.isNaN(atMs)) return Math.min(atMs, nowMs);
  }
  return nowMs;
}

type Read = { name: string; effects: Effect[] };

function readEffects(event: Fields, settings: SourceSettings): Read {
  const membership = readMembership(event, settings);
  if (membership !== null) return { name: membership.name, effects: [membership] };
  if (event.type === 'identify') return { name: '', effects: readTraits(fieldsOf(event.traits), settings) };
  if (event.type === 'group') {
    const traits = { ...fieldsOf(event.traits), ...(event.groupId !== undefined && { groupId: event.groupId }) };
    return { name: '', effects: attributesOf(traits, settings.group_traits) };
  }
  if (event.type !== 'track') return { name: '', effects: [] };
  const name = textOf(event.event, maxName);
  const outcome = ownOf(settings.events, name);
  if (outcome === undefined) return { name, effects: [] };
  const properties = fieldsOf(event.properties);
  const value = outcome.value === undefined ? 1 : ownOf(properties, outcome.value);
  const currency = outcome.value === undefined ? undefined : properties.currency;
  return { name, effects: [{ kind: 'outcome', name: outcome.name, value, currency }] };
}

/**
 * A membership as audiences of Segment are sent: the audience's key in `context.personas`, or in `audience_key` of the
 * events `Audience Entered` and `Audience Exited`; a trait or property of that name says whether the user is in it.
 */
function readMembership(event: Fields, { audiences }: SourceSettings): (Effect & { kind: 'audience' }) | null {
  const isTrack = event.type === 'track';
  if (!isTrack && event.type !== 'identify') return null;
  const said = fieldsOf(isTrack ? event.properties : event.traits);
  const personas = fieldsOf(fieldsOf(event.context).personas);
  const isEntered = isTrack && event.event === 'Audience Entered';
  const isExited = isTrack && event.event === 'Audience Exited';
  const ofPersonas = personas.computation_class === 'audience' ? personas.computation_key : undefined;
  const key = textOf(ofPersonas ?? (isEntered || isExited ? said.audience_key : undefined), maxName);
  const isIn = ownOf(said, key) ?? (isEntered ? true : isExited ? false : undefined);
  if (key === '' || typeof isIn !== 'boolean') return null;
  return { kind: 'audience', name: normaliseName(ownOf(audiences, key) ?? key), isIn, ofSource: true };
}

function readTraits(traits: Fields, { traits: names, audiences }: SourceSettings): Effect[] {
  const memberships = Object.entries(audiences).flatMap(([trait, name]): Effect[] => {
    const isIn = ownOf(traits, trait);
    return typeof isIn === 'boolean' ? [{ kind: 'audience', name: normaliseName(name), isIn, ofSource: false }] : [];
  });
  return [...attributesOf(traits, names), ...memberships];
}

const attributesOf = (traits: Fields, names: Readonly<Record<string, string>>): Effect[] =>
  Object.entries(names).flatMap(([trait, name]): Effect[] => {
    const value = ownOf(traits, trait);
    return value === undefined ? [] : [{ kind: 'attribute', name, value }];
  });
