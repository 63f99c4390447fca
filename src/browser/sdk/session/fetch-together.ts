import { SdkError } from '../errors.ts';
import { toJson } from '../json.ts';
import { type Setup, whenParsed } from '../page.ts';
import { tryCall } from '../try-call.ts';
import type { UserPayload } from '../types.ts';

/** Maximum number of placements in one call (docs/reference/fetch-offers.md#multiple-placements). */
const maxPlacements = 10;

/** Unit that is waiting for its offers. `ask` fetches the offers for this unit in a separate call. */
type Waiting = {
  name: string;
  theme_id: unknown;
  ask: () => Promise<unknown>;
  settle: (raw: Promise<unknown>) => void;
};

type Query = Parameters<Setup['api']['fetchOffers']>[0];

/** Calls that have not been sent yet. Units with equal keys differ only in placement and theme. */
const calls = new Map<string, Waiting[]>();

/**
 * Fetches a mounted unit's offers in one call with other units. The call includes all units that are mounted before the
 * page has been parsed or, afterwards, in the same task. No offer is returned twice.
 * @returns the response, as if it were from a call for this unit only
 */
export function fetchTogether(
  { api, base, config }: Pick<Setup, 'api' | 'base' | 'config'>,
  query: Query,
  body: UserPayload,
): Promise<unknown> {
  const { placement, themeId, ...shared } = body;
  const ask = (): Promise<unknown> => api.fetchOffers(query, body);
  const key = tryCall(() => toJson([base, config.accountId, query, shared]));
  // A cyclic body cannot be compared with others, so fetch this unit separately. That call reports the error.
  if (key === undefined) return ask();
  const name = `${placement}`;
  let units = calls.get(key);
  if (units === undefined || units.length === maxPlacements || units.some((unit) => unit.name === name)) {
    const opened: Waiting[] = [];
    const send = (): void => {
      if (calls.get(key) === opened) calls.delete(key);
      const placements = opened.map((unit) => ({ name: unit.name, theme_id: unit.theme_id }));
      const answer = opened.length > 1 ? api.fetchOffers(query, { ...shared, placements }) : null;
      opened.forEach(({ ask, settle }, index) => {
        settle(answer === null ? ask() : answer.then((raw) => entryOf(raw, index)).catch(alone(ask)));
      });
    };
    // Wait until the page's own handlers have run, because they may mount more units.
    whenParsed(() => void setTimeout(send));
    calls.set(key, opened);
    units = opened;
  }
  const batch = units;
  return new Promise((settle) => batch.push({ name, theme_id: themeId, ask, settle }));
}

/**
 * Converts the part of a response that concerns one placement to the response of a separate call.
 * @throws SdkError server_error
 */
function entryOf(raw: unknown, index: number): unknown {
  const entry = (raw as { data?: { placements?: unknown[] } }).data?.placements?.[index];
  if (entry === undefined) throw new SdkError('server_error', 'The response lacks the placement.', refusedStatus);
  return { data: entry };
}

const refusedStatus = 400;

/**
 * Fetches a placement separately if the joint call failed. Otherwise, one invalid placement would prevent the other
 * placements from getting offers.
 */
const alone =
  (ask: () => Promise<unknown>) =>
  (err: unknown): Promise<unknown> => {
    if (err instanceof SdkError && err.status === refusedStatus) return ask();
    throw err;
  };
