import {
  type AttributeProblem,
  changeListMembers,
  changeUserAttributes,
  findList,
  type ListProblem,
  type UserAttributeChanges,
} from '../audiences/profile-changes.ts';
import { keepAttributes } from '../catalog/store.ts';
import { insertOutcomes, maxOutcomeValue, type Outcome, timeProblemOf } from '../experiments/outcome-store.ts';
import type { Work } from '../management/unit-of-work.ts';
import { getOrInsert } from '../platform/lib/get-or-insert.ts';
import { toMicros } from '../platform/money.ts';
import type { UserKeys } from '../platform/security/user-key.ts';
import {
  changeKey,
  type EffectResult,
  type EventResult,
  type Keyed,
  noteEvents,
  noteResults,
  type StoredEffect,
  storeNewest,
} from './events.ts';
import { type Effect, type Message, readMessage } from './message.ts';
import type { SourceSettings } from './settings.ts';

/** Number of received events, by result. */
export type Received = Record<'received' | 'duplicates' | EventResult, number> & {
  problems: Problem[];
  /**
   * Whether these events set the publisher's first attributes. If so, the call waits until all processes know of them.
   */
  isFirst: boolean;
};

/** Event, or value in an event, that was not accepted. */
type Problem = {
  /** Zero-based index of the event in the request. */
  index: number;
  message_id: string | null;
  /** JSON pointer into the event, or an empty string if the whole event was rejected. */
  path: string;
  reason: string;
};

/** Maximum number of problems in a response. */
const maxProblems = 100;

/** Requested effect of an event, with its result. */
type RequestedEffect = { message: Message; userKey: string; effect: Effect; result: EffectResult };

/**
 * Processes source events. Each event is processed only once, and events may arrive in any order. An effect is skipped
 * if a newer event has already changed the same value. Everything runs in one transaction, so that a retry after an
 * error starts from scratch.
 */
export async function receiveEvents(
  work: Work,
  items: readonly unknown[],
  settings: SourceSettings,
  userKeys: UserKeys,
): Promise<Received> {
  const { executor, publisherId, nowMs } = work;
  const events = items.map((item): Keyed => {
    const message = readMessage(item, settings, nowMs);
    return { message, userKey: message.userId === '' ? null : userKeys.of(publisherId, message.userId) };
  });
  const lists = await findLists(work, events, settings);
  const fresh = await noteEvents(executor, publisherId, events, nowMs);
  const requests = fresh
    .sort((a, b) => a.message.atMs - b.message.atMs)
    .flatMap(({ message, userKey }) =>
      userKey === null
        ? []
        : message.effects.map((effect): RequestedEffect => ({ message, userKey, effect, result: 'done' })),
    );
  await supersede(work, requests);
  const isFirst = await applyAttributes(work, requests, userKeys);
  await applyMemberships(work, requests, lists, userKeys);
  await applyOutcomes(work, requests);
  const results = resultsOf(fresh, requests);
  await noteResults(
    executor,
    publisherId,
    results.flatMap(({ message: { messageId }, result, effects }) =>
      messageId === null || effects.length === 0 ? [] : [{ messageId, result, effects }],
    ),
  );
  const counts = { applied: 0, partly: 0, ignored: 0, superseded: 0, refused: 0 };
  for (const { result } of results) counts[result] += 1;
  const problems = findProblems(events, fresh, requests);
  return { received: items.length, duplicates: items.length - fresh.length, ...counts, problems, isFirst };
}

/** Returns the problems with the new events in a request, in order. */
function findProblems(
  events: readonly Keyed[],
  fresh: readonly Keyed[],
  effects: readonly RequestedEffect[],
): Problem[] {
  const isNew = new Set(fresh);
  const failed = new Map<Message, { path: string; reason: string }[]>();
  for (const { message, effect, result } of effects)
    if (result !== 'done' && result !== 'superseded')
      getOrInsert(failed, message, () => []).push({ path: effect.path, reason: result });
  const problems: Problem[] = [];
  for (const [index, event] of events.entries()) {
    if (problems.length >= maxProblems) break;
    if (!isNew.has(event)) continue;
    const { messageId, refusal, notes } = event.message;
    const causes = [
      ...(refusal === null ? [] : [{ path: '', reason: refusal }]),
      ...notes,
      // Skip failed effects whose value already has a note, because a note such as `no_value` is more specific.
      ...(failed.get(event.message) ?? []).filter(({ path }) => !notes.some((note) => note.path === path)),
    ];
    for (const { path, reason } of causes) problems.push({ index, message_id: messageId, path, reason });
  }
  return problems.slice(0, maxProblems);
}

type Lists = ReadonlyMap<string, number | ListProblem>;

async function findLists(work: Work, events: readonly Keyed[], settings: SourceSettings): Promise<Lists> {
  const lists = new Map<string, number | ListProblem>();
  for (const { message } of events)
    for (const effect of message.effects) {
      if (effect.kind !== 'audience' || lists.has(effect.name)) continue;
      const isMade = settings.create_audiences && effect.ofSource;
      lists.set(effect.name, await findList(work, effect.name, isMade ? effect.name : null));
    }
  return lists;
}

