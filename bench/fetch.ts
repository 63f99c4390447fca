import { mkdtemp, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type pg from 'pg';
import { processSecrets, startServerProcess } from '../test/support/server-process.ts';
import { createHistories, createPublisher, knownUser } from './catalogue.ts';
import { type LoadResult, postRequest, runLoad } from './load.ts';
import { profileTable } from './profile.ts';
import type { ReportRow } from './report.ts';
import type { Stage } from './stage.ts';

type Measure = (what: string, connections: number, port: number, next: () => string) => Promise<LoadResult>;

/** Number of users who have a history. */
let knownUsers = 0;

const newUser = (index: number): string => `user-${index}`;

type Case = { key: string; what: string; user: (index: number) => string };

export const cases: readonly Case[] = [
  { key: 'bench-100', what: '100 eligible', user: newUser },
  { key: 'bench-1000', what: '1,000 eligible', user: newUser },
  { key: 'bench-10000', what: '1,000 eligible of 10,000 campaigns', user: newUser },
  {
    key: 'bench-capped',
    what: '100 eligible with frequency caps, every second user has a history',
    user: (index) => (index % 2 === 0 ? `user-${index}` : knownUser((index * 7919) % knownUsers)),
  },
];

/** Cases with caps. They are compared with the first case, which has no caps. */
export const cappedCases: readonly Case[] = [
  { key: 'bench-total', what: 'one campaign with a total cap and a budget in each response', user: newUser },
  { key: 'bench-totals', what: 'all 100 campaigns with a total cap and a budget', user: newUser },
  cases[3] as Case,
];

/** Creates the publisher that all measurements use, and the publishers that only fetch-offers needs. */
export async function prepareFetch(
  { pool }: Stage,
  { isMeasured, histories }: { isMeasured: boolean; histories: number },
): Promise<void> {
  await createPublisher(pool, { key: 'bench-100', campaigns: 100 });
  if (!isMeasured) return;
  await createPublisher(pool, { key: 'bench-1000', campaigns: 1000 });
  await createPublisher(pool, { key: 'bench-10000', campaigns: 10_000, eligible: 1000 });
  await prepareUserCaps(pool, histories);
}

const totalCaps = [
  { metric: 'impressions', per: 'day', limit: 1_000_000_000 },
  { metric: 'budget', per: 'day', limit: 100_000_000 },
];

/** Creates publishers with caps and one without. For fetch-offers, also creates a publisher with user caps. */
export async function prepareCaps(
  { pool }: Stage,
  { histories, haveUsers }: { histories: number; haveUsers: boolean },
): Promise<void> {
  const publisherId = await createPublisher(pool, { key: 'bench-total', campaigns: 100 });
  await pool.query(
    'update campaigns set priority = 0, rules = $2 where id = (select min(id) from campaigns where publisher_id = $1)',
    [publisherId, { total_caps: totalCaps }],
  );
  await createPublisher(pool, { key: 'bench-totals', campaigns: 100, rules: { total_caps: totalCaps } });
  if (!haveUsers) await prepareUserCaps(pool, histories);
}

async function prepareUserCaps(pool: pg.Pool, histories: number): Promise<void> {
  knownUsers = histories;
  const rules = { frequency_caps: [{ scope: 'campaign', event: 'impression', limit: 3, window_minutes: 1440 }] };
  const publisherId = await createPublisher(pool, { key: 'bench-capped', campaigns: 100, rules });
  const startMs = performance.now();
  await createHistories(pool, { publisherId, users: histories, pepper: processSecrets.USER_PEPPER });
  await pool.query('vacuum analyze user_history');
  process.stderr.write(`${histories} histories created in ${((performance.now() - startMs) / 1000).toFixed(1)} s\n`);
}

export function fetchBody(user: string): string {
  return JSON.stringify({
    placement: 'checkout',
    ua: 'Mozilla/5.0 (iPhone; CPU iPhone OS 18_1 like Mac OS X)',
    ip: '8.8.8.8',
    ad_fp: user,
    pub_user_id: user,
    order_value: '49.90',
    first_name: 'Ada',
  });
}

let users = 0;
export const nextOf =
  ({ key, user }: Case): (() => string) =>
  () =>
    postRequest(`/native/v4/offers.json?api_key=${key}`, fetchBody(user(users++)));

export async function benchFetch(
  { pool }: Stage,
  measure: Measure,
  port: number,
  barePort: number,
): Promise<ReportRow[]> {
  const countSessions = async (): Promise<number> =>
    Number((await pool.query('select count(*) from sessions')).rows[0].count);
  const rows: ReportRow[] = [];
  for (const fetchCase of cases) {
    const before = await countSessions();
    let sent = 0;
    const next = nextOf(fetchCase);
    const measured = await measure(`fetch-offers, ${fetchCase.what}`, 16, port, () => {
      sent += 1;
      return next();
    });
    const stored = (await countSessions()) - before;
    const bare = await measure('  bare', 16, barePort, () => postRequest('/offers', fetchBody('user')));
    rows.push({
      what: `fetch-offers, ${fetchCase.what}, 5 returned, 16 connections`,
      measured,
      bare,
      note: `${stored} sessions for ${sent} responses`,
    });
  }
  return rows;
}

/**
 * Compares capped with uncapped fetches in alternating rounds, so that other load on the machine affects both equally.
 */
export async function benchCaps(measure: Measure, port: number, rounds: number): Promise<ReportRow[]> {
  const rows: ReportRow[] = [];
  for (const connections of [16, 64]) {
    for (let round = 1; round <= rounds; round += 1) {
      const uncapped = await measure('fetch-offers, no caps', connections, port, nextOf(cases[0] as Case));
      for (const cappedCase of cappedCases) {
        const measured = await measure(`  ${cappedCase.what}`, connections, port, nextOf(cappedCase));
        const note = `${(measured.perS / uncapped.perS).toFixed(2)}× uncapped`;
        rows.push({
          what: `${cappedCase.what}, ${connections} connections, round ${round}`,
          measured,
          bare: null,
          note,
        });
      }
      rows.push({
        what: `no caps, ${connections} connections, round ${round}`,
        measured: uncapped,
        bare: null,
        note: '',
      });
    }
  }
  return rows;
}

/** Profiles fetches on a separate server under load. Returns the CPU time per request, by function. */
export async function profileFetch({ folder, databaseUrl }: Stage, durationMs: number): Promise<string> {
  let report = '';
  for (const fetchCase of [cases[1], cases[3]] as Case[]) {
    const into = await mkdtemp(join(folder, 'profile-'));
    const server = await startServerProcess({ databaseUrl, execArgv: ['--cpu-prof', `--cpu-prof-dir=${into}`] });
    const { requests } = await runLoad({ port: server.port, connections: 16, durationMs, next: nextOf(fetchCase) });
    await server.stop();
    for (const file of await readdir(into))
      report += profileTable(fetchCase.what, await readFile(join(into, file), 'utf8'), requests);
  }
  return report;
}
