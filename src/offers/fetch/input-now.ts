import type pg from 'pg';
import { type ActiveCaps, activeCapsOf, type UserHistory } from '../../budgets/caps.ts';
import { readHistory } from '../../budgets/history.ts';
import { loadTrueUsage } from '../../budgets/slice-rows.ts';
import { totalsAt } from '../../budgets/totals.ts';
import { createUsageTable, periodsOf, type UsageTable } from '../../budgets/usage.ts';
import type { CatalogStore } from '../../catalog/store.ts';
import type { Publisher, Theme } from '../../catalog/types.ts';
import { type Explanation, explain } from '../../decision/explain.ts';
import type { DecisionContext, DecisionInput } from '../../decision/types.ts';
import type { ModelSource } from '../../learning/source.ts';
import type { FailFast } from '../../platform/db/health.ts';
import { newUuid7, seedOf } from '../../platform/lib/uuid7.ts';
import { contextOf, type OpenFetch, type PendingFetch } from './pending-fetch.ts';
import type { FetchOffersRequest } from './request.ts';

/** Reads the actual usage of totals, without the slices leased by processes. */
async function readUsage(pool: pg.Pool, activeCaps: ActiveCaps, nowMs: number): Promise<UsageTable> {
  const periods = periodsOf(activeCaps.totals, nowMs);
  const table = createUsageTable();
  if (periods.length > 0) for (const used of await loadTrueUsage(pool, periods)) table.set(used);
  return table;
}

/**
 * Reads the combined history of a user's keys, the current one first, as a fetch would after moving them
 * (caps/move-histories.ts).
 */
async function readHistoryOf(pool: pg.Pool, keys: readonly string[], storedUntilMs: number): Promise<UserHistory> {
  return joinHistories(await Promise.all(keys.map((key) => readHistory(pool, key, storedUntilMs))));
}

/** Combines histories. For the same campaign, earlier entries of the list take precedence. */
export const joinHistories = (histories: readonly UserHistory[]): UserHistory => ({
  optOuts: Object.assign({}, ...histories.map(({ optOuts }) => optOuts).toReversed()),
  exposures: histories.flatMap(({ exposures }) => exposures),
});

/**
 * Options of an input. `theme` undefined means that of the placement, else the default. `earlierKeys` are the user's
 * keys under earlier peppers.
 */
type InputOptions = { theme?: Theme | null; earlierKeys?: readonly string[] };

/** Builds the input of a decision that would be made now. */
export type InputNow = (
  publisher: Publisher,
  context: Omit<DecisionContext, 'nowMs'>,
  options?: InputOptions,
) => Promise<DecisionInput>;

/** Sources of a decision's input. */
export type InputSources = {
  pool: pg.Pool;
  now: () => number;
  catalog: CatalogStore;
  model: ModelSource;
  eventsStoredUntil: () => number;
};

/** Reads the user's real history and the campaigns' usage of their caps. Nothing is locked or reserved. */
export function createInputNow(
  { pool, now, catalog, model, eventsStoredUntil }: InputSources,
  failFast: FailFast,
): InputNow {
  return async (publisher, context, { theme, earlierKeys = [] } = {}) => {
    const { userKey } = context;
    const activeCaps = activeCapsOf(catalog.current());
    const nowMs = now();
    const keys = userKey === null ? [] : [userKey, ...earlierKeys];
    const history = await failFast(() => readHistoryOf(pool, keys, eventsStoredUntil()));
    const totals = totalsAt(await failFast(() => readUsage(pool, activeCaps, nowMs)), activeCaps.total, nowMs);
    const ofPlacement = publisher.themes.get(publisher.placements.get(context.placement)?.themeId ?? 0);
    return {
      publisher,
      theme: theme === undefined ? (ofPlacement ?? publisher.defaultTheme) : theme,
      context: { ...context, nowMs },
      history,
      totals,
      model: model.current(),
      seed: seedOf(newUuid7(nowMs)),
    };
  };
}

export type Explain = (publisher: Publisher, request: FetchOffersRequest) => Promise<Explanation[]>;

/** Explains why each offer would or would not be shown to a request now. Nothing is stored, counted or reserved. */
export function createExplain(
  open: OpenFetch,
  inputNow: InputNow,
  readProfile: (pending: PendingFetch) => Promise<void>,
): Explain {
  return async (publisher, request) => {
    const pending = open(publisher, request, { kind: 'unit' });
    if (pending.profileKeys.all.length > 0) await readProfile(pending);
    const { theme, earlierKeys } = pending;
    return explain(await inputNow(pending.publisher, contextOf(pending, 0), { theme, earlierKeys }));
  };
}
