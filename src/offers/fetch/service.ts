import type pg from 'pg';
import { planFetch } from '../../budgets/caps.ts';
import type { Budgets } from '../../budgets/module.ts';
import type { Publisher, Theme } from '../../catalog/types.ts';
import type { Config } from '../../config.ts';
import type { Assigned } from '../../experiments/assign.ts';
import type { BatchMeters } from '../../platform/db/batch.ts';
import { type Batcher, createBatcher } from '../../platform/db/batcher.ts';
import { createFailFast, type DatabaseHealth } from '../../platform/db/health.ts';
import { databaseUnavailable } from '../../platform/errors.ts';
import type { Geo } from '../../platform/geo.ts';
import type { Pieces } from '../../platform/http/hot-routes.ts';
import { newUuid7 } from '../../platform/lib/uuid7.ts';
import type { Logger } from '../../platform/logger.ts';
import type { TokenCodec } from '../../platform/security/tracking-token.ts';
import { createUserKeys } from '../../platform/security/user-key.ts';
import type { Trace } from '../../platform/tracing/tracing.ts';
import type { FetchMeter } from '../metrics.ts';
import { createQrCodes } from '../qr.ts';
import { createRenderer, type FetchResult, joinAnswers, type Renderer, renderSession } from '../render/render.ts';
import type { OutcomeSampler } from '../request-log/outcomes.ts';
import type { SessionRecord } from '../session-record.ts';
import { emptySessions } from '../sessions.ts';
import { createCommitter, type EmptyExpired } from './committer.ts';
import { createCountOffers, type OfferCounter } from './count-offers.ts';
import { createStateWriter, type FetchDecision } from './decide-session.ts';
import { createExplain, createInputNow, type Explain, type InputSources } from './input-now.ts';
import { createMovingUsers } from './moving-users.ts';
import {
  createFetchOpener,
  isUspOn,
  type OpenFetch,
  openCall,
  type PendingFetch,
  type WallLink,
} from './pending-fetch.ts';
import { createProfileReader } from './profiles.ts';
import type { FetchOffersRequest } from './request.ts';
import type { SeveralPlacements } from './several-placements.ts';

/** Calls that return offers for ad units. */
export type UnitCalls = {
  /**
   * Fetches offers for one placement.
   * @returns the response as JSON, after the session is committed
   * @throws AppError unavailable
   */
  fetch: (publisher: Publisher, request: FetchOffersRequest, trace: Trace | null) => Promise<Pieces>;
  /**
   * Fetches offers for several placements. No two placements get the same offer, campaign or exclusion group. Earlier
   * placements take precedence.
   */
  fetchSeveral: (publisher: Publisher, placements: SeveralPlacements, trace: Trace | null) => Promise<Pieces>;
  /** Returns how many offers `fetchSeveral` would show at each placement. Nothing is stored, counted or reserved. */
  count: (publisher: Publisher, placements: readonly { request: FetchOffersRequest }[]) => Promise<number[]>;
};

/** Calls that return offers for the offerwall. */
export type WallCalls = {
  /**
   * Decides all offers of an offerwall and commits its session.
   * @throws AppError unavailable
   */
  decideWall: (
    publisher: Publisher,
    request: FetchOffersRequest,
    link: WallLink | null,
  ) => Promise<{ session: SessionRecord; theme: Theme | null; assigned: Assigned | null }>;
  renderWall: Renderer['renderWall'];
};

/** Decides which offers to show, commits the session, and renders the response. */
export type OfferService = UnitCalls &
  WallCalls & {
    explain: Explain;
    /** Renders QR codes before they are first shown. */
    prepare: Renderer['prepare'];
    drain: () => Promise<void>;
  };

/** Dependencies for deciding, committing and measuring fetches. */
type FetchSources = InputSources & {
  pool: pg.Pool;
  flushPool: pg.Pool;
  dbHealth: DatabaseHealth;
  batchMeters: BatchMeters;
  tokens: TokenCodec;
  geo: Geo;
  config: Config;
  logger: Logger;
  budgets: Budgets;
  /** Returns the name under which a placement appears in reports. */
  resolvePlacement: (publisher: Publisher, name: string) => string | Promise<string>;
  fetchMeter: FetchMeter;
  outcomes: OutcomeSampler;
};

