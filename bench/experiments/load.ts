import { startServerProcess } from '../../test/support/server-process.ts';
import { createPublisher } from '../catalogue.ts';
import { fetchBody } from '../fetch.ts';
import { postRequest, runLoad } from '../load.ts';
import { writeTable } from '../report.ts';
import { openStage, type Stage } from '../stage.ts';

/**
 * Measures the report of an experiment with many users. Also compares the fetches of a publisher that runs ten
 * experiments with those of a publisher without experiments: `npm run bench:experiment-load [users]`.
 */
const [users = 4_000_000] = process.argv.slice(2).map(Number);

const keys = { without: 'bench-without', with: 'bench-with' };
const durationMs = 5000;
const rounds = 6;
const reports = 60;

/** Changes made by ten concurrent experiments. */
const changes: readonly object[] = [
  { settings: { delay: 5 } },
  { settings: { close_delay: 5 } },
  { settings: { screen_margin: 5 } },
  { labels: { close: 'Not now' } },
  { ranking: 'fixed' },
  { floor: 0.01 },
  { offers_per_response: 5 },
  {},
  {},
  {},
];

/** Creates an experiment with two arms. Each user has two or three sessions, and a tenth of the users paid. */
async function seedUsers({ pool }: Stage): Promise<{ seconds: number }> {
  const { rows } = await pool.query<{ id: number }>("select id from experiments where key = 'e0'");
  const startMs = performance.now();
  const atOnce = 100_000;
  for (let from = 0; from < users; from += atOnce)
    await pool.query(
      `insert into experiment_units (experiment_id, version, arm, unit_key, first_at, sessions, would_see, perks,
        clicks, conversions, revenue_micros, before_clicks, before_revenue_micros, device, country)
      select $1, 1, case when n % 2 = 0 then 'control' else 'b' end, gen_random_uuid(), now(), 2 + n % 2, 1 + n % 2,
        n % 3 / 2, n % 5 / 3, n % 20 / 19,
        case when random() < 0.1 then (1e6 * exp(2 * sqrt(-2 * ln(random() + 1e-9)) * cos(6.283 * random())))::bigint
          else 0 end, n % 4, n % 100 * 10000, (array['mobile', 'desktop', 'tablet'])[1 + n % 3],
        (array['DE', 'US', 'FR', 'GB', 'ES'])[1 + n % 5]
      from generate_series($2::integer, $3::integer) n`,
      [rows[0]?.id, from, Math.min(from + atOnce, users) - 1],
    );
  const seconds = (performance.now() - startMs) / 1000;
  await pool.query('vacuum analyze experiment_units, experiment_moments');
  return { seconds };
}

const call = async (url: string, method: string, path: string, body?: object): Promise<Response> => {
  const answer = await fetch(`${url}/manage/v1/experiments${path}`, {
    method,
    headers: { authorization: `Bearer ${keys.with}`, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
  return answer;
};

async function startTen(url: string): Promise<void> {
  for (const [at, change] of changes.entries()) {
    const arms = [
      { key: 'control', share: 0.5, changes: {} },
      { key: 'b', share: 0.5, changes: change },
    ];
    await call(url, 'POST', '', { key: `e${at}`, arms });
    await call(url, 'POST', `/e${at}/start`);
  }
}

async function reportTimes(url: string, query = ''): Promise<{ p50: number; p95: number }> {
  const times: number[] = [];
  for (let turn = 0; turn < reports; turn += 1) {
    const startMs = performance.now();
    await (await call(url, 'GET', `/e0/report${query}`)).json();
    times.push(performance.now() - startMs);
  }
  times.sort((a, b) => a - b);
  return { p50: times[reports >> 1] as number, p95: times[Math.floor(reports * 0.95)] as number };
}

const load = async (port: number, key: string): Promise<number> => {
  let at = 0;
  const next = () => {
    at += 7919;
    return postRequest(`/native/v4/offers.json?api_key=${key}`, fetchBody(`user-${at % 100_000}`));
  };
  return (await runLoad({ port, connections: 32, durationMs, next })).perS;
};

const median = (values: readonly number[]): number => values.toSorted((a, b) => a - b)[values.length >> 1] as number;

/** Compares both publishers in alternating rounds, so that other load on the machine affects both equally. */
async function compare(port: number): Promise<{ without: number; with: number; ratio: number }> {
  const ratios: number[] = [];
  const all: Record<keyof typeof keys, number[]> = { without: [], with: [] };
  for (let round = 0; round < rounds; round += 1) {
    const order = round % 2 === 0 ? (['without', 'with'] as const) : (['with', 'without'] as const);
    for (const which of order) all[which].push(await load(port, keys[which]));
    ratios.push((all.with.at(-1) as number) / (all.without.at(-1) as number));
  }
  return { without: median(all.without), with: median(all.with), ratio: median(ratios) };
}

const stage = await openStage();
try {
  for (const key of Object.values(keys)) await createPublisher(stage.pool, { key, campaigns: 100 });
  const server = await startServerProcess({ databaseUrl: stage.databaseUrl });
  try {
    await startTen(server.url);
    const port = Number(new URL(server.url).port);
    await load(port, keys.with);
    const fetches = await compare(port);
    const { seconds } = await seedUsers(stage);
    await reportTimes(server.url);
    const whole = await reportTimes(server.url);
    const byCountry = await reportTimes(server.url, '?segment=country');
    const ms = ({ p50, p95 }: { p50: number; p95: number }): [string, string] => [
      ...([`${p50.toFixed(0)} ms`, `p95 ${p95.toFixed(0)} ms`] as const),
    ];
    const rows = [
      ['fetches of a publisher without experiments', `${fetches.without.toFixed(0)} /s`, ''],
      [`with ${changes.length} experiments`, `${fetches.with.toFixed(0)} /s`, `${fetches.ratio.toFixed(2)}×`],
      [`report of ${users} users, ${users * 2.5} sessions`, ...ms(whole)],
      ['the same report by country', ...ms(byCountry)],
      ['adding these users to the totals', `${seconds.toFixed(0)} s`, `${(users / seconds / 1000).toFixed(0)} k/s`],
    ];
    await writeTable('experiment-load', ['What', 'Measured', 'Comparison'], rows, `\nMedians of ${rounds} rounds.`);
  } finally {
    await server.stop();
  }
} finally {
  await stage.close();
}
