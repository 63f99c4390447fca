import { readAnswer } from './answer.ts';
import type { Bridge } from './bridge.ts';
import { describeError, SdkError } from './errors.ts';
import { configOf, type Page, readSetup } from './page.ts';
import { findOpenSession, type LoadedOffers, loadOffers } from './session/load-offers.ts';
import { removePrefetched } from './session/prefetch.ts';
import { createOfferSession, disposeSession, type OfferSession, openSession } from './session/session.ts';
import type { Emit } from './types.ts';
import { confirm } from './usp/confirmation.ts';
import { createUsp } from './usp/usp.ts';

export type AdOptions = { page: Page; scriptBase: string; bridge: Bridge; emit: Emit };

/** What the methods of one `Ad` share. */
export type AdState = AdOptions & {
  session: OfferSession | null;
  loading: Promise<boolean> | null;
  cancelAutoShow: () => void;
};

export const isReady = ({ session }: AdState): boolean => (session?.answer.offers.length ?? 0) > 0;

/** Emits an error, for methods that never throw. */
export function reportError({ emit }: AdState, err: unknown): false {
  emit('error', describeError(err));
  return false;
}

/** Replaces the session by one of this response. @returns whether it has offers. @throws SdkError */
export function startSession(ad: AdState, { raw, stored }: LoadedOffers): boolean {
  const { page, scriptBase, bridge, emit } = ad;
  const answer = readAnswer(raw, configOf(page));
  if (ad.session !== null) disposeSession(ad.session);
  ad.session = createOfferSession({ ...readSetup(page, scriptBase), answer, stored, bridge, emit });
  const count = answer.offers.length;
  const prefetch = configOf(page).prefetch === true;
  // A host app that prefetches reads the count, also when it is 0 (docs/interface.md#web-sdk).
  if (count > 0 || prefetch)
    emit('ads_found', { offerCount: count, total: count, ...(prefetch ? { response: raw } : {}) });
  if (count === 0) emit('no_ads_found', { offerCount: 0, total: 0 });
  return count > 0;
}

/** Calls during a load share its result. @returns whether there are offers */
export async function load(ad: AdState): Promise<boolean> {
  ad.cancelAutoShow();
  ad.loading ??= loadAndStart(ad)
    .catch((err) => reportError(ad, err))
    .finally(() => {
      ad.loading = null;
    });
  return ad.loading;
}

const loadAndStart = async (ad: AdState): Promise<boolean> =>
  startSession(ad, await loadOffers(readSetup(ad.page, ad.scriptBase)));

/** @throws SdkError */
export function show(ad: AdState): void {
  ad.cancelAutoShow();
  if (ad.session === null) throw new SdkError('not_ready', 'Call load() first.');
  if (!isReady(ad) || ad.session.unit !== null) return;
  removePrefetched(configOf(ad.page).accountId as string);
  openSession(ad.session);
}

/** Confirms the session that an earlier page of the tab stored. @throws SdkError */
export async function confirmStoredSession({ page, scriptBase, emit }: AdState): Promise<boolean> {
  const { api, config, user } = readSetup(page, scriptBase);
  const stored = await findOpenSession(api, config.accountId as string, user);
  if (stored === null) throw new SdkError('usp_error', 'There is no session to confirm.');
  const usp = createUsp({ ...stored, api, emit, onChange: () => {} });
  return confirm(usp).finally(usp.removeListeners);
}