/**
 * Marks an effect as superseded if there is a newer change to the same value, either already stored or in the same
 * request.
 */
async function supersede({ executor, nowMs }: Work, effects: readonly RequestedEffect[]): Promise<void> {
  const newest = new Map<string, RequestedEffect>();
  for (const effect of effects) {
    if (effect.effect.kind === 'outcome') continue;
    const key = changeKey(changeOf(effect));
    const before = newest.get(key);
    if (before !== undefined) before.result = 'superseded';
    newest.set(key, effect);
  }
  const accepted = await storeNewest(executor, [...newest.values()].map(changeOf), nowMs);
  for (const [key, effect] of newest) if (!accepted.has(key)) effect.result = 'superseded';
}

const changeOf = ({ userKey, effect, message }: RequestedEffect) => ({
  userKey,
  subject: `${effect.kind} ${effect.name}`,
  atMs: message.atMs,
});

const open = (effects: readonly RequestedEffect[], kind: Effect['kind']): RequestedEffect[] =>
  effects.filter(({ effect, result }) => effect.kind === kind && result === 'done');

async function applyAttributes(work: Work, effects: readonly RequestedEffect[], userKeys: UserKeys): Promise<boolean> {
  const byUser = new Map<
    string,
    UserAttributeChanges & { attributes: Map<string, unknown>; effects: RequestedEffect[] }
  >();
  for (const effect of open(effects, 'attribute')) {
    if (effect.effect.kind !== 'attribute') continue;
    const { userId } = effect.message;
    const user = getOrInsert(byUser, userId, () => ({ pubUserId: userId, attributes: new Map(), effects: [] }));
    user.attributes.set(effect.effect.name, effect.effect.value);
    user.effects.push(effect);
  }
  if (byUser.size === 0) return false;
  const isFirst = await keepAttributes(work.executor, work.publisherId);
  const users = [...byUser.values()];
  const problems: ReadonlyMap<string, AttributeProblem>[] = await changeUserAttributes(work, users, userKeys);
  for (const [index, { effects: ofUser }] of users.entries())
    for (const effect of ofUser) effect.result = problems[index]?.get(effect.effect.name) ?? 'done';
  return isFirst;
}

async function applyMemberships(
  work: Work,
  effects: readonly RequestedEffect[],
  lists: Lists,
  userKeys: UserKeys,
): Promise<void> {
  const changes = new Map<number, { join: string[][]; leave: string[][] }>();
  for (const effect of open(effects, 'audience')) {
    if (effect.effect.kind !== 'audience') continue;
    const list = lists.get(effect.effect.name) ?? 'unknown';
    if (typeof list === 'string') {
      effect.result = list;
      continue;
    }
    const { join, leave } = getOrInsert(changes, list, () => ({ join: [], leave: [] }));
    (effect.effect.isIn ? join : leave).push(userKeys.allOf(work.publisherId, effect.message.userId));
  }
  await changeListMembers(work, changes);
}

async function applyOutcomes(
  { executor, publisherId, nowMs }: Work,
  effects: readonly RequestedEffect[],
): Promise<void> {
  const outcomes = open(effects, 'outcome').flatMap((requested): Outcome[] => {
    const { message, userKey, effect } = requested;
    if (effect.kind !== 'outcome' || message.messageId === null) return [];
    const value = typeof effect.value === 'string' ? numberOf(effect.value) : effect.value;
    const { atMs } = message;
    if (timeProblemOf(atMs, nowMs) !== null) requested.result = 'too_old';
    else if (typeof value !== 'number' || !(Math.abs(value) <= maxOutcomeValue)) requested.result = 'invalid';
    if (requested.result !== 'done') return [];
    const valueMicros = toMicros(value as number);
    const { name, currency } = effect;
    return [{ publisherId, id: message.messageId, userKey, name, valueMicros, currency, atMs }];
  });
  if (outcomes.length > 0) await insertOutcomes(executor, outcomes);
}

/** Parses a decimal number. Returns null for anything else, such as `12,50`, `$5` or `0x10`. */
const numberOf = (text: string): number | null => (/^\s*[+-]?(\d+(\.\d*)?|\.\d+)\s*$/.test(text) ? Number(text) : null);

function resultsOf(fresh: readonly Keyed[], requested: readonly RequestedEffect[]) {
  const byMessage = new Map<Message, StoredEffect[]>();
  for (const { message, effect, result } of requested)
    getOrInsert(byMessage, message, () => []).push({ kind: effect.kind, name: effect.name, result });
  return fresh.map(({ message }) => {
    const effects = byMessage.get(message) ?? [];
    return { message, effects, result: summaryOf(message, effects) };
  });
}

function summaryOf({ refusal }: Message, effects: readonly StoredEffect[]): EventResult {
  if (refusal !== null) return 'refused';
  if (effects.length === 0) return 'ignored';
  const done = effects.filter(({ result }) => result === 'done').length;
  if (done > 0) return done === effects.length ? 'applied' : 'partly';
  return effects.every(({ result }) => result === 'superseded') ? 'superseded' : 'refused';
}
