import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { createPublisher } from '../../bench/catalogue.ts';
import { findDecision, inputOf, reDecide } from '../../src/offers/re-decide.ts';
import { transaction } from '../../src/platform/db/pool.ts';
import { createRandom } from '../../src/platform/lib/random.ts';
import { dayOf } from '../../src/platform/lib/time.ts';
import { rollupLagMs } from '../../src/reports/rollup/metrics.ts';
import { verifyRollups } from '../../src/reports/verify.ts';
import { freePort, type ServerProcess } from '../support/server-process.ts';
import { startLeaseServer } from './leases.ts';
import { startChaosPostgres } from './postgres.ts';

/** Result of a budget run. Amounts are in millionths. */
export type BudgetRunVerdict = {
  ok: boolean;
  kills: number;
  fetches: number;
  clicks: number;
  conversions: number;
  booked: number;
  unbilled: number;
  /** Number of times a budget was completely booked or reserved, and was then raised. */
  raised: number;
  /**
   * Number of checks in which more was booked than the budget allows. The next field counts checks in which usage and
   * booked amount differed. Both must be 0.
   */
  exceeded: number;
  unequal: number;
  /** Number of report totals that differ from the raw rows; must be 0. */
  wrongReports: number;
  /** Number of replayed decisions. The next field counts replays with a different result, which must be 0. */
  replayed: number;
  different: number;
};

/** A campaign whose budget stays at its limit. */
type Budget = { campaignId: number; kind: 'cpc' | 'cpa'; limitMicros: number };

type Stage = { pool: pg.Pool; servers: ServerProcess[]; publisherId: number; budgets: Budget[] };

/** Number of concurrent users per process. */
const connections = 4;

/** Number of decisions to replay. */
const replays = 1000;

const price = { cpc: 0.5, cpa: 2 };
const browser = 'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/130.0.0.0 Safari/537.36';

/**
 * Runs two processes that serve a CPC and a CPA campaign whose budgets are nearly always used up, while users see,
 * click and convert. These processes are killed with SIGKILL at random moments, and so is a worker that rolls up,
 * learns and releases reservations.
 */
export async function budgetRun(seed: number, size: { kills: number }): Promise<BudgetRunVerdict> {
  const draw = createRandom(seed);
  const postgres = await startChaosPostgres();
  const pool = new pg.Pool({ connectionString: postgres.url, max: 4 });
  pool.on('error', () => {});
  const stage: Stage = { pool, servers: [], publisherId: 0, budgets: [] };
  try {
    stage.publisherId = await createPublisher(pool, { key: 'leases', campaigns: 4 });
    // Give each campaign its own advertiser, so that each response contains one offer of each campaign.
    await pool.query(
      `with own as (insert into advertisers (publisher_id, name)
          select publisher_id, 'Own ' || id from campaigns where publisher_id = $1 returning id, name)
      update campaigns c set advertiser_id = own.id from own where own.name = 'Own ' || c.id`,
      [stage.publisherId],
    );
    const { rows } = await pool.query<{ id: number }>('select id from campaigns where publisher_id = $1 order by id', [
      stage.publisherId,
    ]);
    for (const [at, kind] of (['cpc', 'cpa'] as const).entries()) {
      const budget = { campaignId: rows[at]?.id as number, kind, limitMicros: 0 };
      stage.budgets.push(budget);
      await pool.query('update campaigns set priority = 0, payout_kind = $2, payout_amount = $3 where id = $1', [
        budget.campaignId,
        kind,
        price[kind],
      ]);
      await raise(pool, budget, 5 * price[kind]);
    }
    const roles = ['api', 'api', 'worker'];
    for (const role of roles) stage.servers.push(await startLeaseServer(postgres.url, await freePort(), role));
    return await killAll(stage, postgres.url, { kills: size.kills, draw, roles });
  } finally {
    await Promise.all(stage.servers.map((server) => server.kill()));
    await pool.end();
    await postgres.close();
  }
}

async function raise(pool: pg.Pool, budget: Budget, by: number): Promise<void> {
  budget.limitMicros += by * 1e6;
  const cap = { metric: 'budget', per: 'lifetime', limit: budget.limitMicros / 1e6 };
  await pool.query('update campaigns set rules = $2 where id = $1', [budget.campaignId, { total_caps: [cap] }]);
}

type Killing = { kills: number; draw: () => number; roles: readonly string[] };

async function killAll(stage: Stage, databaseUrl: string, { kills, draw, roles }: Killing): Promise<BudgetRunVerdict> {
  const startMs = Date.now();
  const counts = { fetches: 0, clicks: 0, conversions: 0 };
  const verdict = { kills: 0, raised: 0, exceeded: 0, unequal: 0 };
  const check = async (): Promise<void> => {
    for (const budget of stage.budgets) {
      const { booked, spent, held: reservedMicros } = await readBudget(stage.pool, budget.campaignId);
      if (booked > budget.limitMicros) verdict.exceeded += 1;
      if (booked !== spent) verdict.unequal += 1;
      if (budget.limitMicros - reservedMicros >= price[budget.kind] * 1e6) continue;
      verdict.raised += 1;
      await raise(stage.pool, budget, price[budget.kind] * (1 + Math.floor(draw() * 12)));
    }
  };
  while (verdict.kills < kills) {
    const load = startUsers(stage, counts);
    await sleep(300 + draw() * 1500);
    const victims = draw() < 0.2 ? [0, 1] : [Math.floor(draw() * 3)];
    await Promise.all(victims.map((at) => stage.servers[at]?.kill()));
    verdict.kills += victims.length;
    await check();
    for (const at of victims)
      stage.servers[at] = await startLeaseServer(databaseUrl, stage.servers[at]?.port ?? 0, roles[at] as string);
    await load.stop();
    await check();
  }
  const all = await Promise.all(stage.budgets.map(({ campaignId }) => readBudget(stage.pool, campaignId)));
  const sums = { booked: 0, unbilled: 0 };
  for (const { booked, unbilled } of all) {
    sums.booked += booked;
    sums.unbilled += unbilled;
  }
  const wrongReports = await countWrongReports(stage, startMs);
  const { replayed, different } = await replay(stage, draw);
  const broken = verdict.exceeded + verdict.unequal + wrongReports + different;
  return {
    ok: broken === 0 && replayed > 0 && counts.conversions > 0,
    ...verdict,
    ...counts,
    ...sums,
    wrongReports,
    replayed,
    different,
  };
}

