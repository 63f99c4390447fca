import {
  type AttributeProblem,
  findList,
  type ListProblem,
  type ToldAttributes,
  tellAttributes,
  tellMembers,
} from '../audiences/profile-changes.ts';
import { keepAttributes } from '../catalog/keeps-attributes.ts';
import { insertOutcomes, maxOutcomeValue, type Outcome, timeProblemOf } from '../experiments/outcome-store.ts';
import type { Work } from '../management/unit-of-work.ts';
import { getOrInsert } from '../platform/lib/get-or-insert.ts';
import { toMicros } from '../platform/money.ts';
import type { UserKeys } from '../platform/security/user-key.ts';
import {
  type EffectResult,
  type EventResult,
  type Keyed,
  noteEvents,
  noteResults,
  type StoredEffect,
  saidKey,
  takeNewest,
} from './events.ts';
import { type Effect, type Message, readMessage } from './message.ts';
import type { SourceSettings } from './settings.ts';

/** How many events there were, and what became of them. */
export type Received = Record<'received' | 'duplicates' | EventResult, number> & {
  problems: Problem[];
  /** The first attributes of the publisher: other processes are to be waited for. */
  isFirst: boolean;
};

/** Event or value of an event that was not taken. */
type Problem = {
  /** Place of the event in the call, from 0. */
  index: number;
  message_id: string | null;
  /** JSON pointer into the event; empty for the whole of it. */
  path: string;
  reason: string;
};

/** Maximum number of problems in an answer. */
const maxProblems = 100;

/** One thing that an event asks for. */
type Asked = { message: Message; userKey: string; effect: Effect; result: EffectResult };

/**
 * Takes events of a source: each once, in whatever order they come. What an event asks for is not done where something
 * newer was said of it before. In one transaction: a repeat after an error finds nothing done.
 */
export async function receiveEvents(
  work: Work,
  given: readonly unknown[],
  settings: SourceSettings,
  userKeys: UserKeys,
): Promise<Received> {
  const { executor, publisherId, nowMs } = work;
  const events = given.map((one): Keyed => {
    const message = readMessage(one, settings, nowMs);
    return { message, userKey: message.userId === '' ? null : userKeys.of(publisherId, message.userId) };
  });
  const lists = await findLists(work, events, settings);
  const fresh = await noteEvents(executor, publisherId, events, nowMs);
  const asked = fresh
    .sort((a, b) => a.message.atMs - b.message.atMs)
    .flatMap(({ message, userKey }) =>
      userKey === null ? [] : message.effects.map((effect): Asked => ({ message, userKey, effect, result: 'done' })),
    );
  await supersede(work, asked);
  const isFirst = await applyAttributes(work, asked, userKeys);
  await applyMemberships(work, asked, lists, userKeys);
  await applyOutcomes(work, asked);
  const results = resultsOf(fresh, asked);
  await noteResults(
    executor,
    publisherId,
    results.flatMap(({ message: { messageId }, result, effects }) =>
      messageId === null || effects.length === 0 ? [] : [{ messageId, result, effects }],
    ),
  );
  const counts = { applied: 0, partly: 0, ignored: 0, superseded: 0, refused: 0 };
  for (const { result } of results) counts[result] += 1;
  const problems = findProblems(events, fresh, asked);
  return { received: given.length, duplicates: given.length - fresh.length, ...counts, problems, isFirst };
}

/** Everything that was not taken of the new events of a call, in its order. */
function findProblems(events: readonly Keyed[], fresh: readonly Keyed[], asked: readonly Asked[]): Problem[] {
  const isNew = new Set(fresh);
  const failed = new Map<Message, { path: string; reason: string }[]>();
  for (const { message, effect, result } of asked)
    if (result !== 'done' && result !== 'superseded')
      getOrInsert(failed, message, () => []).push({ path: effect.path, reason: result });
  const problems: Problem[] = [];
  for (const [index, event] of events.entries()) {
    if (problems.length >= maxProblems) break;
    if (!isNew.has(event)) continue;
    const { messageId, refusal, notes } = event.message;
    const found = [
      ...(refusal === null ? [] : [{ path: '', reason: refusal }]),
      ...notes,
      // `no_value` says more than that the outcome is invalid.
      ...(failed.get(event.message) ?? []).filter(({ path }) => !notes.some((note) => note.path === path)),
    ];
    for (const { path, reason } of found) problems.push({ index, message_id: messageId, path, reason });
  }
  return problems.slice(0, maxProblems);
}

type Lists = ReadonlyMap<string, number | ListProblem>;

