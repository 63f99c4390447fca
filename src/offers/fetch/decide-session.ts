import type pg from 'pg';
import type { StoredUsage } from '../../budgets/fetches.ts';
import { localise } from '../../catalog/provisioning.ts';
import { stateOf } from '../../catalog/store.ts';
import type { Offer, Publisher, Snapshot } from '../../catalog/types.ts';
import { decide } from '../../decision/decide.ts';
import type { DecidedOffer, Decision, DecisionInput, EmptyReason } from '../../decision/types.ts';
import type { Assigned } from '../../experiments/assign.ts';
import type { Model } from '../../learning/model.ts';
import { newUuid7, seedOf } from '../../platform/lib/uuid7.ts';
import type { Logger } from '../../platform/logger.ts';
import { insertState, packCatalogue, touchMs, touchState } from '../decision-log/states.ts';
import { type MacroValues, macroNames, macroValuesOf } from '../offer-view.ts';
import { type SessionRecord, type StoredInputs, writeDecisionRecord } from '../session-record.ts';
import {
  contextOf,
  isUspOn,
  linkedOfferId,
  noteShown,
  type PendingFetch,
  requestWith,
  type UserProfile,
} from './pending-fetch.ts';
import type { FetchOffersRequest } from './request.ts';

/** Provides the ranking model, and stores each catalogue state that is used for decisions. */
export type DecisionSources = { model: { current: () => Model }; states: { note: StateWriter['note'] } };

/** Decision for a fetch. If the fetch is decided again, a new object is created. */
export type FetchDecision = {
  fetch: PendingFetch;
  /** User profile that was used for the decision. */
  profile: UserProfile | null;
  session: SessionRecord;
  /** Shown offers, with their scores and budget reservations. */
  decided: readonly DecidedOffer[];
  /**
   * Input, start time (`performance.now()`) and duration of the decision. Null if the session is empty because its
   * fetch had expired.
   */
  evaluation: { input: DecisionInput; startMs: number; tookMs: number } | null;
};

/** Makes the decision for a fetch. An expired fetch gets no offers, because an empty response has already been sent. */
export function decideFetch(
  { model, states }: DecisionSources,
  fetch: PendingFetch,
  profile: UserProfile | null,
  { history, totals }: StoredUsage,
  nowMs: number,
): FetchDecision {
  const { snapshot, publisher, theme, answer, assigned, profileKeys } = fetch;
  const { expired } = answer;
  if (!expired || answer.sessionId === null) answer.sessionId = newUuid7(nowMs);
  const current = model.current();
  const request = requestWith(fetch, profile);
  const input: DecisionInput = {
    publisher,
    theme,
    context: contextOf(fetch, request, profile, nowMs),
    history,
    totals,
    model: current,
    seed: seedOf(answer.sessionId),
  };
  const startMs = performance.now();
  const { offers, emptyReason, ghost } = expired ? expiredOutcome : decideFor(assigned, input);
  const evaluation = expired ? null : { input, startMs, tookMs: performance.now() - startMs };
  const stateId = states.note(snapshot, publisher);
  const linked = linkedOfferId(fetch);
  const inputs = storedInputsOf(input, stateId, linked);
  if (profileKeys.email !== null) inputs.emailKey = profileKeys.email;
  if (assigned !== null) inputs.experiments = assigned.stored;
  if (ghost !== null) inputs.ghost = ghostOf(ghost);
  const decided = withLinkedFirst(offers, linked);
  noteShown(fetch, decided);
  const localisedOffers = decided.map(({ offer }) =>
    offer.translations === null ? offer : localise(offer, fetch.language, publisher),
  );
  const session: SessionRecord = {
    id: answer.sessionId,
    publisherId: publisher.id,
    placement: fetch.placement,
    themeId: theme?.id ?? null,
    userKey: fetch.userKey,
    pubUserId: request.pubUserId,
    client: fetch.client,
    offers: localisedOffers,
    language: request.language?.key ?? null,
    emptyReason,
    decision: writeDecisionRecord({
      catalogVersion: snapshot.version,
      scores: decided.map(({ score }) => score),
      inputs,
    }),
    custom: request.custom,
    macros: macrosFor(localisedOffers, request),
    dev: fetch.dev,
    usp: isUspOn(fetch),
    uspCheckAll: theme?.uspCheckAll ?? false,
    createdAtMs: nowMs,
  };
  return { fetch, profile, session, decided, evaluation };
}

/**
 * Outcome of a decision. `ghost` contains the offers that a held-out user would have seen, or is null if there is no
 * hold-out.
 */
type Outcome = {
  offers: readonly DecidedOffer[];
  emptyReason: EmptyReason | 'deadline' | null;
  ghost: readonly DecidedOffer[] | null;
};

const expiredOutcome: Outcome = { offers: [], emptyReason: 'deadline', ghost: null };

const decideFor = (assigned: Assigned | null, input: DecisionInput): Outcome =>
  assigned === null ? { ghost: null, ...decide(input) } : decideHeldOut(assigned, input);

function decideHeldOut({ isHeldOut, rules }: Assigned, input: DecisionInput): Outcome {
  const decision = decide(input);
  const isWithheld = rules?.withheld !== undefined;
  const ghost = isWithheld ? decideGhost(input).offers : decision.offers;
  if (isHeldOut) return { offers: [], emptyReason: ghost.length === 0 ? decision.emptyReason : 'held_out', ghost };
  return { ghost: isWithheld ? ghost : null, ...decision };
}

/** Makes the decision as if no campaign had a hold-out. */
export function decideGhost(input: DecisionInput): Decision {
  const { withheld: _withheld, ...arm } = input.context.arm ?? {};
  return decide({ ...input, context: { ...input.context, arm } });
}

