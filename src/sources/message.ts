import { isPii, normaliseName } from '../catalog/names.ts';
import { textOrNull } from '../platform/http/body-parsing.ts';
import { ownOf } from '../platform/lib/own.ts';
import { isCurrency } from '../platform/money.ts';
import { readEventTime } from './event-time.ts';
import type { SourceSettings } from './settings.ts';

/** Reason why a whole event is rejected. */
export type Refusal = 'unreadable' | 'no_message_id' | 'no_user' | 'user_is_pii';

/** Effect of an event. `path` is where the value is in the event. A null `value` removes the attribute. */
export type Effect = { path: string } & (
  | { kind: 'attribute'; name: string; value: unknown }
  | { kind: 'audience'; name: string; isIn: boolean; ofSource: boolean }
  | { kind: 'outcome'; name: string; value: unknown; currency: string | null }
);

/** Value in an event that was ignored, with the reason. */
export type Note = {
  path: string;
  reason: 'unreadable_time' | 'future_time' | 'unknown_currency' | 'no_value' | 'not_boolean';
};

export type Message = {
  messageId: string | null;
  type: string;
  /** Event name of a track call, or the audience name. Otherwise empty. */
  name: string;
  /** User ID, or an empty string if the event is rejected. */
  userId: string;
  /** Event time, in epoch milliseconds. */
  atMs: number;
  effects: Effect[];
  /** Event values that were ignored. */
  notes: Note[];
  refusal: Refusal | null;
};

type Fields = Record<string, unknown>;

const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const fieldsOf = (value: unknown): Fields => (isFields(value) ? value : {});
/** Returns a string or number as text that PostgreSQL can store, or an empty string for any other value. */
const textOf = (value: unknown, maxLength: number): string =>
  typeof value === 'string' || typeof value === 'number'
    ? (textOrNull(value) ?? '').replaceAll('\0', '').slice(0, maxLength).toWellFormed()
    : '';

/** Maximum length of a message ID, in characters. Message IDs are stored for as long as events may be repeated. */
const maxMessageId = 128;
const maxName = 200;

/** Parses an event from Segment or RudderStack (https://segment.com/docs/connections/spec) and derives its effects. */
export function readMessage(value: unknown, settings: SourceSettings, nowMs: number): Message {
  const event = fieldsOf(value);
  const messageId = textOf(event.messageId, maxMessageId + 1);
  const hasId = messageId !== '' && messageId.length <= maxMessageId;
  const userId = textOf(event.userId, 257).trim();
  const { name, effects, notes = [] } = readEffects(event, settings);
  const { atMs, problems } = readEventTime(event, nowMs);
  const timeNotes = problems.map(({ field, reason }): Note => ({ path: pointer(field), reason }));
  const refusal: Refusal | null = !isFields(value)
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
    atMs,
    effects: refusal === null ? effects : [],
    // Events that match no setting have no notes.
    notes: refusal !== null ? [] : effects.length > 0 ? [...timeNotes, ...notes] : notes,
    refusal,
  };
}

/** Builds a JSON pointer to a value in an event. */
const pointer = (...names: string[]): string =>
  names
    .map((name) => `/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`)
    .join('')
    .slice(0, 300);

type Read = { name: string; effects: Effect[]; notes?: Note[] };

function readEffects(event: Fields, settings: SourceSettings): Read {
  const membership = readMembership(event, settings);
  if (membership !== null) return { name: membership.name, effects: [membership] };
  if (event.type === 'identify') return { name: '', ...readTraits(traitsOf(event), settings) };
  if (event.type === 'group') {
    const traits = { ...fieldsOf(event.traits), ...(event.groupId !== undefined && { groupId: event.groupId }) };
    const pathOf = (name: string): string => (name === 'groupId' ? pointer(name) : pointer('traits', name));
    return { name: '', effects: attributesOf({ values: traits, pathOf }, settings.group_traits) };
  }
  return event.type === 'track' ? readTrack(event, settings) : { name: '', effects: [] };
}

