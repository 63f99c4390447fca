import {
  type AdState,
  announce,
  isReady,
  type Loading,
  open,
  releaseSpace,
  reportError,
  reportOnce,
  scheduleShow,
  setupOf,
  showsItself,
  startSession,
} from './ad-state.ts';
import { SdkError } from './errors.ts';
import { toJson } from './json.ts';
import { activation, type Setup } from './page.ts';
import { type LoadedOffers, loadOffers, requestBody } from './session/load-offers.ts';
import type { OfferSession } from './session/session.ts';
import { loadUnitFile } from './unit/unit-file.ts';
import { loadWords } from './words.ts';

/**
 * Fetches offers. Does nothing if offers for the same request, or offers passed by the page, are already loaded or
 * loading. `fresh` forces a fetch.
 * @returns whether there are offers
 */
export async function load(ad: AdState, fresh = false): Promise<boolean> {
  return begin(ad, (setup) => {
    const { base, config, user } = setup;
    const { accountId, prefetch, loyaltyboost, creative, campaignId, country } = config;
    const query = [accountId, prefetch, loyaltyboost, creative, campaignId, country];
    const key = keyOf([base, query, requestBody(config, user)]);
    const { loading, session } = ad;
    if (loading !== null && (loading.key === key || loading.isSupplied)) return loading;
    if (!fresh && loading === null && isCurrent(session, key)) return null;
    if (fresh) ad.announced = false;
    return start(ad, setup, { key, isSupplied: false, offers: () => loadOffers(setup, ad.mounted) });
  });
}

/**
 * Shows the offers, fetching them first if necessary. If the unit is already open, shows the next offer.
 * @throws SdkError
 */
export function show(ad: AdState): void {
  if (ad.loading === null && ad.session === null && !ad.failed) void load(ad);
  if (ad.loading !== null) ad.loading.show = true;
  else if (ad.session?.unit) ad.session.unit.actions.next();
  else if (ad.session !== null) open(ad);
}

/**
 * Uses a response that was fetched elsewhere. A fetch in progress is discarded.
 * @returns whether the response has offers
 */
export async function useResponse(ad: AdState, raw: unknown): Promise<boolean> {
  return begin(ad, (setup) => {
    const key = keyOf(raw);
    const { loading, session, cancelAutoShow } = ad;
    if (loading?.key === key) return loading;
    if (session?.key === key && (session.unit ?? cancelAutoShow) !== null) return null;
    return start(ad, setup, { key, isSupplied: true, offers: async () => ({ raw, stored: null, saved: true }) });
  });
}

/** Starts a load that concurrent calls share. `choose` returns null if the current offers can be used. */
async function begin(ad: AdState, choose: (setup: Setup) => Loading | null): Promise<boolean> {
  try {
    const loading = choose(setupOf(ad));
    if (loading === null) return isReady(ad);
    loading.closed = false;
    return await loading.result;
  } catch (err) {
    return reportError(ad, err);
  }
}

type Request = { key: string; isSupplied: boolean; offers: () => Promise<LoadedOffers> };

function start(ad: AdState, setup: Setup, request: Request): Loading {
  const { key, isSupplied } = request;
  const show = ad.loading?.show === true;
  const loading: Loading = { key, isSupplied, result: Promise.resolve(false), show, closed: false };
  ad.loading = loading;
  ad.failed = false;
  loading.result = finish(ad, setup, loading, request);
  return loading;
}

/** Starts the session once its offers and the unit file are loaded, unless a later load has replaced this one. */
async function finish(ad: AdState, setup: Setup, loading: Loading, { offers }: Request): Promise<boolean> {
  const { config, base } = setup;
  const { key, isSupplied } = loading;
  const calledAtMs = performance.now();
  /**
   * Expected value of `ad.loading`. A different value means that another load has replaced this one or that the unit
   * was destroyed.
   */
  let expected: Loading | null = loading;
  try {
    const activated = activation();
    const answer = activated === null ? offers() : activated.then(offers);
    const [loaded, unitFile, words] = await Promise.all([answer, loadUnitFile(base), loadWords(config, base)]);
    if (ad.loading !== expected) return ad.loading?.result ?? isReady(ad);
    expected = ad.loading = null;
    if (loading.closed) throw new SdkError('closed', 'The offers arrived after close().');
    if (!loaded.saved) reportOnce(ad, new SdkError('storage_error', 'The offers cannot be stored.'));
    const hasOffers = startSession(ad, setup, loaded, { key, isSupplied, unitFile, words });
    if (loading.show) open(ad);
    else if (isSupplied) {
      ad.ignoreReload = showsItself(ad, config);
      scheduleShow(ad, config, calledAtMs);
    }
    return hasOffers;
  } catch (err) {
    if (ad.loading !== expected) return ad.loading?.result ?? isReady(ad);
    ad.loading = null;
    ad.failed = true;
    releaseSpace(ad);
    reportError(ad, err);
    if (config.prefetch === true && !loading.closed) announce(ad, 0, {});
    return false;
  }
}

/** Returns a key for a value. Equal values have equal keys. */
function keyOf(value: unknown): string {
  try {
    return `${toJson(value)}`;
  } catch {
    return ''; // cyclic, which the request will report
  }
}

/** Returns whether the session's offers can still be used, because they have not been shown yet or are on display. */
const isCurrent = (session: OfferSession | null, key: string): boolean =>
  session !== null && (session.key === key || session.isSupplied) && (!session.opened || session.unit !== null);
