import { noHistory } from '../../budgets/caps.ts';
import type { Budgets } from '../../budgets/module.ts';
import type { CatalogStore } from '../../catalog/store.ts';
import type { Publisher, Theme } from '../../catalog/types.ts';
import { type Explanation, explain } from '../../decision/explain.ts';
import type { DecisionContext, DecisionInput } from '../../decision/types.ts';
import type { ModelSource } from '../../learning/source.ts';
import type { FailFast } from '../../platform/db/health.ts';
import { runInSlices } from '../../platform/lib/slices.ts';
import { newUuid7, seedOf } from '../../platform/lib/uuid7.ts';
import { contextOf, type OpenFetch, type PendingFetch, requestWith, type UserProfile } from './pending-fetch.ts';
import type { FetchOffersRequest } from './request.ts';

/**
 * Options of a decision input. If `theme` is undefined, the placement's theme is used, or else the default theme.
 * `earlierKeys` are the user's keys under earlier peppers.
 */
type InputOptions = { theme?: Theme | null; earlierKeys?: readonly string[] };

/** Builds the input for a decision made at this moment. */
export type InputNow = (
  publisher: Publisher,
  context: Omit<DecisionContext, 'nowMs'>,
  options?: InputOptions,
) => Promise<DecisionInput>;

/** Data sources for the input of a decision. */
export type InputSources = {
  now: () => number;
  catalog: CatalogStore;
  model: ModelSource;
  preview: Budgets['preview'];
};

/**
 * Creates a function that builds the input for a decision made now, from the user's real history and the current cap
 * usage. Nothing is locked or reserved.
 */
export function createInputNow({ now, catalog, model, preview }: InputSources, failFast: FailFast): InputNow {
  return async (publisher, context, { theme, earlierKeys = [] } = {}) => {
    const { userKey } = context;
    const snapshot = catalog.current();
    const nowMs = now();
    const keys = userKey === null ? [] : [userKey, ...earlierKeys];
    const { histories } = await failFast(() => preview.histories([{ keys, publisherId: publisher.id }]));
    const totals = await failFast(() => preview.storedTotals(snapshot, publisher));
    const ofPlacement = publisher.themes.get(publisher.placements.get(context.placement)?.themeId ?? 0);
    return {
      publisher,
      theme: theme === undefined ? (ofPlacement ?? publisher.defaultTheme) : theme,
      context: { ...context, nowMs },
      history: histories[0] ?? noHistory,
      totals,
      model: model.current(),
      seed: seedOf(newUuid7(nowMs)),
    };
  };
}

export type Explain = (publisher: Publisher, request: FetchOffersRequest) => Promise<Explanation[]>;

/**
 * Creates a function that explains for each offer why a request made now would or would not show it. Nothing is stored,
 * counted or reserved.
 */
export function createExplain(
  open: OpenFetch,
  inputNow: InputNow,
  readProfile: (fetch: PendingFetch) => Promise<UserProfile | null>,
): Explain {
  return async (publisher, request) => {
    const fetch = open(publisher, request, { kind: 'unit' });
    const profile = fetch.profileKeys.all.length > 0 ? await readProfile(fetch) : null;
    const context = contextOf(fetch, requestWith(fetch, profile), profile, 0);
    const { theme, earlierKeys } = fetch;
    return runInSlices(explain(await inputNow(fetch.publisher, context, { theme, earlierKeys })));
  };
}
