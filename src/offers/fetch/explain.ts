import type { Publisher } from '../../catalog/snapshot/types.ts';
import { explain } from '../../decision/explain/explain.ts';
import { type Explanation, noHistory } from '../../decision/types.ts';
import type { FailFast } from '../../platform/db/fail-fast.ts';
import { newUuid7 } from '../../platform/lib/uuid7.ts';
import { activeCapsOf } from '../caps/active-caps.ts';
import { readHistory } from '../caps/history.ts';
import type { LiveUsage } from '../caps/live-usage.ts';
import { totalsAt } from '../caps/totals.ts';
import { seedOf } from '../decision-log/decision-record.ts';
import type { ModelSource } from '../model/source.ts';
import type { OfferDeps } from '../ports.ts';
import { inputFor } from './decide-session.ts';
import type { OpenFetch } from './pending-fetch.ts';
import type { FetchOffersRequest } from './request.ts';

export type Explain = (publisher: Publisher, request: FetchOffersRequest) => Promise<Explanation[]>;

type ExplainDeps = Pick<OfferDeps, 'pool' | 'now'> & {
  failFast: FailFast;
  open: OpenFetch;
  usage: LiveUsage;
  model: ModelSource;
};

/** Says why each offer would be shown to a request now, or not. Nothing is stored, counted or reserved. */
export function createExplain({ pool, now, failFast, open, usage, model }: ExplainDeps): Explain {
  return async (publisher, request) => {
    const pending = open(publisher, request, { kind: 'unit' });
    const { userKey, snapshot } = pending;
    const nowMs = now();
    const activeCaps = activeCapsOf(snapshot);
    const history = userKey === null ? noHistory : await failFast(() => readHistory(pool, userKey, nowMs));
    const totals = totalsAt(await failFast(() => usage.known(activeCaps)), activeCaps, nowMs);
    const sources = { history, totals, model: model.current() };
    return explain(inputFor(pending, sources, nowMs, seedOf(newUuid7(nowMs))));
  };
}
