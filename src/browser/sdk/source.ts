import type { Api } from './api.ts';
import { type Carried, dropSession, findSession } from './carry.ts';
import { SdkError } from './errors.ts';
import { themeIdOf } from './legacy-names.ts';
import { findAnswer, keepAnswer } from './prefetch.ts';
import type { AdConfig, UserPayload } from './types.ts';

/** Where an answer comes from. `carried`: it is that of an earlier page of this tab, with its ticks. */
export type Found = { raw: unknown; carried: Carried | null };

/** Placement of pages that name none; one is required (docs/interface.md#request-body). */
const defaultPlacement = 'web';

export function requestBody(config: AdConfig, user: UserPayload): UserPayload {
  const dev = ['1', 1, true].includes(config.dev as string) ? { dev: '1' } : {};
  const themeId = config.themeId ?? themeIdOf(user);
  return {
    placement: config.placement ?? defaultPlacement,
    ...user,
    ...(themeId === undefined ? {} : { themeId }),
    ...dev,
  };
}

/** The offers to show: of this tab's session, of an earlier page's prefetch, or fetched now. Errors: SdkError */
export async function findOffers(api: Api, config: AdConfig, user: UserPayload): Promise<Found> {
  const accountId = config.accountId as string;
  const body = requestBody(config, user);
  const carried = await findOpenSession(api, accountId, body);
  if (carried !== null && carried.placement === String(body.placement)) return { raw: carried.raw, carried };
  const kept = config.prefetch === true ? findAnswer(accountId, user) : null;
  if (kept !== null) return { raw: kept, carried: null };
  const { loyaltyboost, creative, campaignId, country } = config;
  const raw = await api.fetchOffers({ loyaltyboost, creative, campaignId, country }, body);
  if (config.prefetch === true) keepAnswer(accountId, user, raw);
  return { raw, carried: null };
}

/**
 * The tab's session as the server knows it; where it cannot be asked, as it was kept. null: there is none, or it is
 * over.
 */
export async function findOpenSession(api: Api, accountId: string, user: UserPayload): Promise<Carried | null> {
  const carried = findSession(accountId, user);
  if (carried === null) return null;
  try {
    const view = await api.session(carried.sessionId, carried.pubUserId);
    if (view.status === 'open') return { ...carried, selected: view.selected };
  } catch (err) {
    if (err instanceof SdkError && (err.kind === 'connection_error' || err.status >= 500)) return carried;
  }
  dropSession(accountId);
  return null;
}
