import { type Batcher, createBatcher } from '../../platform/db/batcher.ts';
import { newUuid7 } from '../../platform/lib/uuid7.ts';
import type { OfferDeps } from '../ports.ts';
import type { Renderer } from '../render/render.ts';
import { emptySessions } from '../sessions.ts';
import { isUspOn, type PendingFetch } from './pending-fetch.ts';
import { type DecidedFetch, renderSession } from './render-sessions.ts';

/** Answers of fetches whose deadline has passed, and the sessions that were committed for them all the same. */
export type LateAnswers = {
  /** The empty answer that is sent on the deadline. Its session is stored, empty, if it can be written after all. */
  expireAndAnswer: (pending: PendingFetch) => Buffer;
  /**
   * Empties the committed sessions whose answer was sent empty meanwhile. It is not waited for: answers still in time
   * are sent in the same turn of the event loop, before another deadline can pass.
   */
  emptyExpired: (committed: readonly DecidedFetch[]) => void;
  drain: () => Promise<void>;
};

type LateAnswerDeps = Pick<OfferDeps, 'pool' | 'dbHealth' | 'logger' | 'now' | 'batchMeters'> & { renderer: Renderer };

export function createLateAnswers(deps: LateAnswerDeps): LateAnswers {
  const { pool, dbHealth, logger, now, batchMeters, renderer } = deps;
  const emptying: Batcher<string, void> = createBatcher<string, void>({
    write: async (ids) => {
      await emptySessions(pool, ids);
      return [];
    },
    dbHealth,
    maxItems: 128,
    maxConcurrentBatches: 1,
    meter: batchMeters('late_fetches'),
  });
  return {
    expireAndAnswer: (pending) => {
      pending.expired = true;
      pending.sessionId ??= newUuid7(now());
      const { sessionId: id, dev, request } = pending;
      const empty = { id, dev, pubUserId: request.pubUserId, usp: isUspOn(pending), offers: [], macros: {} };
      return renderSession(renderer, pending, empty);
    },
    emptyExpired: (committed) => {
      const late = committed.filter(({ pending, session }) => pending.expired && session.offers.length > 0);
      if (late.length === 0) return;
      Promise.all(late.map(({ session }) => emptying.add(session.id))).catch((err) =>
        logger.warn({ err }, 'sessions answered empty on their deadline still have offers'),
      );
    },
    drain: emptying.drain,
  };
}

/** Part of a deadline that is left for writing and sending the answer (milliseconds). */
const marginMs = (timeoutMs: number): number => Math.min(20, timeoutMs / 5);

/** The answer if it is there in time, else what `late` gives. A failure in time stays one. */
export function withinDeadline<Answer>(
  timeoutMs: number,
  answer: Promise<Answer>,
  late: () => Answer,
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => resolve(late()), timeoutMs - marginMs(timeoutMs));
    answer.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}
