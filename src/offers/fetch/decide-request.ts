import { decide } from '../../decision/decide.ts';
import type { CapUse, DecidedOffer, DecisionInput, Totals, UserHistory } from '../../decision/types.ts';
import { newUuid7 } from '../../platform/lib/uuid7.ts';
import type { Needs } from '../caps/needs.ts';
import { capUseOf, type UseTable } from '../caps/use.ts';
import type { Model } from '../model/posteriors.ts';
import { type MacroValues, macroNames, macroValuesOf } from '../render/macros.ts';
import { contextOf, type Item, isUspOn, withFirst } from './fetch-item.ts';
import { storeInputs } from './inputs.ts';
import type { SessionRecord } from './sessions.ts';

/** What a decision draws on beside the request and the catalogue. */
export type Sources = { history: UserHistory; totals: Totals; model: Model };

/** All that a decision is made of. */
export const inputFor = (
  item: Item,
  { history, totals, model }: Sources,
  nowMs: number,
  seed: number,
): DecisionInput => ({
  publisher: item.publisher,
  theme: item.theme,
  context: contextOf(item, nowMs),
  history,
  totals,
  posteriors: model.posteriors,
  seed,
});

/** Decides for a fetch. An expired one shows nothing: its answer is out already. */
export function decideItem(item: Item, sources: Sources, nowMs: number): SessionRecord {
  const { snapshot, publisher, theme, request } = item;
  if (!item.expired || item.sessionId === null) item.sessionId = newUuid7(nowMs);
  const input = inputFor(item, sources, nowMs, seedOf(item.sessionId));
  const decision = item.expired ? { offers: [], emptyReason: 'deadline' } : decide(input);
  const decided = item.wall === null ? decision.offers : withFirst(decision.offers, item.wall.first);
  const session: SessionRecord = {
    id: item.sessionId,
    publisherId: publisher.id,
    placement: item.placement,
    themeId: theme?.id ?? null,
    userKey: item.userKey,
    pubUserId: request.pubUserId,
    surroundings: item.surroundings,
    offers: decided.map(({ offer }) => offer),
    decided,
    emptyReason: decision.emptyReason,
    snapshotVersion: snapshot.version,
    inputs: item.expired ? null : storeInputs(input, sources.model.id, item.wall?.first ?? null),
    custom: request.custom,
    macros: macrosFor(decided, item),
    dev: item.dev,
    usp: isUspOn(item),
    uspCheckAll: theme?.uspCheckAll ?? false,
    createdAtMs: nowMs,
  };
  if (item.wall !== null) item.decided = session;
  return session;
}

/** The chance of a session: 32 of the random bits in its id. */
export const seedOf = (sessionId: string): number => Number.parseInt(sessionId.slice(28), 16);

/** The values the copy shown is filled with; kept with the session, so that the webhook says the same. */
function macrosFor(decided: readonly DecidedOffer[], { request }: Item): MacroValues {
  let names: Set<string> | null = null;
  for (const { offer } of decided) {
    const found = macroNames(offer.copy);
    if (found.size === 0) continue;
    names ??= new Set();
    for (const name of found) names.add(name);
  }
  return names === null ? {} : macroValuesOf(request, names);
}

export const noTotals: Totals = new Map();

/** Totals that are worked out when a decision asks for them; afterwards the map holds what it asked for. */
export function totalsAt(table: UseTable, needs: Needs, atMs: number): Totals {
  const asked = new Map<string, CapUse>();
  const { get } = asked;
  return Object.assign(asked, {
    get: (key: string): CapUse | undefined => {
      const known = get.call(asked, key) as CapUse | undefined;
      const total = known === undefined ? needs.total(key) : undefined;
      if (total === undefined) return known;
      const use = capUseOf(table, total, atMs);
      asked.set(key, use);
      return use;
    },
  });
}