export function createOfferService(sources: FetchSources): OfferService {
  const { flushPool, dbHealth, tokens, config, now, budgets, model, batchMeters } = sources;
  const renderer = createRenderer({ publicUrl: config.publicUrl, tokens, qrCodes: createQrCodes(), now });
  const failFast = createFailFast(dbHealth);
  const userKeys = createUserKeys(config.userPepper, config.earlierPeppers);
  const open = createFetchOpener(sources, userKeys);
  const movingUsers = createMovingUsers({ pool: flushPool, dbHealth, now, batchMeters, userKeys });
  const states = createStateWriter(sources);
  const late = createLateAnswers(sources, renderer);
  const shared = { pool: flushPool, dbHealth, now, batchMeters };
  const committer = createCommitter({ dbHealth, now, batchMeters, model, states, renderer, late, budgets });
  const counter = createCountOffers(sources);
  const profiles = createProfileReader(shared);

  const placementOf = ({ dev, request, publisher }: PendingFetch): string | Promise<string> =>
    dev ? request.placement : sources.resolvePlacement(publisher, request.placement);

  /** Whether the user's profile must be read by a separate query, because no history is read for the fetch. */
  const needsProfileAlone = (fetch: PendingFetch): boolean =>
    fetch.profileKeys.all.length > 0 && !planFetch(fetch).history;

  function measured(result: FetchResult): FetchResult {
    measure(sources, result.decision);
    traceDecision(result.decision);
    return result;
  }

  async function commit(opened: PendingFetch): Promise<FetchResult> {
    const placement = placementOf(opened);
    let fetch = atPlacement(opened, typeof placement === 'string' ? placement : await placement);
    if (userKeys.isRotating) fetch = (await movingUsers.move(fetch)) ?? fetch;
    const profile = needsProfileAlone(fetch) ? await profiles.add(fetch) : null;
    return measured(await committer.add(fetch, profile));
  }

  /**
   * Decides all fetches of a call in order. They usually end up in one batch, because all of them are added in the same
   * event loop turn.
   */
  async function commitSeveral(first: PendingFetch, call: readonly PendingFetch[]): Promise<FetchResult[]> {
    const fetches: PendingFetch[] = [];
    for (const fetch of call) fetches.push(atPlacement(fetch, await placementOf(fetch)));
    if (userKeys.isRotating) await movingUsers.move(first);
    const storedProfiles = await Promise.all(
      fetches.map((fetch) => (needsProfileAlone(fetch) ? profiles.add(fetch) : null)),
    );
    return Promise.all(
      fetches.map(async (fetch, index) => measured(await committer.add(fetch, storedProfiles[index] ?? null))),
    );
  }

  return {
    ...createUnitCalls({ open, dbHealth, commit, commitSeveral, counter, late }),
    decideWall: async (publisher, request, link) => {
      if (!dbHealth.isUp()) throw databaseUnavailable();
      const pending = open(publisher, request, { kind: 'offerwall', link });
      const { session } = (await commit(pending)).decision;
      return { session, theme: pending.theme, assigned: pending.assigned };
    },
    renderWall: renderer.renderWall,
    prepare: renderer.prepare,
    explain: createExplain(open, createInputNow(sources, failFast), profiles.add),
    drain: async () => {
      for (const part of [movingUsers, profiles, counter, committer, late, states]) await part.drain();
    },
  };
}

const atPlacement = (fetch: PendingFetch, placement: string): PendingFetch =>
  placement === fetch.placement ? fetch : { ...fetch, placement };

type UnitCallDeps = {
  dbHealth: DatabaseHealth;
  open: OpenFetch;
  commit: (pending: PendingFetch) => Promise<FetchResult>;
  commitSeveral: (first: PendingFetch, call: readonly PendingFetch[]) => Promise<FetchResult[]>;
  counter: OfferCounter;
  late: LateAnswers;
};

