import { decide } from '../../decision/decide.ts';
import type { DecidedOffer, DecisionInput, Totals, UserHistory } from '../../decision/types.ts';
import { newUuid7, seedOf } from '../../platform/lib/uuid7.ts';
import { storedInputsOf, withLinkedFirst } from '../decision-log/decision-record.ts';
import type { Model } from '../model/posteriors.ts';
import type { OutcomeSampler } from '../outcomes/sampler.ts';
import { type MacroValues, macroNames, macroValuesOf } from '../render/macros.ts';
import { contextOf, isUspOn, linkedOfferId, type PendingFetch } from './pending-fetch.ts';
import type { SessionRecord } from './session-record.ts';

/** Inputs of a decision beside the request and the catalogue. */
export type Sources = { history: UserHistory; totals: Totals; model: Model };

/** All inputs of a decision. */
const inputFor = (
  pending: PendingFetch,
  { history, totals, model }: Sources,
  nowMs: number,
  seed: number,
): DecisionInput => ({
  publisher: pending.publisher,
  theme: pending.theme,
  context: contextOf(pending, nowMs),
  history,
  totals,
  posteriors: model.posteriors,
  seed,
});

/** Decides for a fetch. One that has expired shows nothing: its answer is sent already. */
export function decideSession(pending: PendingFetch, sources: Sources, nowMs: number): SessionRecord {
  const { snapshot, publisher, theme, request, expired } = pending;
  if (!expired || pending.sessionId === null) pending.sessionId = newUuid7(nowMs);
  const input = inputFor(pending, sources, nowMs, seedOf(pending.sessionId));
  const startMs = performance.now();
  const decision = expired ? { offers: [], emptyReason: 'deadline' } : decide(input);
  pending.decision = { startMs, tookMs: performance.now() - startMs };
  const linked = linkedOfferId(pending);
  const decided = withLinkedFirst(decision.offers, linked);
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
    emptyReason: decision.emptyReason,
    decision: {
      catalogVersion: snapshot.version,
      scores: decided.map(({ score }) => score),
      inputs: storedInputsOf(input, sources.model.id, linked),
    },
    custom: request.custom,
    macros: macrosFor(decided, pending),
    dev: pending.dev,
    usp: isUspOn(pending),
    uspCheckAll: theme?.uspCheckAll ?? false,
    createdAtMs: nowMs,
  };
}

/** Counts what became of each campaign in a decision that counts, now and then. */
export function sampleOutcome(
  outcomes: Pick<OutcomeSampler, 'decided'>,
  pending: PendingFetch,
  sources: Sources,
  { id, publisherId, dev, createdAtMs }: SessionRecord,
): void {
  if (dev || pending.expired) return;
  outcomes.decided(publisherId, () => inputFor(pending, sources, createdAtMs, seedOf(id)));
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
