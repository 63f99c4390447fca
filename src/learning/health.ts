import { Type } from '@sinclair/typebox';
import type pg from 'pg';
import { transaction } from '../platform/db/pool.ts';
import type { App } from '../platform/http/app.ts';
import { readProgress } from './progress.ts';
import { findWaiting } from './reading/observations.ts';

/** State of learning, which is the same in all processes. */
export type LearningState = {
  /** Number of the latest ranking model version, or 0 if none exists. */
  version: number;
  /** Time of the latest version, or of the last check that found no new rows. Null if there was neither. */
  learnedAt: Date | null;
  /** IDs of publishers with unprocessed events. Empty unless learning has stalled. */
  stalledPublisherIds: readonly number[];
};

/**
 * Time without progress after which learning counts as stalled, in milliseconds. Applies only while events are waiting.
 */
const stalledAfterMs = 60_000;

/** Tolerated clock difference to the process that stored a time, in milliseconds. */
const clockToleranceMs = 5000;

/** Reads the learning progress, and whether learning has stalled although there are events to process. */
export async function readLearningState(pool: pg.Pool, nowMs: number): Promise<LearningState> {
  return transaction(pool, async (executor) => {
    const { rows } = await executor.query<{ version: number; made_ms: number }>(
      `select version::float8, extract(epoch from made_at)::float8 * 1000 as made_ms
      from ranking_versions order by version desc limit 1`,
    );
    const { xid, marks } = await readProgress(executor);
    // Start from the last mark: rows read after it are not part of a stored version yet.
    const reachedXid = marks.at(-1)?.[1];
    const reachedMs = marks.find(([, mark]) => mark === reachedXid)?.[0];
    const times = [rows[0]?.made_ms, reachedMs].filter(
      (ms): ms is number => ms !== undefined && ms <= nowMs + clockToleranceMs,
    );
    const learnedMs = times.length === 0 ? null : Math.max(...times);
    const isOld = learnedMs === null || learnedMs < nowMs - stalledAfterMs;
    return {
      version: rows[0]?.version ?? 0,
      learnedAt: learnedMs === null ? null : new Date(learnedMs),
      stalledPublisherIds: isOld ? await findWaiting(executor, reachedXid ?? xid, nowMs - stalledAfterMs) : [],
    };
  });
}

const learningHealth = Type.Object(
  {
    status: Type.Union([Type.Literal('ok'), Type.Literal('stalled')]),
    version: Type.Integer({ description: 'Latest version of the ranking model, or 0 if there is none.' }),
    learned_at: Type.Union([Type.String({ format: 'date-time' }), Type.Null()], {
      description:
        'Time of the latest version, or of the latest check that found nothing to learn. `null` if there is neither.',
    }),
  },
  { title: 'LearningHealth' },
);

/**
 * Registers the health route for learning.
 * @param read reads the state of learning; must be cached, because the route is public
 */
export async function learningHealthRoute(app: App, read: () => Promise<LearningState | null>): Promise<void> {
  app.get(
    '/health/learning',
    {
      schema: {
        operationId: 'getLearningHealth',
        summary: 'Check learning',
        description:
          'Responds with 503 if events are waiting and ranking has not learned for 60 seconds. For monitoring.',
        tags: ['Health'],
        security: [],
        response: { 200: learningHealth, 405: Type.Ref('Error'), 503: Type.Union([learningHealth, Type.Ref('Error')]) },
      },
    },
    async (_request, reply) => {
      const state = await read();
      const isOk = state !== null && state.stalledPublisherIds.length === 0;
      if (!isOk) reply.code(503).header('retry-after', '5');
      return {
        status: isOk ? ('ok' as const) : ('stalled' as const),
        version: state?.version ?? 0,
        learned_at: state?.learnedAt?.toISOString() ?? null,
      };
    },
  );
}