const ghostOf = (offers: readonly DecidedOffer[]): NonNullable<StoredInputs['ghost']> => ({
  offers: offers.map(({ offer }) => offer.id),
  campaigns: offers.map(({ offer }) => offer.campaign.id),
  scores: offers.map(({ score }) => score),
});

/**
 * Returns the macro values for the shown offers. They are stored with the session, so that webhooks use the same
 * values.
 */
function macrosFor(offers: readonly Offer[], request: FetchOffersRequest): MacroValues {
  let names: Set<string> | null = null;
  for (const { copy } of offers) {
    const ofCopy = macroNames(copy);
    if (ofCopy.size === 0) continue;
    names ??= new Set();
    for (const name of ofCopy) names.add(name);
  }
  return names === null ? {} : macroValuesOf(request, names);
}

function storedInputsOf(
  { context, history, totals, model }: DecisionInput,
  catalogue: string,
  linkedOfferId: number | null,
): StoredInputs {
  const { geo, surface, browser, loyalty, onlyWithCreative, campaignId, count, audiences, shownElsewhere, arm } =
    context;
  const inputs: StoredInputs = {};
  if (geo.region !== null) inputs.region = geo.region;
  if (geo.city !== null) inputs.city = geo.city;
  if (geo.postalCode !== null) inputs.postalCode = geo.postalCode;
  if (geo.timeZone !== null) inputs.timeZone = geo.timeZone;
  if (browser !== null) inputs.browser = browser;
  if (surface === 'offerwall') inputs.wall = true;
  if (linkedOfferId !== null) inputs.linkedOfferId = linkedOfferId;
  if (loyalty !== 'none') inputs.loyalty = loyalty;
  if (onlyWithCreative) inputs.onlyWithCreative = true;
  if (campaignId !== null) inputs.campaignId = campaignId;
  if (count !== null) inputs.count = count;
  if (audiences.length > 0) inputs.audiences = audiences;
  if (shownElsewhere !== null) inputs.shownElsewhere = shownElsewhere;
  if (arm !== null) inputs.arm = arm;
  if (Object.keys(history.optOuts).length > 0) inputs.optOuts = history.optOuts;
  if (history.exposures.length > 0) inputs.exposures = history.exposures;
  if (totals.size > 0) inputs.totals = [...totals];
  if (model.version !== 0) inputs.modelVersion = model.version;
  inputs.catalogue = catalogue;
  return inputs;
}

/**
 * Moves the linked offer to the front if it is among the decided offers. This is the offer whose link opened the
 * offerwall.
 */
export function withLinkedFirst<Decided extends { offer: Offer }>(
  offers: readonly Decided[],
  linkedOfferId: number | null,
): readonly Decided[] {
  const linked = offers.find(({ offer }) => offer.id === linkedOfferId);
  return linked === undefined ? offers : [linked, ...offers.filter((other) => other !== linked)];
}

/** Stores each catalogue state that is used for decisions, only once and outside of requests. */
type StateWriter = {
  /**
   * Records the catalogue snapshot of a decision.
   * @returns the ID of its state (see `stateOf`)
   */
  note: (snapshot: Snapshot, publisher: Publisher) => string;
  /** Resolves when all catalogue states have been stored or have failed to be stored. */
  drain: () => Promise<void>;
};

/** Delay before a failed attempt is repeated, in milliseconds. */
const retryMs = 5_000;

/**
 * Maximum total number of offers in queued catalogues; a single catalogue may exceed it. Queued catalogues stay in
 * memory until they are packed. If a large catalogue changes faster than it can be packed, some of its states are not
 * stored.
 */
const maxWaitingOffers = 20_000;

/**
 * Maximum number of stored state IDs to remember. If publishers are loaded on first use, each has a state of its own.
 */
const maxRemembered = 20_000;

export function createStateWriter({
  pool,
  logger,
  now,
}: {
  pool: pg.Pool;
  logger: Logger;
  now: () => number;
}): StateWriter {
  /** Time when each state must be stored or marked as used again, in epoch milliseconds, keyed by state ID. */
  const dueMs = new Map<string, number>();
  let work: Promise<void> = Promise.resolve();
  let waitingOffers = 0;

  function write(id: string, offers: number, pack: () => Promise<Buffer>, nowMs: number): void {
    if ((dueMs.get(id) ?? 0) > nowMs || (waitingOffers > 0 && waitingOffers + offers > maxWaitingOffers)) return;
    waitingOffers += offers;
    if (dueMs.size > maxRemembered) dueMs.clear();
    dueMs.set(id, nowMs + touchMs);
    // States are packed one at a time, because packing competes with requests for the event loop.
    work = work.then(async () => {
      try {
        if (!(await touchState(pool, id, nowMs))) await insertState(pool, id, await pack(), nowMs);
      } catch (err) {
        dueMs.set(id, nowMs + retryMs);
        logger.debug({ err, id }, 'storing decision state failed');
      } finally {
        waitingOffers -= offers;
      }
    });
  }

  /** State of each publisher, with the time when to check again whether it is stored. */
  const noted = new WeakMap<Publisher, { id: string; checkMs: number }>();
  return {
    note: (snapshot, publisher) => {
      const nowMs = now();
      const last = noted.get(publisher);
      if (last !== undefined && nowMs < last.checkMs) return last.id;
      const { id, offers, rows } = stateOf(snapshot, publisher);
      noted.set(publisher, { id, checkMs: nowMs + retryMs });
      write(id, offers, () => packCatalogue(rows()), nowMs);
      return id;
    },
    drain: () => work,
  };
}
