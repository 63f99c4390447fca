import type { Api } from '../api.ts';
import { themeIdOf } from '../legacy-names.ts';
import type { Setup } from '../page.ts';
import { isTransient } from '../retry.ts';
import type { AdConfig, UserPayload } from '../types.ts';
import { fetchTogether } from './fetch-together.ts';
import { findPrefetched, storePrefetched } from './prefetch.ts';
import { findStoredSessions, type StoredSession, storeSession } from './stored-session.ts';

/**
 * Response to show. `stored` is the session that the response belongs to, if an earlier page in this tab stored one.
 */
export type LoadedOffers = {
  raw: unknown;
  stored: StoredSession | null;
  /** Whether the response was stored for a later page. Also true if storing was not requested. */
  saved: boolean;
};

/** Default placement, because the service requires one (docs/reference/fetch-offers.md#request-body). */
const defaultPlacement = 'web';

export function requestBody(config: AdConfig, user: UserPayload): UserPayload {
  const dev = ['1', 1, true].includes(config.dev as string) ? { dev: '1' } : {};
  const themeId = themeIdOf(config) ?? themeIdOf(user);
  return {
    placement: config.placement ?? defaultPlacement,
    ...user,
    ...(themeId === undefined ? {} : { themeId }),
    ...dev,
  };
}

/**
 * Loads offers from this tab's session, from an earlier page's prefetch, or from the service, in this order.
 * @throws SdkError
 */
export async function loadOffers(setup: Setup, mounted: boolean): Promise<LoadedOffers> {
  const { api, config, user, storageKey } = setup;
  const body = requestBody(config, user);
  const stored = await findOpenSession(api, storageKey, body);
  if (stored !== null) return { raw: stored.raw, stored, saved: true };
  const prefetched = config.prefetch === true ? findPrefetched(storageKey, body) : null;
  if (prefetched !== null) return { raw: prefetched, stored: null, saved: true };
  const { loyaltyboost, creative, campaignId, country } = config;
  const query = { loyaltyboost, creative, campaignId, country };
  const raw = await (mounted ? fetchTogether(setup, query, body) : api.fetchOffers(query, body));
  const saved = config.prefetch !== true || storePrefetched(storageKey, body, raw);
  return { raw, stored: null, saved };
}

/**
 * Returns the latest session for this placement, with the selection from the server. If the server does not respond,
 * the stored selection is used.
 */
async function findOpenSession(api: Api, storageKey: string, user: UserPayload): Promise<StoredSession | null> {
  const stored = findStoredSessions(storageKey, user)
    .filter(({ placement }) => placement === `${user.placement}`)
    .pop();
  if (stored === undefined) return null;
  try {
    const view = await api.session(stored.sessionId, stored.pubUserId);
    if (view.status === 'open') return { ...stored, selected: view.selected };
  } catch (err) {
    if (isTransient(err)) return stored;
  }
  storeSession(storageKey, user, stored, false);
  return null;
}
