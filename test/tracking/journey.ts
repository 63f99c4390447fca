import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { expect } from 'vitest';
import type { TrackedEvent } from '../../src/catalog/types.ts';
import { newUuid7 } from '../../src/platform/lib/uuid7.ts';
import type { TokenClaims } from '../../src/platform/security/tracking-token.ts';
import { requestOver, type TestResponse } from '../support/request.ts';
import type { TestBase } from '../support/test-modules.ts';

/** An offer as clients receive it. */
export type ShownOffer = {
  id: number;
  campaign_id: number;
  pixel: string;
  click_url: string;
  beacons: { close: string; no_thanks_click: string };
};

/** User agent of a regular browser. */
export const browser =
  'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/130.0.0.0 Safari/537.36';
export const googlebot = 'Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)';

/** Returns an event as it is stored. */
export const trackedEvent = (
  sessionId = newUuid7(Date.now()),
  kind: TrackedEvent['kind'] = 'impression',
): TrackedEvent => ({
  kind,
  sessionId,
  claims: { publisherId: 1, sessionId, offerId: 2, campaignId: 3, position: 1, dev: false },
  atMs: Date.now(),
  suspicious: null,
  revenueMicros: 0,
});

export async function fetchOffers(
  { app, publisher }: TestBase,
  body: Record<string, unknown> = {},
): Promise<{ sessionId: string; offers: ShownOffer[] }> {
  const response = await app.inject({
    method: 'POST',
    url: `/native/v2/offers.json?api_key=${publisher.key}`,
    payload: { placement: 'checkout', ...body },
  });
  expect(response.statusCode).toBe(200);
  const { session_id, offers } = response.json().data;
  return { sessionId: session_id, offers };
}

/** Returns the first offer of a new session. */
export async function showOffer(
  testApp: TestBase,
  body: Record<string, unknown> = {},
): Promise<ShownOffer & { sessionId: string }> {
  const { sessionId, offers } = await fetchOffers(testApp, body);
  return { sessionId, ...(offers[0] as ShownOffer) };
}

/** Calls a URL of an offer like a client. */
export function call(
  { app }: TestBase,
  url: string,
  headers: Record<string, string> = {},
  method: 'GET' | 'HEAD' = 'GET',
): Promise<TestResponse> {
  return requestOver(app, { method, url, headers: { 'user-agent': browser, ...headers } });
}

export type StoredEvent = { session_id: string; offer_id: number; kind: string; suspicious: string | null };

/** Returns the stored events of beacons and clicks. */
export async function storedEvents({ pool }: TestBase): Promise<StoredEvent[]> {
  const { rows } = await pool.query<StoredEvent>(
    'select session_id, offer_id, kind, suspicious from events ' +
      "where kind not in ('save', 'selection') order by at, kind",
  );
  return rows;
}

export const tokenOf = (url: string): string => new URL(url).searchParams.get('t') as string;

/** Creates a token like that of a shown offer, with some changed claims. */
export function mintLike({ deps }: TestBase, shownOffer: ShownOffer, change: Partial<TokenClaims>): string {
  const claims = deps.tokens.read(tokenOf(shownOffer.click_url)) as TokenClaims;
  return deps.tokens.mint({ ...claims, ...change });
}

/** Starts a relay to the database that can be interrupted. */
export async function startRelay(
  databaseUrl: string,
): Promise<{ url: string; cut: () => void; restore: () => void; close: () => void }> {
  const target = new URL(databaseUrl);
  const sockets = new Set<Socket>();
  let open = true;
  const server = createServer((client) => {
    if (!open) return void client.destroy();
    const upstream = connect(Number(target.port), target.hostname);
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(from);
      from.on('error', () => to.destroy()).on('close', () => to.destroy());
      from.pipe(to);
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = new URL(databaseUrl);
  url.hostname = '127.0.0.1';
  url.port = String((server.address() as AddressInfo).port);
  const cut = (): void => {
    open = false;
    for (const socket of sockets) socket.destroy();
    sockets.clear();
  };
  return {
    url: url.href,
    cut,
    restore: () => {
      open = true;
    },
    close: () => {
      cut();
      server.close();
    },
  };
}