async function findLists(work: Work, events: readonly Keyed[], settings: SourceSettings): Promise<Lists> {
  const found = new Map<string, number | ListProblem>();
  for (const { message } of events)
    for (const effect of message.effects) {
      if (effect.kind !== 'audience' || found.has(effect.name)) continue;
      const isMade = settings.create_audiences && effect.ofSource;
      found.set(effect.name, await findList(work, effect.name, isMade ? effect.name : null));
    }
  return found;
}

/** Marks what is older than what was said of the same before, or in the same call. */
async function supersede({ executor, nowMs }: Work, asked: readonly Asked[]): Promise<void> {
  const newest = new Map<string, Asked>();
  for (const one of asked) {
    if (one.effect.kind === 'outcome') continue;
    const key = saidKey(saidOf(one));
    const before = newest.get(key);
    if (before !== undefined) before.result = 'superseded';
    newest.set(key, one);
  }
  const taken = await takeNewest(executor, [...newest.values()].map(saidOf), nowMs);
  for (const [key, one] of newest) if (!taken.has(key)) one.result = 'superseded';
}

const saidOf = ({ userKey, effect, message }: Asked) => ({
  userKey,
  subject: `${effect.kind} ${effect.name}`,
  atMs: message.atMs,
});

const open = (asked: readonly Asked[], kind: Effect['kind']): Asked[] =>
  asked.filter(({ effect, result }) => effect.kind === kind && result === 'done');

async function applyAttributes(work: Work, asked: readonly Asked[], userKeys: UserKeys): Promise<boolean> {
  const byUser = new Map<string, ToldAttributes & { attributes: Map<string, unknown>; asked: Asked[] }>();
  for (const one of open(asked, 'attribute')) {
    if (one.effect.kind !== 'attribute') continue;
    const { userId } = one.message;
    const told = getOrInsert(byUser, userId, () => ({ pubUserId: userId, attributes: new Map(), asked: [] }));
    told.attributes.set(one.effect.name, one.effect.value);
    told.asked.push(one);
  }
  if (byUser.size === 0) return false;
  const isFirst = await keepAttributes(work.executor, work.publisherId);
  const told = [...byUser.values()];
  const problems: ReadonlyMap<string, AttributeProblem>[] = await tellAttributes(work, told, userKeys);
  for (const [index, { asked: ofUser }] of told.entries())
    for (const one of ofUser) one.result = problems[index]?.get(one.effect.name) ?? 'done';
  return isFirst;
}

async function applyMemberships(work: Work, asked: readonly Asked[], lists: Lists, userKeys: UserKeys): Promise<void> {
  const changes = new Map<number, { join: string[][]; leave: string[][] }>();
  for (const one of open(asked, 'audience')) {
    if (one.effect.kind !== 'audience') continue;
    const list = lists.get(one.effect.name) ?? 'unknown';
    if (typeof list === 'string') {
      one.result = list;
      continue;
    }
    const { join, leave } = getOrInsert(changes, list, () => ({ join: [], leave: [] }));
    (one.effect.isIn ? join : leave).push(userKeys.allOf(work.publisherId, one.message.userId));
  }
  await tellMembers(work, changes);
}

async function applyOutcomes({ executor, publisherId, nowMs }: Work, asked: readonly Asked[]): Promise<void> {
  const outcomes = open(asked, 'outcome').flatMap((one): Outcome[] => {
    const { message, userKey, effect } = one;
    if (effect.kind !== 'outcome' || message.messageId === null) return [];
    const value = typeof effect.value === 'string' ? numberOf(effect.value) : effect.value;
    const { atMs } = message;
    if (timeProblemOf(atMs, nowMs) !== null) one.result = 'too_old';
    else if (typeof value !== 'number' || !(Math.abs(value) <= maxOutcomeValue)) one.result = 'invalid';
    if (one.result !== 'done') return [];
    const valueMicros = toMicros(value as number);
    const { name, currency } = effect;
    return [{ publisherId, id: message.messageId, userKey, name, valueMicros, currency, atMs }];
  });
  if (outcomes.length > 0) await insertOutcomes(executor, outcomes);
}

/** A decimal number in a text; null for anything else, such as `12,50`, `$5` or `0x10`. */
const numberOf = (text: string): number | null => (/^\s*[+-]?(\d+(\.\d*)?|\.\d+)\s*$/.test(text) ? Number(text) : null);

function resultsOf(fresh: readonly Keyed[], asked: readonly Asked[]) {
  const byMessage = new Map<Message, StoredEffect[]>();
  for (const { message, effect, result } of asked)
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
