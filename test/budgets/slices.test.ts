import type pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type ActiveCaps, activeCapsOf, type LimitedTotal } from '../../src/budgets/caps.ts';
import { countEvents } from '../../src/budgets/count.ts';
import type { Budgets } from '../../src/budgets/module.ts';
import { releaseDueReservations } from '../../src/budgets/reservations/release.ts';
import { insertReservations, type Reservation } from '../../src/budgets/reservations/reservations.ts';
import {
  leaseSlices,
  loadTrueUsage,
  releaseExpiredSlices,
  returnSlices,
  spendSlices,
} from '../../src/budgets/slices/rows.ts';
import { createSlices, type Slices } from '../../src/budgets/slices/slices.ts';
import { createLiveUsage, type LiveUsage } from '../../src/budgets/usage/live-usage.ts';
import { addUsage, allocationDeltas, periodNames } from '../../src/budgets/usage/usage.ts';
import type { TotalCap } from '../../src/catalog/rules.ts';
import type { Campaign, Snapshot } from '../../src/catalog/types.ts';
import { transaction } from '../../src/platform/db/pool.ts';
import { createRandom } from '../../src/platform/lib/random.ts';
import { hourMs, minuteMs } from '../../src/platform/lib/time.ts';
import { newUuid7, timeOfUuid7 } from '../../src/platform/lib/uuid7.ts';
import { createLogger } from '../../src/platform/logger.ts';
import { clonePool } from '../support/database.ts';
import { createTwins, type TestApp } from '../support/test-app.ts';
import { fetchOffers } from '../tracking/journey.ts';

const quiet = createLogger('silent');

async function runJob(budgets: Budgets, jobName: string): Promise<void> {
  const job = budgets.jobs().find(({ name }) => name === jobName);
  if (job === undefined || !('run' in job)) throw new Error(`there is no job ${jobName}`);
  await job.run(() => false);
}

describe('slices of totals under random operations and crashes', () => {
  let pool: pg.Pool;
  let close: () => Promise<void>;
  beforeAll(async () => {
    ({ pool, close } = await clonePool(6));
  });
  afterAll(() => close());

  test.each([1, 2])('never exceed a total, and lose nothing of it permanently: seed %i', async (seed) => {
    const world = await createWorld(pool, 1_000_000 + seed, createRandom(seed));
    for (let step = 0; step < 120; step += 1) await world.step();
    const { granted, rowByRow, lost } = world.counts;
    // The run covers the interesting cases: grants from slices, row-by-row grants, and slices that a process lost while
    // using them.
    expect(Math.min(granted, rowByRow, lost), JSON.stringify(world.counts)).toBeGreaterThan(0);
    await world.end();
  });
});

test('slices of the previous release are not counted as usage, and are returned when their leases end', async () => {
  const { pool, close } = await clonePool(2);
  try {
    const [campaignId, periods] = [1_000_100, periodNames('UTC', Date.now())];
    const slice = { campaignId, publisherId: null, periods, impressions: 40, micros: 4000 };
    await addUsage(pool, allocationDeltas({ ...slice, impressions: 100, micros: 9000 }, 1));
    await pool.query(
      `insert into cap_slices (id, campaign_id, publisher_id, periods, impressions, micros, expires_at)
      values ($1, $2, 0, $3, 40, 4000, now() + interval '1 hour')`,
      [newUuid7(Date.now()), campaignId, periods],
    );
    const used = async () =>
      (await loadTrueUsage(pool, periods, [campaignId])).map(({ impressions, micros }) => ({ impressions, micros }));
    await releaseExpiredSlices(pool);
    expect(await used()).toEqual(Array(4).fill({ impressions: 60, micros: 5000 }));
    await pool.query("update cap_slices set expires_at = now() - interval '1 s'");
    await releaseExpiredSlices(pool);
    expect(await used()).toEqual(Array(4).fill({ impressions: 60, micros: 5000 }));
    expect((await pool.query('select from cap_slices')).rowCount).toBe(0);
  } finally {
    await close();
  }
});

