import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { createPublisher } from '../../bench/catalogue.ts';
import { releaseExpiredSlices } from '../../src/budgets/slices/rows.ts';
import { createRandom } from '../../src/platform/lib/random.ts';
import { freePort, type ServerProcess, startServerProcess } from '../support/server-process.ts';
import { startChaosPostgres } from './postgres.ts';

/**
 * Result of a lease run. `limit` is the final cap, and `shown` the number of committed sessions that show the campaign.
 */
export type LeaseVerdict = {
  ok: boolean;
  kills: number;
  fetches: number;
  /** Number of rounds in which a killed process left slices behind. */
  leftSlices: number;
  limit: number;
  shown: number;
  /**
   * Number of checks in which the campaign was shown more often than the limit. The next field counts checks in which
   * usage minus slices was not the number shown. Both must be 0.
   */
  exceeded: number;
  unequal: number;
  /** Number of answered sessions that are missing in the database; must be 0. */
  forgotten: number;
};

type Stage = { pool: pg.Pool; servers: ServerProcess[]; campaignId: number };

/** Number of concurrent fetches per process. */
const connections = 6;

/**
 * Runs two api processes that grant a campaign's total cap from slices under load, and are killed with SIGKILL at
 * random moments. The cap is raised whenever it is used up. No worker runs: reservations are never released, so every
 * session that shows the campaign counts. Leases end only when the run ends them.
 */
export async function leaseRun(seed: number, size: { kills: number }): Promise<LeaseVerdict> {
  const draw = createRandom(seed);
  const postgres = await startChaosPostgres();
  const pool = new pg.Pool({ connectionString: postgres.url, max: 2 });
  pool.on('error', () => {});
  const servers: ServerProcess[] = [];
  try {
    const publisherId = await createPublisher(pool, { key: 'leases', campaigns: 3 });
    const { rows } = await pool.query<{ id: number }>(
      `update campaigns set priority = 0, rules = $2
      where id = (select min(id) from campaigns where publisher_id = $1) returning id`,
      [publisherId, rulesWith(1)], // before the first fetch: without a cap nothing is counted
    );
    servers.push(...(await Promise.all([start(postgres.url), start(postgres.url)])));
    return await killAll({ pool, servers, campaignId: rows[0]?.id as number }, postgres.url, size.kills, draw);
  } finally {
    await Promise.all(servers.map((server) => server.kill()));
    await pool.end();
    await postgres.close();
  }
}

const rulesWith = (limit: number): object => ({ total_caps: [{ metric: 'impressions', per: 'lifetime', limit }] });

/**
 * Number of start attempts before a run gives up. On an overloaded machine, a start may take longer than the server
 * allows.
 */
const maxStarts = 5;

const start = async (databaseUrl: string, port?: number): Promise<ServerProcess> =>
  startLeaseServer(databaseUrl, port ?? (await freePort()), 'api');

/** Starts a process, and retries if the start fails. */
export async function startLeaseServer(databaseUrl: string, port: number, roles: string): Promise<ServerProcess> {
  const env = { ROLES: roles, LOG_LEVEL: process.env.CHAOS_LOG_LEVEL ?? 'fatal' };
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await startServerProcess({ databaseUrl, port, env });
    } catch (err) {
      if (attempt === maxStarts) throw err;
    }
  }
}

