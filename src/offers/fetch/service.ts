import { createPlacements } from '../../catalog/placements.ts';
import type { Publisher, Theme } from '../../catalog/types.ts';
import { createFailFast } from '../../platform/db/fail-fast.ts';
import { databaseUnavailable } from '../../platform/errors.ts';
import { createUserKeys } from '../../platform/security/user-key.ts';
import type { Trace } from '../../platform/tracing/tracing.ts';
import { createStateWriter } from '../decision-log/state-writer.ts';
import type { OfferDeps } from '../ports.ts';
import { createQrCodes } from '../qr.ts';
import { createAnswerPool } from '../render/answer-pool.ts';
import { createRenderer, type Renderer } from '../render/render.ts';
import type { SessionRecord } from '../session-record.ts';
import { createCappedFetch } from './capped-fetch.ts';
import { createEarlyFetch } from './early-fetch.ts';
import { createExplain, type Explain } from './explain.ts';
import type { FetchPath } from './fetch-path.ts';
import { createInputNow } from './input-now.ts';
import { createLateAnswers, withinDeadline } from './late-answers.ts';
import { createMovingUsers } from './moving-users.ts';
import {
  createFetchOpener,
  hasFrequencyCaps,
  hasTotalCaps,
  type PendingFetch,
  type WallLink,
} from './pending-fetch.ts';
import type { FetchResult } from './render-sessions.ts';
import type { FetchOffersRequest } from './request.ts';
import { createUserCappedFetch } from './user-capped-fetch.ts';

/** Decides which offers are shown, commits the session, and renders the answer. */
export type OfferService = {
  /** The answer's JSON, after the session is committed. Errors: unavailable. */
  fetch: (publisher: Publisher, request: FetchOffersRequest, trace: Trace | null) => Promise<Buffer>;
  /** To be called when an answer of `fetch` is sent: its memory is used again. */
  release: (answer: Buffer) => void;
  /** All offers of an offerwall, in a session that is committed when this resolves. Errors: unavailable. */
  decideWall: (
    publisher: Publisher,
    request: FetchOffersRequest,
    link: WallLink | null,
  ) => Promise<{ session: SessionRecord; theme: Theme | null }>;
  renderWall: Renderer['renderWall'];
  explain: Explain;
  drain: () => Promise<void>;
};

export function createOfferService(deps: OfferDeps): OfferService {
  const { pool, flushPool, dbHealth, tokens, config, logger, now, usage, slices, model, batchMeters } = deps;
  const answers = createAnswerPool();
  const renderer = createRenderer({ publicUrl: config.publicUrl, tokens, qrCodes: createQrCodes(), answers });
  const failFast = createFailFast(dbHealth);
  const placements = createPlacements(pool, failFast);
  const userKeys = createUserKeys(config.userPepper, config.earlierPeppers);
  const open = createFetchOpener(deps, userKeys);
  const movingUsers = createMovingUsers({ pool: flushPool, dbHealth, now, batchMeters, userKeys });
  const states = createStateWriter(deps);
  const late = createLateAnswers({ pool: flushPool, dbHealth, logger, now, batchMeters, renderer });
  const shared = { pool: flushPool, dbHealth, now, batchMeters };
  const pathDeps = { ...shared, model, states, renderer, late };
  const { eventsStoredUntil } = deps;
  const capped = createCappedFetch({ ...pathDeps, usage, slices, eventsStoredUntil });
  const userCapped = createUserCappedFetch({ ...pathDeps, eventsStoredUntil, capped });
  const early = createEarlyFetch({ ...pathDeps, usage, slices, capped });

  function pathOf(pending: PendingFetch): FetchPath {
    if (!hasFrequencyCaps(pending)) return early;
    return hasTotalCaps(pending) ? capped : userCapped;
  }

  async function commit(pending: PendingFetch): Promise<FetchResult> {
    const { publisher, request, dev } = pending;
    const placement = dev ? request.placement : placements.resolve(publisher, request.placement);
    pending.placement = typeof placement === 'string' ? placement : await placement;
    const moved = userKeys.isRotating ? movingUsers.move(pending) : null;
    if (moved !== null) await moved;
    const result = await pathOf(pending).add(pending);
    measure(deps, pending, result.session);
    traceDecision(pending, result.session);
    return result;
  }

  return {
    fetch: (publisher, request, trace) => {
      if (!dbHealth.isUp()) return Promise.reject(databaseUnavailable());
      const pending = open(publisher, request, { kind: 'unit' });
      pending.trace = trace;
      const answer = commit(pending).then((result) => result.answer as Buffer);
      return request.timeoutMs === null
        ? answer
        : withinDeadline(request.timeoutMs, answer, () => late.expireAndAnswer(pending));
    },
    release: answers.release,
    decideWall: async (publisher, request, link) => {
      if (!dbHealth.isUp()) throw databaseUnavailable();
      const pending = open(publisher, request, { kind: 'offerwall', link });
      const { session } = await commit(pending);
      return { session, theme: pending.theme };
    },
    renderWall: renderer.renderWall,
    explain: createExplain(open, createInputNow({ ...deps, failFast })),
    drain: async () => {
      await movingUsers.drain();
      await early.drain();
      await userCapped.drain();
      await capped.drain();
      await late.drain();
      await states.drain();
    },
  };
}

function traceDecision({ trace, decision }: PendingFetch, { id, emptyReason, offers }: SessionRecord): void {
  if (trace === null || decision === null) return;
  const { startMs, tookMs } = decision;
  trace.child('decide', startMs, startMs + tookMs, {
    'perkwire.session_id': id,
    'perkwire.result': emptyReason ?? 'filled',
    'perkwire.offers': offers.length,
  });
}

/** Counts a fetch that was committed. */
function measure(
  { fetchMeter, outcomes }: Pick<OfferDeps, 'fetchMeter' | 'outcomes'>,
  { dev, decision, expired, surface }: PendingFetch,
  { emptyReason, offers }: SessionRecord,
): void {
  if (dev) return;
  if (decision !== null) fetchMeter.decided(decision.tookMs);
  if (decision !== null && !expired) outcomes.decided(decision.input);
  fetchMeter.answered(surface.kind, expired ? 'deadline' : emptyReason, expired ? 0 : offers.length);
}