test('batches that commit at the same time subtract each of their grants from a lease', async () => {
  const { pool, close } = await clonePool(8);
  try {
    const snapshot = snapshotWith(1_000_200, { hour: 100_000, day: 100_000 });
    const total = activeCapsOf(snapshot).total('1000200') as LimitedTotal;
    const nowMs = Date.now();
    const periods = periodNames('UTC', nowMs);
    const amounts = { impressions: 1000, micros: 100_000 };
    const request = { total, periods, requestedAmounts: amounts, nearLimit: amounts, least: amounts };
    const { slices } = await leaseSlices(pool, [request, request], nowMs);
    const batches = Array.from({ length: 24 }, (_, batch) =>
      slices.flatMap((slice, index): Reservation[] =>
        Array.from({ length: batch % (index + 2) }, () => ({
          ...{
            sessionId: newUuid7(nowMs),
            offerId: 1,
            campaignId: total.campaignId,
            publisherId: null,
            timeZone: 'UTC',
          },
          ...{ periods, impressions: 1, micros: 10 + index, paidBy: 'impression', chance: 1, slice },
        })),
      ),
    );
    await Promise.all(batches.map((batch) => transaction(pool, (executor) => spendSlices(executor, batch))));
    const { rows } = await pool.query('select impressions, micros from cap_leases');
    expect(rows).toEqual([{ impressions: ['988', '976'], micros: ['99880', '99736'] }]);

    // A batch that also takes from a slice that has been returned subtracts nothing.
    await returnSlices(
      pool,
      slices.slice(1).filter((slice) => slice !== null),
    );
    expect(await transaction(pool, (executor) => spendSlices(executor, batches[5] as Reservation[]))).toBe(false);
    const { rows: after } = await pool.query('select impressions, micros from cap_leases');
    expect(after).toEqual([{ impressions: ['988', null], micros: ['99880', null] }]);
    const [used] = await loadTrueUsage(pool, periods, [total.campaignId]);
    expect(used).toMatchObject({ impressions: 12 + 24, micros: 120 + 264 });
  } finally {
    await close();
  }
});

describe('two processes with many fetches', () => {
  let nowMs = Date.now();
  let twins: Awaited<ReturnType<typeof createTwins>>;
  beforeAll(async () => {
    twins = await createTwins(() => nowMs);
  });
  afterAll(() => twins.close());

  const limit = 250;
  let campaignId: number;
  const showing = async (count: number): Promise<number> => {
    const apps = [twins.first, twins.second];
    const answers = await Promise.all(
      Array.from({ length: count }, (_, index) =>
        fetchOffers(apps[index % 2] as TestApp, { pub_user_id: `u${index}` }),
      ),
    );
    return answers.filter(({ offers }) => offers.some(({ campaign_id }) => campaign_id === campaignId)).length;
  };
  const setLimit = async (perDay: number): Promise<void> => {
    const { rows } = await twins.first.pool.query<{ id: number }>(
      `update campaigns set priority = 0, rules = $1 where id = (select min(id) from campaigns where not is_loyalty)
      returning id`,
      [{ total_caps: [{ metric: 'impressions', per: 'lifetime', limit: perDay }] }],
    );
    campaignId = rows[0]?.id as number;
    for (const { deps } of [twins.first, twins.second]) await deps.catalog.refresh();
  };

  test('grant a total cap from slices up to the last impression', async () => {
    await setLimit(limit);
    let impressions = 0;
    let hadSlices = false;
    for (let round = 0; round < 12; round += 1) {
      impressions += await showing(32);
      hadSlices ||= (await twins.first.pool.query('select from cap_leases')).rowCount !== 0;
      expect(impressions).toBeLessThanOrEqual(limit);
    }
    expect(hadSlices).toBe(true);
    // Unused slices are returned when a process is idle. No slice expires meanwhile.
    for (let pass = 0; pass < 3; pass += 1) {
      nowMs += 6000;
      for (const { deps } of [twins.first, twins.second]) await runJob(deps.budgets, 'slices of totals');
    }
    for (const { deps } of [twins.first, twins.second]) await runJob(deps.budgets, 'campaign usage');
    for (let more = 1; more > 0; impressions += more) more = await showing(32);
    expect(impressions).toBe(limit);
  });
});

