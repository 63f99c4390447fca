import { SdkError } from '../errors.ts';
import { toJson } from '../json.ts';
import { type Setup, whenParsed } from '../page.ts';
import { tryCall } from '../try-call.ts';
import type { UserPayload } from '../types.ts';

/** Maximum number of placements in one call (docs/reference/fetch-offers.md#multiple-placements). */
const maxPlacements = 10;

/** A unit that waits for its offers. `ask`: makes a call for only this unit. */
type Waiting = {
  name: string;
  theme_id: unknown;
  ask: () => Promise<unknown>;
  settle: (raw: Promise<unknown>) => void;
};

type Query = Parameters<Setup['api']['fetchOffers']>[0];

/** Calls that are not sent yet; units with equal keys differ only in placement and theme. */
const calls = new Map<string, Waiting[]>();

/**
 * Fetches the offers of a mounted unit in one call with those of all other units that are mounted until the page is
 * parsed, or later in the same task. Its response contains no offer twice. @returns the response as of a call for this
 * unit
 */
export function fetchTogether(
  { api, base, config }: Pick<Setup, 'api' | 'base' | 'config'>,
  query: Query,
  body: UserPayload,
): Promise<unknown> {
  const { placement, themeId, ...shared } = body;
  const ask = (): Promise<unknown> => api.fetchOffers(query, body);
  const key = tryCall(() => toJson([base, config.accountId, query, shared]));
  // The value is cyclic, which the call will report.
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
    // Run after the page's own handlers of the parsed page, which may mount units.
    whenParsed(() => void setTimeout(send));
    calls.set(key, opened);
    units = opened;
  }
  const batch = units;
  return new Promise((settle) => batch.push({ name, theme_id: themeId, ask, settle }));
}

/** Converts one placement's part of the response to the response of a separate call. @throws SdkError server_error */
function entryOf(raw: unknown, index: number): unknown {
  const entry = (raw as { data?: { placements?: unknown[] } }).data?.placements?.[index];
  if (entry === undefined) throw new SdkError('server_error', 'The response lacks the placement.', refusedStatus);
  return { data: entry };
}

const refusedStatus = 400;

/** Retries a placement separately, because one that fails in a joint call must not cost the others their offers. */
const alone =
  (ask: () => Promise<unknown>) =>
  (err: unknown): Promise<unknown> => {
    if (err instanceof SdkError && err.status === refusedStatus) return ask();
    throw err;
  };
