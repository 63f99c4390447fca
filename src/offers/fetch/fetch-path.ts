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
 * Empties committed sessions for which an empty response was sent meanwhile. The caller does not wait for it, because
 * responses that are still in time are sent in the same turn of the event loop, before another deadline can pass.
 */
export type EmptyExpired = (committed: readonly DecidedFetch[]) => void;

/** Services for batchers of statements. */
export type BatchDeps = { pool: pg.Pool; dbHealth: DatabaseHealth; now: () => number; batchMeters: BatchMeters };

export type FetchPathDeps = BatchDeps & DecisionSources & { renderer: Renderer; late: { emptyExpired: EmptyExpired } };

/** Maximum number of sessions in a transaction. */
export const maxSessions = 128;

/** Caps of the newest catalogue that the fetches of a batch were opened with. */
export const activeCapsOfBatch = (batch: readonly PendingFetch[]): ActiveCaps =>
  activeCapsOf(batch.reduce((a, b) => (b.snapshot.version > a.snapshot.version ? b : a)).snapshot);

/** Reserves a user's impressions for the offers of a session, for caps that count them. */
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
