import { randomBytes } from 'node:crypto';
import type { LightMyRequestResponse } from 'fastify';
import { loadDemoCatalogue } from '../../../src/demo/catalogue.ts';
import { transaction } from '../../../src/platform/db/pool.ts';
import type { TestBase } from '../../support/test-modules.ts';
import { fetchOffers, type ShownOffer } from '../../tracking/journey.ts';

export type SaveableOffer = ShownOffer & { title: string; save_for_later_url: string | null; sessionId: string };

/** Returns the path and query of an absolute Perkwire URL. */
export const local = (url: string): string => url.replace('http://perks.test', '');

/** Returns the offers of a new session of this user. */
export async function showTo(
  testApp: TestBase,
  pubUserId: string | null,
  body: Record<string, unknown> = {},
): Promise<SaveableOffer[]> {
  const { sessionId, offers } = await fetchOffers(testApp, {
    ...(pubUserId === null ? {} : { pub_user_id: pubUserId }),
    ...body,
  });
  return offers.map((offer) => ({ ...(offer as SaveableOffer), sessionId }));
}

export async function showOneTo(
  testApp: TestBase,
  pubUserId: string,
  body: Record<string, unknown> = {},
): Promise<SaveableOffer> {
  return (await showTo(testApp, pubUserId, body))[0] as SaveableOffer;
}

export const saveUrlOf = (offer: ShownOffer): string =>
  `/wallet/v1/save.json?t=${new URL(offer.click_url).searchParams.get('t')}`;

export const save = ({ app }: TestBase, offer: ShownOffer): Promise<LightMyRequestResponse> =>
  app.inject({ method: 'POST', url: saveUrlOf(offer) });

/**
 * Saves the first offer of a new session.
 * @returns the offer, and the path of the user's wallet page
 */
export async function saveOneFor(
  testApp: TestBase,
  pubUserId: string,
): Promise<{ offer: SaveableOffer; page: string }> {
  const offer = await showOneTo(testApp, pubUserId);
  return { offer, page: local((await save(testApp, offer)).json().data.wallet_url) };
}

export const list = (
  { app, publisher }: TestBase,
  pubUserId: string,
  key = publisher.key,
): Promise<LightMyRequestResponse> =>
  app.inject({
    method: 'GET',
    url: `/wallet/v1/offers.json?api_key=${key}&pub_user_id=${encodeURIComponent(pubUserId)}`,
  });

export const remove = (
  { app, publisher }: TestBase,
  offerId: number | string,
  pubUserId: string,
  key = publisher.key,
) =>
  app.inject({
    method: 'DELETE',
    url: `/wallet/v1/offers/${offerId}.json?api_key=${key}&pub_user_id=${encodeURIComponent(pubUserId)}`,
  });

export async function storedItems({
  pool,
}: TestBase): Promise<{ offer_id: number; pub_user_id: string; session_id: string }[]> {
  return (
    await pool.query('select offer_id, pub_user_id, session_id::text from wallet_items order by saved_at, offer_id')
  ).rows;
}

/** Adds a second publisher with the demo catalogue. */
export async function addPublisher<App extends TestBase>(testApp: App): Promise<App> {
  const ids = { key: `other-${randomBytes(8).toString('hex')}`, sdkId: randomBytes(8).toString('hex') };
  const id = await transaction(testApp.pool, (executor) => loadDemoCatalogue(executor, ids));
  await testApp.deps.catalog.refresh();
  return { ...testApp, publisher: { id, ...ids } };
}

export const postForm = (
  { app }: TestBase,
  path: string,
  fields: Record<string, string>,
): Promise<LightMyRequestResponse> =>
  app.inject({
    method: 'POST',
    url: path,
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    payload: new URLSearchParams(fields).toString(),
  });

/** Returns the hidden field values of the forms with this action. */
export const formTokens = (page: string, action: string): string[] =>
  [...page.matchAll(new RegExp(`action="${action}"><input type="hidden" name="t" value="([^"]+)"`, 'g'))].map(
    ([, token = '']) => token,
  );
