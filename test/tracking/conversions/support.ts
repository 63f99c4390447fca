import type { LightMyRequestResponse } from 'fastify';
import { expect } from 'vitest';
import { dayMs, hourMs } from '../../../src/platform/lib/time.ts';
import { conversionEvent } from '../../../src/tracking/conversions/postback.ts';
import { saveEndpoint } from '../../../src/webhooks/endpoint-changes.ts';
import { createTestApp, type TestApp, type TestAppOptions } from '../../support/test-app.ts';
import { call, type ShownOffer, showOffer } from '../journey.ts';

export type Clock = { ms: number };

/**
 * Creates the application with a manually set clock. The clock starts now, but at the latest two hours before the end
 * of the day (UTC). A test that advances it by minutes therefore stays within one day of the reports.
 */
export async function createTimedApp(options: TestAppOptions = {}): Promise<TestApp & { clock: Clock }> {
  const nowMs = Date.now();
  const clock = { ms: Math.min(nowMs, nowMs - (nowMs % dayMs) + dayMs - 2 * hourMs) };
  return { ...(await createTestApp({ now: () => clock.ms, ...options })), clock };
}

type Timed = TestApp & { clock: Clock };

export type Clicked = ShownOffer & { sessionId: string; clickId: string };

/** Returns the click ID in a landing page URL. */
export function clickIdIn({ headers }: Pick<LightMyRequestResponse, 'headers'>): string {
  const clickId = [...new URL(String(headers.location)).searchParams.values()].find((value) =>
    /^[A-Za-z0-9_-]{51}$/.test(value),
  );
  expect(clickId, String(headers.location)).toBeDefined();
  return clickId as string;
}

/**
 * Follows the click URL of an offer.
 * @returns the click ID in its landing URL
 */
export const clickIdOf = async (t: TestApp, clickUrl: string, headers: Record<string, string> = {}): Promise<string> =>
  clickIdIn(await call(t, clickUrl, headers));

/** Simulates a user who sees the first offer of a new session and clicks it a second later. */
export async function clickOffer(
  t: Timed,
  body: Record<string, unknown> = {},
  headers: Record<string, string> = {},
): Promise<Clicked> {
  const shownOffer = await showOffer(t, body);
  expect((await call(t, shownOffer.pixel)).statusCode).toBe(200);
  t.clock.ms += 1000;
  return { ...shownOffer, clickId: await clickIdOf(t, shownOffer.click_url, headers) };
}

export const track = (
  { app }: TestApp,
  fields: Record<string, string>,
  path = '/track',
): Promise<LightMyRequestResponse> => app.inject({ method: 'GET', url: `${path}?${new URLSearchParams(fields)}` });

export const post = ({ app }: TestApp, payload: object): Promise<LightMyRequestResponse> =>
  app.inject({ method: 'POST', url: '/track', payload });

export type BookingRow = {
  event: string;
  txn_id: string | null;
  void: boolean;
  given_micros: string | null;
  payout_micros: string;
  currency: string;
  loyalty_micros: string;
  suspicious: string | null;
};

/** Returns the ledger rows of one click or of all clicks, oldest first. */
export async function bookings({ pool }: TestApp, sessionId?: string): Promise<BookingRow[]> {
  const { rows } = await pool.query<BookingRow>(
    `select event, txn_id, void, given_micros, payout_micros, currency, loyalty_micros, suspicious from conversions
    where $1::uuid is null or session_id = $1 order by booked_at, id`,
    [sessionId ?? null],
  );
  return rows;
}

/** Creates a conversion postback endpoint with this URL. */
export async function addPostbackEndpoint(t: TestApp, url: string, method: 'GET' | 'POST' = 'POST'): Promise<void> {
  await saveEndpoint(t.pool, t.deps.secretBox, {
    publisherId: t.publisher.id,
    event: conversionEvent.name,
    url,
    method,
    enabled: true,
    nowMs: Date.now(),
  });
}

/** Returns the postbacks queued for a session. */
export async function postbacks({ pool }: TestApp, sessionId: string): Promise<Record<string, unknown>[]> {
  const { rows } = await pool.query<{ payload: Buffer }>(
    "select payload from deliveries where event = 'conversion' and session_id = $1 order by created_at, id",
    [sessionId],
  );
  return rows.map(({ payload }) => JSON.parse(payload.toString()));
}

/** Changes the campaign of a shown offer. */
export async function setCampaign(
  { pool }: TestApp,
  campaignId: number,
  columns: Record<string, unknown>,
): Promise<void> {
  for (const [name, value] of Object.entries(columns))
    await pool.query(`update campaigns set ${name} = $1 where id = $2`, [value, campaignId]);
}
