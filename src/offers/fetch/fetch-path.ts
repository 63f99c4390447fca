import type pg from 'pg';
import { type ActiveCaps, activeCapsOf } from '../../budgets/caps.ts';
import { type OpenHistory, reserveImpression } from '../../budgets/history.ts';
import type { BatchMeters } from '../../platform/db/batch.ts';
import type { DatabaseHealth } from '../../platform/db/health.ts';
import type { DecidedFetch, FetchResult, Renderer } from '../render/render.ts';
import type { DecidedSession } from '../session-record.ts';
import type { DecisionSources } from './decide-session.ts';
import type { PendingFetch } from './pending-fetch.ts';

/** Decides and commits fetches. `drain` resolves when none is in progress. */
export type FetchPath = { add: (pending: PendingFetch) => Promise<FetchResult>; drain: () => Promise<void> };

/**
 * Empties the committed sessions whose answer was sent empty meanwhile. It is not waited for: answers still in time
 * are sent in the same turn of the event loop, before another deadline can pass.
 */
export type EmptyExpired = (committed: readonly DecidedFetch[]) => void;

/** Services that a batcher of statements uses. */
export type BatchDeps = { pool: pg.Pool; dbHealth: DatabaseHealth; now: () => number; batchMeters: BatchMeters };

export type FetchPathDeps = BatchDeps & DecisionSources & { renderer: Renderer; late: { emptyExpired: EmptyExpired } };

/** Sessions of one transaction (count). */
export const maxSessions = 128;

/** The caps of the newest catalogue that fetches of a batch were opened with. */
export const activeCapsOfBatch = (batch: readonly PendingFetch[]): ActiveCaps =>
  activeCapsOf(batch.reduce((a, b) => (b.snapshot.version > a.snapshot.version ? b : a)).snapshot);

/** Reserves impressions of the user for the offers of a session, as far as caps count them. */
export function reserveImpressions(
  { id, publisherId, decided, createdAtMs }: DecidedSession,
  history: OpenHistory,
  activeCaps: ActiveCaps,
): void {
  for (const { offer } of decided) {
    const { id: campaignId, advertiserId } = offer.campaign;
    if (!activeCaps.countsForUser(offer.campaign, publisherId, 'impression')) continue;
    reserveImpression(history, id, { offerId: offer.id, campaignId, advertiserId, atMs: createdAtMs });
  }
}
