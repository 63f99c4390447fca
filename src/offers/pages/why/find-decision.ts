import type pg from 'pg';
import { findMovedKey } from '../../../budgets/move-histories.ts';
import type { Publisher } from '../../../catalog/types.ts';
import type { Config } from '../../../config.ts';
import type { DecisionInput } from '../../../decision/types.ts';
import type { DatabaseHealth } from '../../../platform/db/health.ts';
import { createFailFast } from '../../../platform/db/health.ts';
import { AppError } from '../../../platform/errors.ts';
import { t } from '../../../platform/i18n/messages.ts';
import { isPossibleUuid7, timeOfUuid7 } from '../../../platform/lib/uuid7.ts';
import { createUserKeys } from '../../../platform/security/user-key.ts';
import { createInputNow, type InputSources } from '../../fetch/input-now.ts';
import { findDecision, inputOf } from '../../re-decide.ts';
import { findUserDecisions, type UserDecision } from '../../user-decisions.ts';
import { type Question, sessionIdIn, visitorOf } from './question.ts';

/**
 * Decision to explain. `input` is null if the session's decision cannot be reproduced. `sessions` are the sessions of
 * the user in the question, newest first.
 */
export type FoundDecision = {
  input: DecisionInput | null;
  kind: 'session' | 'user' | 'visitor';
  /** Time of the session's decision, or null if the decision is made now. */
  at: Date | null;
  sessions: readonly UserDecision[];
  /** Message to show if the session or user in the question was not found. Null otherwise. */
  problem: string | null;
};

export type FindDecision = (publisher: Publisher, question: Question) => Promise<FoundDecision>;

const maxSessions = 10;

/** Dependencies for finding decisions. */
export type DecisionSearch = InputSources & {
  pool: pg.Pool;
  dbHealth: DatabaseHealth;
  config: Config;
};

/**
 * Creates a function that finds the decision for a question: a stored decision, a decision for a user now, or a
 * decision for a hypothetical visitor now.
 */
export function createFindDecision({ dbHealth, config, ...sources }: DecisionSearch): FindDecision {
  const { pool, now } = sources;
  const failFast = createFailFast(dbHealth);
  const inputNow = createInputNow(sources, failFast);
  const userKeys = createUserKeys(config.userPepper, config.earlierPeppers);

  async function ofSession(publisher: Publisher, id: string | null): Promise<FoundDecision> {
    const missing = { input: null, kind: 'session', at: null, sessions: [] } as const;
    if (id === null || !isPossibleUuid7(id, now())) return { ...missing, problem: t('why.noSession') };
    try {
      const stored = await failFast(() => findDecision(pool, publisher.id, id));
      const input = await failFast(() => inputOf(pool, stored));
      return { ...missing, input, at: new Date(stored.createdAtMs), problem: input === null ? t('why.notKept') : null };
    } catch (err) {
      if (err instanceof AppError && err.code === 'session_not_found')
        return { ...missing, problem: t('why.noSession') };
      if (err instanceof AppError && err.code === 'decision_not_kept')
        return { ...missing, at: new Date(timeOfUuid7(id)), problem: t('why.notKept') };
      throw err;
    }
  }

  async function ofUser(publisher: Publisher, question: Question): Promise<FoundDecision> {
    const own = userKeys.of(publisher.id, question.user);
    const earlierKeys = userKeys.earlierOf(publisher.id, question.user);
    const keys = [own, ...earlierKeys];
    const query = { publisherId: publisher.id, userKeys: keys, identifier: question.user, limit: maxSessions };
    const sessions = await failFast(() => findUserDecisions(pool, query));
    const newest = sessions.find(({ isStored }) => isStored);
    const last = newest === undefined ? null : await failFast(() => findDecision(pool, publisher.id, newest.sessionId));
    const foundKey = newest?.userKey ?? sessions[0]?.userKey ?? own;
    // If the user was found only by device ID, only the key for the device is available.
    const isOwn = keys.includes(foundKey);
    const userKey = isOwn ? own : ((await failFast(() => findMovedKey(pool, foundKey))) ?? foundKey);
    const context = { ...(last?.context ?? visitorOf(question)), userKey };
    return {
      input: await inputNow(publisher, context, { earlierKeys: isOwn ? earlierKeys : [] }),
      kind: 'user',
      at: null,
      sessions,
      problem: sessions.length > 0 ? null : t('why.unknownUser'),
    };
  }

  return async (publisher, question) => {
    if (question.session !== '') return ofSession(publisher, sessionIdIn(question));
    if (question.user !== '') return ofUser(publisher, question);
    const input = await inputNow(publisher, visitorOf(question));
    // The user key makes the visitor an identified user without history, who is treated differently from a visitor
    // without an identity.
    const context = { ...input.context, userKey: 'made-up visitor' };
    return { input: { ...input, context }, kind: 'visitor', at: null, sessions: [], problem: null };
  };
}