function readTrack(event: Fields, settings: SourceSettings): Read {
  const name = textOf(event.event, maxName);
  const outcome = ownOf(settings.events, name);
  if (outcome === undefined) return { name, effects: [] };
  const { name: outcomeName, value: property } = outcome;
  if (property === undefined)
    return {
      name,
      effects: [{ kind: 'outcome', name: outcomeName, path: pointer('event'), value: 1, currency: null }],
    };
  const properties = fieldsOf(event.properties);
  const path = pointer('properties', property);
  const value = ownOf(properties, property);
  const currency = readCurrency(properties.currency);
  return {
    name,
    effects: [{ kind: 'outcome', name: outcomeName, path, value, currency: currency === 'unknown' ? null : currency }],
    notes: [
      ...((value ?? '') === '' ? [{ path, reason: 'no_value' } as const] : []),
      ...(currency === 'unknown'
        ? [{ path: pointer('properties', 'currency'), reason: 'unknown_currency' } as const]
        : []),
    ],
  };
}

/** Returns the currency code in upper case, null if it is absent, or `unknown` if it is not an ISO 4217 code. */
function readCurrency(value: unknown): string | null {
  if (value === undefined || value === null || value === '') return null;
  const code = typeof value === 'string' ? value.trim().toUpperCase() : '';
  return isCurrency(code) ? code : 'unknown';
}

/** User traits. `pathOf` returns the path of a trait in the event. */
type Traits = { values: Fields; pathOf: (name: string) => string };

/** Reads user traits. Segment sends them in `traits`, and RudderStack in `context.traits`. */
function traitsOf(event: Fields): Traits {
  const own = fieldsOf(event.traits);
  return {
    values: { ...fieldsOf(fieldsOf(event.context).traits), ...own },
    pathOf: (name) => (Object.hasOwn(own, name) ? pointer('traits', name) : pointer('context', 'traits', name)),
  };
}

/**
 * Reads an audience membership in the format of Segment audiences. The audience key is in `context.personas`, or in
 * `audience_key` for the events `Audience Entered` and `Audience Exited`. The trait or property with this key tells
 * whether the user is a member.
 */
function readMembership(event: Fields, { audiences }: SourceSettings): (Effect & { kind: 'audience' }) | null {
  const isTrack = event.type === 'track';
  if (!isTrack && event.type !== 'identify') return null;
  const values = isTrack ? fieldsOf(event.properties) : traitsOf(event).values;
  const personas = fieldsOf(fieldsOf(event.context).personas);
  const isEntered = isTrack && event.event === 'Audience Entered';
  const isExited = isTrack && event.event === 'Audience Exited';
  const ofPersonas = personas.computation_class === 'audience' ? personas.computation_key : undefined;
  const key = textOf(ofPersonas ?? (isEntered || isExited ? values.audience_key : undefined), maxName);
  const isIn = ownOf(values, key) ?? (isEntered ? true : isExited ? false : undefined);
  if (key === '' || typeof isIn !== 'boolean') return null;
  const path =
    ofPersonas === undefined
      ? pointer('properties', 'audience_key')
      : pointer('context', 'personas', 'computation_key');
  return { kind: 'audience', name: normaliseName(ownOf(audiences, key) ?? key), path, isIn, ofSource: true };
}

function readTraits(traits: Traits, { traits: names, audiences }: SourceSettings): Omit<Read, 'name'> {
  const effects = attributesOf(traits, names);
  const notes: Note[] = [];
  for (const [trait, name] of Object.entries(audiences)) {
    const isIn = ownOf(traits.values, trait) ?? null;
    const path = traits.pathOf(trait);
    if (typeof isIn === 'boolean')
      effects.push({ kind: 'audience', name: normaliseName(name), path, isIn, ofSource: false });
    else if (isIn !== null) notes.push({ path, reason: 'not_boolean' });
  }
  return { effects, notes };
}

const attributesOf = ({ values, pathOf }: Traits, names: Readonly<Record<string, string>>): Effect[] =>
  Object.entries(names).flatMap(([trait, name]): Effect[] => {
    const value = ownOf(values, trait);
    return value === undefined ? [] : [{ kind: 'attribute', name, path: pathOf(trait), value }];
  });
