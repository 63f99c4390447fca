import { parseArgs } from 'node:util';
import pg from 'pg';
import { budgetRun } from './budgets.ts';
import { eventLogRun } from './event-log.ts';
import { failoverRun } from './failover.ts';
import { leaseRun } from './leases.ts';
import { membershipRun } from './memberships.ts';
import { perkRun } from './perks.ts';
import { startChaosPostgres } from './postgres.ts';
import { killRun, outageRun, rollingRun } from './scenarios.ts';

/*
 * npm run chaos -- [--scenario kills|rolling|outage|failover|leases|budgets|perks|memberships|event-log]
 *   [--runs 20] [--seed N] [--wraps 2000] [--endpoints 50] [--kills 20]
 *
 * `leases` counts its kills twice: of processes that grant total caps, and of those with budgets at their limits
 * (`budgets` alone). A run can be had again by its seed, which is printed; only the timing differs. Exits with 1 when a
 * run broke a promise.
 */
const { values } = parseArgs({
  options: {
    scenario: { type: 'string', default: 'kills' },
    runs: { type: 'string', default: '1' },
    seed: { type: 'string', default: String(Math.floor(Math.random() * 1e6)) },
    wraps: { type: 'string', default: '2000' },
    endpoints: { type: 'string', default: '50' },
    kills: { type: 'string', default: '20' },
    seconds: { type: 'string' },
  },
});
const size = { wraps: Number(values.wraps), endpoints: Number(values.endpoints) };
const count = { kills: Number(values.kills) };
const msOr = (defaultS: number): number => Number(values.seconds ?? defaultS) * 1000;
async function onOwnPostgres<Verdict>(
  run: (database: { databaseUrl: string; pool: pg.Pool }) => Promise<Verdict>,
): Promise<Verdict> {
  const postgres = await startChaosPostgres();
  const pool = new pg.Pool({ connectionString: postgres.url, max: 2 });
  pool.on('error', () => {}); // an idle connection may be lost when PostgreSQL stops
  const verdict = await run({ databaseUrl: postgres.url, pool });
  await pool.end();
  await postgres.close();
  return verdict;
}

const scenarios: Record<string, (seed: number) => Promise<{ ok: boolean }>> = {
  kills: (seed) => killRun(seed, size),
  rolling: (seed) => rollingRun(seed, { ...size, everyMs: 10_000, durationMs: msOr(120) }),
  failover: (seed) => failoverRun(seed, size),
  leases: async (seed) => {
    const [leases, budgets] = [await leaseRun(seed, count), await budgetRun(seed, count)];
    return { ok: leases.ok && budgets.ok, leases, budgets };
  },
  budgets: (seed) => budgetRun(seed, count),
  perks: (seed) => onOwnPostgres((database) => perkRun(seed, { ...count, parallel: 64, ...database })),
  memberships: (seed) => onOwnPostgres((database) => membershipRun(seed, { ...count, parallel: 64, ...database })),
  'event-log': (seed) => eventLogRun(seed, { downMs: msOr(60) }),
  outage: (seed) => outageRun(seed, { ...size, downMs: msOr(30) }),
};
const scenario = scenarios[values.scenario];
if (scenario === undefined)
  throw new Error(`there is no scenario "${values.scenario}": ${Object.keys(scenarios).join(', ')}`);

let broken = 0;
for (let run = 0; run < Number(values.runs); run++) {
  const seed = Number(values.seed) + run;
  process.stdout.write(`${values.scenario} seed ${seed} … `);
  const result = await scenario(seed);
  if (!result.ok) broken += 1;
  process.stdout.write(`${result.ok ? 'ok' : 'BROKEN'} ${JSON.stringify(result)}\n`);
}
process.stdout.write(`${Number(values.runs) - broken} of ${values.runs} runs kept every promise\n`);
process.exit(broken === 0 ? 0 : 1);
