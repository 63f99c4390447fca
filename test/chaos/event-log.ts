import { setTimeout as sleep } from 'node:timers/promises';
import { createRandom } from '../../src/platform/lib/random.ts';
import { hasNats, startNats } from '../support/nats.ts';
import { startChaosPostgres } from './postgres.ts';
import { openStageOn, type Stage } from './stage.ts';

type StockedOffer = { sessionId: string; offerId: number; pixel: string; click: string };
type Fetched = { data: { session_id: string; offers: { id: number; pixel: string; click_url: string }[] } };

export type EventLogVerdict = {
  acknowledged: number;
  /** Number of requests that were answered with 2xx or 3xx but not stored in the database; must be 0. */
  lost: number;
  /** Number of beacons and clicks with any other response, or no response; must be 0. */
  refused: number;
  /** Number of clicks that were stored as if no impression had come before them; must be 0. */
  outOfOrder: number;
  slowestMs: number;
  ok: boolean;
};

/** Number of users who see and click offers. The next constant is their pause between two offers, in milliseconds. */
const users = 4;
const pauseMs = 100;
/** Time limit that only ends a run in which events were lost, in milliseconds. */
const settleLimitMs = 300_000;

/**
 * Sends beacons and clicks to three event log servers. During the load, one of them is killed, then a worker, then
 * PostgreSQL for `downMs`, with another event log server killed in the middle of that time.
 */
export async function eventLogRun(seed: number, { downMs }: { downMs: number }): Promise<EventLogVerdict> {
  if (!hasNats) throw new Error('nats-server is missing: apt-get install nats-server');
  const draw = createRandom(seed);
  const nats = await startNats(3);
  const stage = await openStageOn(await startChaosPostgres(), 1, draw, { EVENT_LOG_URL: nats.url });
  try {
    await untilReplicated(stage);
    const load = startUsers(stage, Math.ceil((users * downMs) / pauseMs));
    await load.stocked();
    await sleep(1_000 + draw() * 2_000);
    await nats.kill(0);
    await sleep(3_000);
    await nats.start(0);
    await stage.replace('worker-1', 'SIGKILL', 500);
    await load.stocked();
    const back = stage.postgres.kill(downMs);
    await sleep(downMs / 3);
    await nats.kill(1);
    await sleep(downMs / 3);
    await nats.start(1);
    await back;
    await sleep(2_000);
    return await judgeEvents(stage, await load.stop());
  } finally {
    await stage.close();
    await nats.close();
  }
}

type LoadResult = { acknowledged: StockedOffer[]; refused: number; slowestMs: number };

async function untilReplicated({ apiUrl }: Stage): Promise<void> {
  for (;;) {
    const { event_log } = (await (await fetch(`${apiUrl()}/health/ready`)).json()) as { event_log: boolean };
    if (event_log) return;
    await sleep(100);
  }
}

/** Fetches a session and returns its offers, or an empty list if the service is unavailable. */
async function fetchShown({ apiUrl, keys }: Stage): Promise<StockedOffer[]> {
  const answer = await fetch(`${apiUrl()}/native/v4/offers.json?api_key=${keys[0]}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ placement: 'checkout' }),
  }).catch(() => null);
  if (answer?.ok !== true) return [];
  const { session_id: sessionId, offers } = ((await answer.json()) as Fetched).data;
  return offers.map(({ id, pixel, click_url: click }) => ({ sessionId, offerId: id, pixel, click }));
}

type UserLoad = {
  /** Resolves when enough offers have been fetched for the time without PostgreSQL. */
  stocked: () => Promise<void>;
  stop: () => Promise<LoadResult>;
};

/**
 * @param enough number of offers to keep in stock; offers shown while PostgreSQL is unavailable must be fetched in
 * advance
 */
function startUsers(stage: Stage, enough: number): UserLoad {
  const stock: StockedOffer[] = [];
  const result: LoadResult = { acknowledged: [], refused: 0, slowestMs: 0 };
  let running = true;

  async function call(url: string): Promise<boolean> {
    const startMs = performance.now();
    const headers = { 'user-agent': 'Shop/3.2' };
    const answer = await fetch(url, { redirect: 'manual', headers }).catch(() => null);
    await answer?.arrayBuffer().catch(() => {});
    result.slowestMs = Math.max(result.slowestMs, Math.round(performance.now() - startMs));
    const isAccepted = answer !== null && answer.status < 400;
    if (!isAccepted) result.refused += 1;
    return isAccepted;
  }

  async function user(): Promise<void> {
    while (running) {
      const offer = stock.pop();
      await sleep(pauseMs);
      if (offer === undefined || !(await call(offer.pixel))) continue;
      if (await call(offer.click)) result.acknowledged.push(offer);
    }
  }

  async function keepStock(): Promise<void> {
    while (running) {
      const offers = stock.length < enough ? await fetchShown(stage) : [];
      stock.push(...offers);
      if (offers.length === 0) await sleep(pauseMs);
    }
  }

  const done = Promise.all([...Array.from({ length: users }, keepStock), ...Array.from({ length: users }, user)]);
  return {
    stocked: async () => {
      while (stock.length < enough) await sleep(pauseMs);
    },
    stop: async () => {
      running = false;
      await done;
      return result;
    },
  };
}

/** Waits until all events are stored, and compares them with the acknowledged requests. */
async function judgeEvents(
  { pool }: Stage,
  { acknowledged, refused, slowestMs }: LoadResult,
): Promise<EventLogVerdict> {
  const endMs = performance.now() + settleLimitMs;
  for (;;) {
    const { rows } = await pool.query<{ key: string; suspicious: string | null }>(
      "select concat_ws(' ', session_id, offer_id, kind) as key, suspicious from events",
    );
    const stored = new Map(rows.map(({ key, suspicious }) => [key, suspicious]));
    const keys = acknowledged.flatMap(({ sessionId, offerId }) =>
      ['impression', 'click'].map((kind) => `${sessionId} ${offerId} ${kind}`),
    );
    const lost = keys.filter((key) => !stored.has(key)).length;
    const outOfOrder = keys.filter((key) => stored.get(key) === 'no_impression').length;
    const ok = keys.length > 0 && lost + refused + outOfOrder === 0;
    if (lost === 0 || performance.now() > endMs)
      return { acknowledged: keys.length, lost, refused, outOfOrder, slowestMs, ok };
    await sleep(500);
  }
}
