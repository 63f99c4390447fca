import { setTimeout as sleep } from 'node:timers/promises';
import { startServerProcess } from '../test/support/server-process.ts';
import { createPublisher } from './catalogue.ts';
import { fetchBody } from './fetch.ts';
import { writeTable } from './report.ts';
import { openStage, type Stage } from './stage.ts';

/**
 * Measures the time from the commit of a change until responses show it, with a large catalogue: `npm run bench:refresh
 * [campaigns] [times]`.
 */
const key = 'bench-refresh';
const token = 'metrics-'.repeat(5);
/** Resolution of the timer that measures event loop lag, in milliseconds. Each figure includes this value once. */
const lagResolutionMs = 10;

type Change = { what: string; sql: (no: number) => string };

const changes: readonly Change[] = [
  {
    what: 'copy of an offer',
    sql: (no) => `update offers set title = 'Title ${no}' where id = (select min(id) + ${no} from offers)`,
  },
  {
    what: 'campaign paused or resumed',
    sql: (no) => `update campaigns set active = not active where id = (select min(id) + ${no} from campaigns)`,
  },
  {
    what: 'new placement',
    sql: (no) => `insert into placements (publisher_id, name) select id, 'place-${no}' from publishers`,
  },
  { what: '1,000 offers at once', sql: (no) => `update offers set weight = ${no} where id % 10 = 0` },
  { what: 'all offers at once', sql: (no) => `update offers set weight = ${no}` },
];

/** Runs on a separate stage, because nothing else may change the catalogue. */
export async function benchRefresh(
  stage: Stage,
  { campaigns, times, isKept }: { campaigns: number; times: number; isKept: boolean },
): Promise<void> {
  await createPublisher(stage.pool, { key, campaigns });
  await stage.pool.query('analyze');
  const server = await startServerProcess({ databaseUrl: stage.databaseUrl, env: { METRICS_TOKEN: token } });
  try {
    const rows: string[][] = [];
    await firstAnswer(server.url);
    for (const { what, sql } of changes) {
      const served: number[] = [];
      const answered: number[] = [];
      await metric(server.url, 'nodejs_eventloop_lag_max_seconds'); // starts again with each read
      let blockMs = 0;
      for (let no = 0; no < times; no++) {
        await stage.pool.query(sql(no));
        const startMs = performance.now();
        const { rows: versions } = await stage.pool.query<{ version: string }>('select version from catalog_version');
        while ((await servedVersion(server.url)) < Number(versions[0]?.version)) await sleep(2);
        served.push(performance.now() - startMs);
        answered.push(await firstAnswer(server.url));
        await sleep(200);
        blockMs = Math.max(
          blockMs,
          (await metric(server.url, 'nodejs_eventloop_lag_max_seconds')) * 1000 - lagResolutionMs,
        );
      }
      const rssMb = (await metric(server.url, 'process_resident_memory_bytes')) / 2 ** 20;
      rows.push([
        what,
        at(served, 0.5),
        at(served, 1),
        at(answered, 0.5),
        at(answered, 1),
        blockMs.toFixed(1),
        rssMb.toFixed(0),
      ]);
      process.stderr.write(`${rows.at(-1)?.join(', ')}\n`);
    }
    const head = [
      'Change',
      'served after, p50 ms',
      'max ms',
      'first response afterwards, p50 ms',
      'max ms',
      'longest event loop block ms',
      'memory MB',
    ];
    await writeTable(
      isKept ? 'refresh' : null,
      head,
      rows,
      `\n${campaigns} campaigns with one offer and three images each; ${times} runs per change.`,
    );
  } finally {
    await server.stop();
  }
}

const at = (list: readonly number[], share: number): string =>
  ([...list].sort((a, b) => a - b)[Math.floor(share * (list.length - 1))] ?? 0).toFixed(1);

async function servedVersion(url: string): Promise<number> {
  const answer = (await (await fetch(`${url}/health/ready`)).json()) as { catalog_version: number };
  return answer.catalog_version;
}

/** Returns the duration of a fetch-offers call, in milliseconds. */
async function firstAnswer(url: string): Promise<number> {
  const startMs = performance.now();
  const answer = await fetch(`${url}/native/v4/offers.json?api_key=${key}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: fetchBody('refresh'),
  });
  await answer.text();
  if (answer.status !== 200) throw new Error(`fetch-offers responded with ${answer.status}`);
  return performance.now() - startMs;
}

async function metric(url: string, name: string): Promise<number> {
  const text = await (await fetch(`${url}/metrics`, { headers: { authorization: `Bearer ${token}` } })).text();
  return Number(new RegExp(`^${name}(?:\\{[^}]*\\})? (\\S+)$`, 'm').exec(text)?.[1]);
}

if (process.argv[1]?.endsWith('refresh.ts')) {
  const [campaigns = 10_000, times = 10] = process.argv.slice(2).map(Number);
  const stage = await openStage();
  try {
    await benchRefresh(stage, { campaigns, times, isKept: true });
  } finally {
    await stage.close();
  }
}
