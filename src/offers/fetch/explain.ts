import type { Publisher } from '../../catalog/types.ts';
import { type Explanation, explain } from '../../decision/explain.ts';
import type { InputNow } from './input-now.ts';
import { contextOf, type OpenFetch } from './pending-fetch.ts';
import type { FetchOffersRequest } from './request.ts';

export type Explain = (publisher: Publisher, request: FetchOffersRequest) => Promise<Explanation[]>;

/** Says why each offer would be shown to a request now, or not. Nothing is stored, counted or reserved. */
export function createExplain(open: OpenFetch, inputNow: InputNow): Explain {
  return async (publisher, request) => {
    const pending = open(publisher, request, { kind: 'unit' });
    const { theme, earlierKeys } = pending;
    return explain(await inputNow(pending.publisher, contextOf(pending, 0), { theme, earlierKeys }));
  };
}