async function killAll(stage: Stage, databaseUrl: string, kills: number, draw: () => number): Promise<LeaseVerdict> {
  const verdict = { kills: 0, fetches: 0, leftSlices: 0, limit: 0, shown: 0, exceeded: 0, unequal: 0, forgotten: 0 };
  const answered: string[] = [];
  const check = async (): Promise<number> => {
    const { shown: sessionCount, used } = await countShown(stage);
    if (sessionCount > verdict.limit) verdict.exceeded += 1;
    if (used !== sessionCount) verdict.unequal += 1;
    verdict.shown = sessionCount;
    return sessionCount;
  };
  const raise = async (by: number): Promise<void> => {
    verdict.limit = (await countShown(stage)).shown + by;
    const rules = rulesWith(verdict.limit);
    await stage.pool.query('update campaigns set rules = $2 where id = $1', [stage.campaignId, rules]);
  };
  while (verdict.kills < kills) {
    await raise(500 + Math.floor(draw() * 2000));
    const load = startLoad(stage, answered);
    await sleep(200 + draw() * 1500);
    const both = draw() < 0.3;
    const index = draw() < 0.5 ? 0 : 1;
    for (const at of both ? [0, 1] : [index]) {
      await stage.servers[at]?.kill();
      verdict.kills += 1;
    }
    if ((await stage.pool.query('select from cap_leases')).rowCount !== 0) verdict.leftSlices += 1;
    await check();
    for (const [at, server] of stage.servers.entries())
      if (server.child.signalCode !== null) stage.servers[at] = await start(databaseUrl, server.port);
    // End the leases of killed and running processes, which can happen at any time.
    if (draw() < 0.5) await endLeases(stage.pool);
    verdict.fetches += await load.stop();
    await check();
  }
  await endLeases(stage.pool);
  await raise(100);
  for (let attemptsLeft = 20; attemptsLeft > 0 && (await check()) < verdict.limit; attemptsLeft -= 1) {
    const load = startLoad(stage, answered);
    await sleep(1000);
    verdict.fetches += await load.stop();
    await endLeases(stage.pool);
  }
  const storedSessions = await stage.pool.query<{ count: number }>(
    'select count(*)::int as count from sessions where id = any($1::uuid[])',
    [answered],
  );
  verdict.forgotten = answered.length - (storedSessions.rows[0]?.count ?? 0);
  const broken = verdict.exceeded + verdict.unequal + verdict.forgotten;
  return { ok: broken === 0 && verdict.shown === verdict.limit, ...verdict };
}

/** Returns the number of sessions that show the campaign, and its usage without slices, in one snapshot. */
async function countShown({ pool, campaignId }: Stage): Promise<{ shown: number; used: number }> {
  const { rows } = await pool.query<{ shown: number; used: number }>(
    `select (select count(*)::int from sessions where campaign_ids @> array[$1::integer]) as shown,
      coalesce((select impressions from campaign_usage where campaign_id = $1 and period = 'lifetime'), 0)::int
        - coalesce((select sum(slice.impressions)
          from cap_leases, unnest(campaign_ids, impressions) as slice (campaign_id, impressions)
          where slice.campaign_id = $1), 0)::int as used`,
    [campaignId],
  );
  return rows[0] as { shown: number; used: number };
}

async function endLeases(pool: pg.Pool): Promise<void> {
  await pool.query("update cap_leases set expires_at = now() - interval '1 s'");
  await releaseExpiredSlices(pool);
}

/**
 * Sends fetches to both processes, one after another on each connection.
 * @returns `stop`, which resolves with the number of answered fetches
 */
function startLoad(stage: Stage, answered: string[]): { stop: () => Promise<number> } {
  let isRunning = true;
  let count = 0;
  const user = async (at: number): Promise<void> => {
    while (isRunning) {
      try {
        const answer = await fetch(`${stage.servers[at]?.url}/native/v4/offers.json?api_key=leases`, {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify({ placement: 'checkout', pub_user_id: `user-${count}` }),
          signal: AbortSignal.timeout(10_000),
        });
        const body = (await answer.json()) as { data: { session_id: string } };
        if (!answer.ok) continue;
        count += 1;
        answered.push(body.data.session_id);
      } catch {
        await sleep(50); // the server is away
      }
    }
  };
  const done = Promise.all([0, 1].flatMap((at) => Array.from({ length: connections }, () => user(at))));
  return {
    stop: async () => {
      isRunning = false;
      await done;
      return count;
    },
  };
}