/**
 * Reads the booked and unbilled amounts from events and bookings, and the spent and reserved amounts from the usage, in
 * one snapshot.
 */
async function readBudget(pool: pg.Pool, campaignId: number) {
  const { rows } = await pool.query<{ booked: number; unbilled: number; spent: number; held: number }>(
    `with ledger as (
      select revenue_micros, unbilled_micros from events where campaign_id = $1
      union all select revenue_micros, unbilled_micros from bookings where campaign_id = $1
    )
    select coalesce(sum(ledger.revenue_micros), 0)::float8 as booked,
      coalesce(sum(ledger.unbilled_micros), 0)::float8 as unbilled,
      coalesce(max(u.spent_micros), 0)::float8 as spent, coalesce(max(u.micros), 0)::float8 as held
    from (select) one left join ledger on true
    left join campaign_usage u on u.campaign_id = $1 and u.publisher_id = 0 and u.period = 'lifetime'`,
    [campaignId],
  );
  return rows[0] as { booked: number; unbilled: number; spent: number; held: number };
}

/** Returns the number of report totals that differ from the raw rows, once the rollups have caught up. */
async function countWrongReports({ pool }: Stage, fromMs: number): Promise<number> {
  for (let lagMs = 1, attemptsLeft = 600; lagMs > 0 && attemptsLeft > 0; attemptsLeft -= 1) {
    await sleep(200);
    lagMs = await transaction(pool, (executor) => rollupLagMs(executor, Date.now()));
  }
  const client = await pool.connect();
  try {
    return (await verifyRollups(client, dayOf(fromMs), dayOf(Date.now()))).differences.length;
  } finally {
    client.release();
  }
}

/** Replays a random sample of all stored decisions. */
async function replay({ pool, publisherId }: Stage, draw: () => number) {
  const { rows } = await pool.query<{ id: string }>('select id from sessions where decision is not null order by id');
  const result = { replayed: 0, different: 0 };
  for (; result.replayed < Math.min(replays, rows.length); result.replayed += 1) {
    const { id } = rows[Math.floor(draw() * rows.length)] as { id: string };
    const stored = await findDecision(pool, publisherId, id);
    const input = await inputOf(pool, stored);
    if (input === null || !reDecide(stored, input).identical) result.different += 1;
  }
  return result;
}

type Offer = { campaign_id: number; pixel: string; click_url: string };

/**
 * Starts users who fetch, see, click and convert, one after another on each connection. One in three users stops after
 * seeing the offer.
 */
function startUsers({ servers, budgets }: Stage, counts: { fetches: number; clicks: number; conversions: number }) {
  let isRunning = true;
  const get = (at: number, url: string) => {
    const { pathname, search } = new URL(url);
    const headers = { 'user-agent': browser };
    const signal = AbortSignal.timeout(10_000);
    return fetch(`${servers[at]?.url}${pathname}${search}`, { headers, signal, redirect: 'manual' });
  };
  const follow = async (at: number, { pixel, click_url: clickUrl, campaign_id: id }: Offer): Promise<void> => {
    await get(at, pixel);
    await sleep(150); // a click that comes at once does not count
    const landing = (await get(at, clickUrl)).headers.get('location');
    counts.clicks += 1;
    if (landing === null || budgets.find(({ campaignId }) => campaignId === id)?.kind !== 'cpa') return;
    const clickId = new URL(landing).searchParams.get('click_id') ?? '';
    if ((await get(at, `http://any/track?click_id=${encodeURIComponent(clickId)}&event=purchase`)).ok)
      counts.conversions += 1;
  };
  const user = async (at: number, index: number): Promise<void> => {
    for (let turn = 0; isRunning; turn++) {
      try {
        const answer = await fetch(`${servers[at]?.url}/native/v4/offers.json?api_key=leases`, {
          method: 'POST',
          headers: { 'content-type': 'application/json', 'user-agent': browser },
          body: JSON.stringify({ placement: 'checkout', pub_user_id: `user-${at}-${index}-${turn}` }),
          signal: AbortSignal.timeout(10_000),
        });
        const { data } = (await answer.json()) as { data: { offers: Offer[] } };
        if (!answer.ok) continue;
        counts.fetches += 1;
        if (turn % 3 < 2) await Promise.all(data.offers.map((offer) => follow(at, offer)));
      } catch {
        await sleep(50); // the server is away
      }
    }
  };
  const done = Promise.all([0, 1].flatMap((at) => Array.from({ length: connections }, (_, index) => user(at, index))));
  return {
    stop: async () => {
      isRunning = false;
      await done;
    },
  };
}