type Process = { usage: LiveUsage; slices: Slices; batch: Reservation[] };

/** Simulates three processes with one campaign, and tracks the true usage. */
async function createWorld(pool: pg.Pool, campaignId: number, random: () => number) {
  const below = (count: number): number => Math.floor(random() * count);
  let nowMs = Date.UTC(2026, 4, 1, 10, 20);
  const now = (): number => nowMs;
  let snapshot = snapshotWith(campaignId, { hour: 400, day: 900 });
  const caps = (): ActiveCaps => activeCapsOf(snapshot);
  const total = (): LimitedTotal => caps().total(String(campaignId)) as LimitedTotal;
  const catalog = { current: () => snapshot };
  const start = (): Process => {
    const usage = createLiveUsage({ pool, catalog, now });
    return { usage, slices: createSlices({ pool, catalog, usage, logger: quiet, now }), batch: [] };
  };
  const processes = [start(), start(), start()];
  const counts = { granted: 0, rowByRow: 0, lost: 0, crashes: 0, settled: 0 };
  /** True usage: number of impressions per period that are committed and not released. */
  const truth = new Map<string, number>();
  let live: Reservation[] = [];

  const addTruth = (reservations: readonly Reservation[], sign: 1 | -1): void => {
    for (const { periods } of reservations)
      for (const period of periods) truth.set(period, (truth.get(period) ?? 0) + sign);
  };
  /** Adds granted reservations to the true usage, and checks that no period exceeds its limit. */
  const commitTruth = (reservations: readonly Reservation[]): void => {
    addTruth(reservations, 1);
    live.push(...reservations);
    for (const { per, limit } of total().caps) {
      const period = reservations[0]?.periods.find((name) => name.startsWith(per)) ?? '';
      expect(truth.get(period) ?? 0, period).toBeLessThanOrEqual(limit);
    }
  };

  /** Shows the campaign as a fetch would: from a slice, otherwise row by row if allowed, otherwise not at all. */
  async function show(process: Process, mayRowByRow: boolean): Promise<void> {
    const usage = process.slices.without(await process.usage.load(caps()));
    const periods = periodNames('UTC', nowMs);
    const isReached = total().caps.some(({ per, limit }) => {
      const period = periods.find((name) => name.startsWith(per)) as string;
      return usage.get(String(campaignId), period).impressions + 1 > limit;
    });
    if (isReached) return;
    const impression = {
      sessionId: newUuid7(nowMs),
      offerId: 1,
      campaignId,
      publisherId: null,
      timeZone: 'UTC',
      periods,
    };
    const reservation = {
      ...impression,
      impressions: 1,
      micros: 700,
      paidBy: 'impression' as const,
      chance: 1,
      slice: null,
    };
    const slice = process.slices.grant(total(), reservation);
    if (slice !== null) return void process.batch.push({ ...reservation, slice });
    if (!mayRowByRow) return;
    const isCommitted = await transaction(pool, async (executor) => {
      const used = await addUsage(executor, allocationDeltas(reservation, 1));
      await insertReservations(executor, [reservation]);
      const isOver = total().caps.some(({ per, limit }) =>
        used.some(({ period, impressions }) => period.startsWith(per) && impressions > limit),
      );
      if (isOver) throw new Error('over');
      return true;
    }).catch((err: Error) => {
      if (err.message !== 'over') throw err;
      return false;
    });
    if (!isCommitted) return;
    counts.rowByRow += 1;
    commitTruth([reservation]);
  }

  async function commit(process: Process): Promise<void> {
    const batch = process.batch.splice(0);
    if (batch.length === 0) return;
    const isSpent = await transaction(pool, async (executor) => {
      if (!(await spendSlices(executor, batch))) return false;
      await insertReservations(executor, batch);
      return true;
    });
    if (!isSpent) {
      counts.lost += 1;
      return process.slices.drop([String(campaignId)]);
    }
    counts.granted += batch.length;
    commitTruth(batch);
  }

  async function settle(): Promise<void> {
    const settled = live.splice(0, 1 + below(20));
    const { campaign } = [...snapshot.offers.values()][0] as { campaign: Campaign };
    const events = settled.map(({ sessionId }) => ({
      kind: 'impression' as const,
      sessionId,
      publisherId: 1,
      offerId: 1,
      campaign,
      revenueMicros: 0,
      atMs: timeOfUuid7(sessionId), // counted where it was reserved
    }));
    await transaction(pool, (executor) => countEvents(executor, caps(), events));
    counts.settled += settled.length;
  }

  const release = async (laterMs: number): Promise<void> => {
    nowMs += laterMs;
    const isExpired = ({ sessionId }: Reservation): boolean => timeOfUuid7(sessionId) + minuteMs <= nowMs;
    const expired = live.filter(isExpired);
    live = live.filter((reservation) => !isExpired(reservation));
    addTruth(expired, -1);
    await releaseDueReservations(pool, nowMs, () => ({ click: 1, conversion: 1 }));
  };
  const expireSlices = async (): Promise<void> => {
    await pool.query("update cap_leases set expires_at = now() - interval '1 s'");
    await releaseExpiredSlices(pool);
  };

  /** Checks that the usage in the database, minus the slices held by processes, equals the true usage. */
  async function check(): Promise<void> {
    const used = (await loadTrueUsage(pool, [...truth.keys()])).filter((entry) => entry.campaignId === campaignId);
    for (const { period, impressions } of used)
      expect({ period, impressions }).toEqual({ period, impressions: truth.get(period) });
  }

  async function step(): Promise<void> {
    const index = below(processes.length);
    const process = processes[index] as Process;
    const kind = below(20);
    if (kind < 9) for (let fetch = below(40); fetch >= 0; fetch -= 1) await show(process, fetch < 2);
    else if (kind < 13) await commit(process);
    else if (kind === 13) await settle();
    else if (kind === 14) await release(below(2 * minuteMs));
    else if (kind === 15) await expireSlices();
    else if (kind === 16) {
      counts.crashes += 1;
      processes[index] = start();
    } else if (kind === 17) await release(hourMs / 2);
    else if (kind === 18) {
      // A lowered cap stops new grants. It does not undo pending or committed ones.
      for (const instance of processes) await commit(instance);
      snapshot = snapshotWith(campaignId, { hour: 100 + below(600), day: 500 + below(2000) });
      for (const { per, limit } of total().caps) {
        const period = periodNames('UTC', nowMs).find((name) => name.startsWith(per)) as string;
        if ((truth.get(period) ?? 0) > limit) await release(25 * hourMs);
      }
    } else await process.slices.close();
    for (const instance of processes) {
      await instance.slices.returnUnused();
      await instance.usage.refresh();
    }
    await check();
  }

  return {
    counts,
    step,
    /** Ends all processes, half of them by a crash. The slices they held are returned after their leases expire. */
    end: async () => {
      await processes[0]?.slices.close();
      await expireSlices();
      expect((await pool.query('select 1 from cap_leases where $1 = any(campaign_ids)', [campaignId])).rows).toEqual(
        [],
      );
      await check();
    },
  };
}

/** Returns a catalogue with one campaign, whose impressions are capped per hour and per day. */
function snapshotWith(campaignId: number, limits: { hour: number; day: number }): Snapshot {
  const total_caps: TotalCap[] = [
    { metric: 'impressions', per: 'hour', limit: limits.hour },
    { metric: 'impressions', per: 'day', limit: limits.day },
  ];
  const campaign = {
    id: campaignId,
    publisherId: 1,
    advertiserId: 1,
    rules: { total_caps },
    goal: null,
    provisions: new Map([[1, {}]]),
    payout: { kind: 'cpm', amountMicros: 700_000, currency: 'USD' },
  };
  return {
    offers: new Map([[1, { id: 1, campaign }]]),
    publishers: new Map([[1, { id: 1, timeZone: 'UTC' }]]),
  } as unknown as Snapshot;
}
