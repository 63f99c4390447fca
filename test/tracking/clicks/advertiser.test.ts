import { afterAll, beforeAll, expect, test } from 'vitest';
import { uspCalls } from '../../perks/usp/calls.ts';
import { createTestApp, type TestApp } from '../../support/test-app.ts';
import { call, fetchOffers, type ShownOffer } from '../journey.ts';

/** Landing URL with every macro that ever existed, and names that an advertiser might try. */
const everything =
  'https://shop.example/{session_id}/{placement}?c={click_id}&s={session_id}&u={pub_user_id}&f={ad_fp}&i={ip}' +
  '&t={token}&o={offer_id}&k={campaign_id}&p={publisher_id}&k2={user_key}#{session_id}';

let t: TestApp;
beforeAll(async () => {
  t = await createTestApp();
  await t.pool.query('update campaigns set landing_url = $1', [everything]);
  await t.deps.catalog.refresh();
});
afterAll(() => t?.close());

const user = { pub_user_id: 'customer-4711', ad_fp: 'fingerprint-4711', ip: '203.0.113.47' };

const landingOf = async (offer: ShownOffer): Promise<URL> =>
  new URL((await call(t, offer.click_url)).headers.location as string);

/** Returns all parts of a URL that could be an ID, raw and decoded. */
function partsOf({ href }: URL): string[] {
  const words = href.split(/[/?&#=]/).map(decodeURIComponent);
  return [
    href,
    ...words.flatMap((word) => [word, ...(['base64url', 'hex'] as const).flatMap((code) => decoded(word, code))]),
  ];
}

const decoded = (word: string, code: 'base64url' | 'hex'): string[] => {
  const bytes = Buffer.from(word, code);
  return [bytes.toString('latin1'), bytes.toString('hex')];
};

test('an advertiser finds neither session nor user in a landing URL in any encoding', async () => {
  const { sessionId, offers } = await fetchOffers(t, user);
  const bare = sessionId.replaceAll('-', '');
  for (const offer of offers) {
    const parts = partsOf(await landingOf(offer));
    // The first 12 digits of a session ID contain its time.
    for (const secret of [...Object.values(user), sessionId, bare, bare.slice(0, 12), bare.slice(13)])
      expect(parts.filter((part) => part.includes(secret))).toEqual([]);
  }
});

test('an advertiser with all of its data and the public SDK ID finds no session or selection', async () => {
  const { sessionId, offers } = await fetchOffers(t, user);
  const usp = uspCalls(t);
  const key = t.publisher.sdkId;
  const [offer] = offers as [ShownOffer];
  const url = await landingOf(offer);
  const parts = [...url.searchParams.values(), ...url.pathname.split('/'), url.hash.slice(1)].filter(
    (text) => text !== '',
  );
  for (const id of parts) {
    expect((await usp.get(id, { key })).status).toBe(400);
    expect((await usp.get(id, { key, user: user.pub_user_id })).status).toBe(404);
    expect((await call(t, `/sdk/offer-click?t=${id}`)).statusCode).toBe(400);
  }
  // The session ID is useless without the user's ID.
  const answers = [
    await usp.get(sessionId, { key }),
    await usp.get(sessionId, { key, user: 'customer-1' }),
    await usp.put(sessionId, {}, { key }),
    await usp.wrap(sessionId, { key }),
    await usp.select(sessionId, offer.campaign_id, { key, user: parts[0] as string }),
  ];
  expect(answers.map(({ status }) => status)).toEqual([400, 404, 400, 400, 404]);
  for (const { body } of answers) expect(JSON.stringify(body)).not.toContain(user.pub_user_id);
});

test('a session has one alias per campaign, which differs from those of other campaigns and sessions', async () => {
  const [one, two] = [await fetchOffers(t, user), await fetchOffers(t, user)];
  const aliasOf = async (offer: ShownOffer): Promise<string> =>
    (await landingOf(offer)).searchParams.get('s') as string;
  const [first, second] = one.offers as [ShownOffer, ShownOffer];
  const alias = await aliasOf(first);
  expect(alias).toMatch(/^[\w-]{22}$/);
  expect(await aliasOf(first)).toBe(alias);
  const again = two.offers.find((offer) => offer.campaign_id === first.campaign_id) as ShownOffer;
  expect(new Set([alias, await aliasOf(second), await aliasOf(again)]).size).toBe(3);
});