/** Creates the calls for ad units, which respond to each fetch before its deadline. */
function createUnitCalls({ open, dbHealth, commit, commitSeveral, counter, late }: UnitCallDeps): UnitCalls {
  return {
    fetch: (publisher, request, trace) => {
      if (!dbHealth.isUp()) return Promise.reject(databaseUnavailable());
      const pending = open(publisher, request, { kind: 'unit' }, trace);
      const answer = commit(pending).then((result) => result.answer as Pieces);
      return inTime(request, answer, () => late.expireAndAnswer(pending));
    },
    fetchSeveral: (publisher, placements, trace) => {
      if (!dbHealth.isUp()) return Promise.reject(databaseUnavailable());
      const [{ request }] = placements;
      const first = open(publisher, request, { kind: 'unit' }, trace);
      const call = openCall(first, placements);
      const joined = (answers: readonly Pieces[]): Pieces =>
        joinAnswers(placements.map(({ name }, index) => ({ name, answer: answers[index] as Pieces })));
      const answer = commitSeveral(first, call).then((results) =>
        joined(results.map((result) => result.answer as Pieces)),
      );
      return inTime(request, answer, () => joined(call.map(late.expireAndAnswer)));
    },
    count: (publisher, placements) => {
      if (!dbHealth.isUp()) return Promise.reject(databaseUnavailable());
      const { request } = placements[0] as { request: FetchOffersRequest };
      const counts = counter.count(openCall(open(publisher, request, { kind: 'unit' }), placements));
      return inTime(request, counts, () => placements.map(() => 0));
    },
  };
}

function traceDecision({ fetch: { trace }, evaluation, session }: FetchDecision): void {
  if (trace === null || evaluation === null) return;
  const { startMs, tookMs } = evaluation;
  trace.child('decide', startMs, startMs + tookMs, {
    'perkwire.session_id': session.id,
    'perkwire.result': session.emptyReason ?? 'filled',
    'perkwire.offers': session.offers.length,
  });
}

/** Records metrics of a committed fetch. */
function measure({ fetchMeter, outcomes }: FetchSources, { fetch, evaluation, session }: FetchDecision): void {
  const { dev, surface, answer } = fetch;
  if (dev) return;
  if (evaluation !== null) {
    fetchMeter.decided(evaluation.tookMs);
    if (!answer.expired) outcomes.decided(evaluation.input);
  }
  const { emptyReason, offers } = session;
  fetchMeter.answered(surface.kind, answer.expired ? 'deadline' : emptyReason, answer.expired ? 0 : offers.length);
}

/**
 * Sends empty responses to fetches that miss their deadline. If a session is committed for such a fetch later, removes
 * its offers.
 */
type LateAnswers = {
  /**
   * Marks a fetch as expired and returns the empty response to send. If its session is committed later, its offers are
   * removed.
   */
  expireAndAnswer: (pending: PendingFetch) => Pieces;
  emptyExpired: EmptyExpired;
  drain: () => Promise<void>;
};

function createLateAnswers(
  { flushPool: pool, dbHealth, logger, now, batchMeters }: FetchSources,
  renderer: Renderer,
): LateAnswers {
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
      const { answer, dev, request } = pending;
      answer.expired = true;
      answer.sessionId ??= newUuid7(now());
      const { sessionId: id } = answer;
      const empty = { id, dev, pubUserId: request.pubUserId, usp: isUspOn(pending), offers: [], macros: {} };
      return renderSession(renderer, pending, empty);
    },
    emptyExpired: (committed) => {
      const late = committed.filter(({ fetch, session }) => fetch.answer.expired && session.offers.length > 0);
      if (late.length === 0) return;
      Promise.all(late.map(({ session }) => emptying.add(session.id))).catch((err) =>
        logger.warn({ err }, 'emptying sessions that missed their deadline failed'),
      );
    },
    drain: emptying.drain,
  };
}

/** Returns the part of a deadline to reserve for writing and sending the response, in milliseconds. */
const marginMs = (timeoutMs: number): number => Math.min(20, timeoutMs / 5);

/**
 * Returns the response if it is ready before the deadline, or else the response that `late` returns. If the fetch fails
 * before the deadline, the error is passed on.
 */
function inTime<Answer>(
  { timeoutMs }: FetchOffersRequest,
  answer: Promise<Answer>,
  late: () => Answer,
): Promise<Answer> {
  if (timeoutMs === null) return answer;
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => resolve(late()), timeoutMs - marginMs(timeoutMs));
    answer.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}
