import type { Totals, UserHistory } from '../../budgets/types.ts';
import { decide } from '../../decision/decide.ts';
import type { DecidedOffer, Decision, DecisionInput } from '../../decision/types.ts';
import type { ModelSource } from '../../learning/source.ts';
import { newUuid7, seedOf } from '../../platform/lib/uuid7.ts';
import { storedInputsOf, withLinkedFirst } from '../decision-log/decision-record.ts';
import type { StateWriter } from '../decision-log/state-writer.ts';
import { type MacroValues, macroNames, macroValuesOf } from '../macros.ts';
import type { DecidedSession } from '../session-record.ts';
import { contextOf, isUspOn, linkedOfferId, type PendingFetch } from './pending-fetch.ts';

/** Where decisions take the ranking model from, and what keeps model and catalogue, to explain them later. */
export type DecisionSources = { model: Pick<ModelSource, 'current'>; states: Pick<StateWriter, 'note'> };

/** What the database knows that a decision needs. */
type Known = { history: UserHistory; totals: Totals };

/** Decides for a fetch. One that has expired shows nothing: its answer is sent already. */
export function decideSession(
  { model, states }: DecisionSources,
  pending: PendingFetch,
  { history, totals }: Known,
  nowMs: number,
): DecidedSession {
  const { snapshot, publisher, theme, request, expired } = pending;
  if (!expired || pending.sessionId === null) pending.sessionId = newUuid7(nowMs);
  const current = model.current();
  const input: DecisionInput = {
    publisher,
    theme,
    context: contextOf(pending, nowMs),
    history,
    totals,
    posteriors: current.posteriors,
    seed: seedOf(pending.sessionId),
  };
  const { offers, emptyReason } = expired ? { offers: [], emptyReason: 'deadline' } : decideFor(pending, input);
  states.note(snapshot, current);
  const linked = linkedOfferId(pending);
  const decided = withLinkedFirst(offers, linked);
  return {
    id: pending.sessionId,
    publisherId: publisher.id,
    placement: pending.placement,
    themeId: theme?.id ?? null,
    userKey: pending.userKey,
    pubUserId: request.pubUserId,
    client: pending.client,
    offers: decided.map(({ offer }) => offer),
    decided,
    emptyReason,
    decision: {
      catalogVersion: snapshot.version,
      scores: decided.map(({ score }) => score),
      inputs: storedInputsOf(input, current.id, linked),
    },
    custom: request.custom,
    macros: macrosFor(decided, pending),
    dev: pending.dev,
    usp: isUspOn(pending),
    uspCheckAll: theme?.uspCheckAll ?? false,
    createdAtMs: nowMs,
  };
}

function decideFor(pending: PendingFetch, input: DecisionInput): Decision {
  const startMs = performance.now();
  const decision = decide(input);
  pending.decision = { input, startMs, tookMs: performance.now() - startMs };
  return decision;
}

/** The values the shown copy is filled with; stored with the session, so that the webhook fills in the same. */
function macrosFor(decided: readonly DecidedOffer[], { request }: PendingFetch): MacroValues {
  let names: Set<string> | null = null;
  for (const { offer } of decided) {
    const found = macroNames(offer.copy);
    if (found.size === 0) continue;
    names ??= new Set();
    for (const name of found) names.add(name);
  }
  return names === null ? {} : macroValuesOf(request, names);
}
