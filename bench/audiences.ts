import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { request } from 'undici';
import { createUserKeys } from '../src/platform/security/user-key.ts';
import { processSecrets, startServerProcess } from '../test/support/server-process.ts';
import { createPublisher } from './catalogue.ts';
import { type Costs, costOfEach, createCosts } from './costs.ts';
import { fetchBody } from './fetch.ts';
import { type LoadResult, postRequest, runLoad } from './load.ts';
import { writeTable } from './report.ts';
import { type Stage, seedAndAsk } from './stage.ts';

/*
 * npm run bench:audiences -- [--users n] [--memberships n] [--rows n] [--rounds n] [--seconds n] [seed|ask FOLDER]
 *
 * Compares the CPU time of fetches with and without audiences and attributes, and the rate of fetches with and without
 * a concurrent import. A run takes about 20 minutes on an idle machine, including 8 minutes for seeding. `seed FOLDER`
 * stores the data, so that `ask FOLDER` can repeat the measurements any number of times.
 */
const [fullUsers, fullRows] = [1_000_000, 10_000_000]; // the goals are set for these sizes
const { values, positionals } = parseArgs({
  options: {
    users: { type: 'string', default: String(fullUsers) },
    memberships: { type: 'string', default: '100' },
    rows: { type: 'string', default: String(fullRows) },
    rounds: { type: 'string', default: '6' },
    seconds: { type: 'string', default: '5' },
  },
  allowPositionals: true,
});
const users = Number(values.users);
/** Number of audience memberships per user. */
const memberships = Number(values.memberships);
/** Number of rows in the imported file. During fetches, a quarter of them is imported. */
const importRows = Number(values.rows);
const importRowsDuringFetches = Math.ceil(importRows / 4);
const rounds = Number(values.rounds);
const durationMs = Number(values.seconds) * 1000;
const [command, folder] = positionals;

/** Goals: minimum ratios, and the maximum duration of an import in seconds. */
const goals = { fetches: 0.85, fetchesDuringImport: 0.9, importSeconds: 60 };

/** Number of audiences used in campaign rules. `conditions` is the number of attribute conditions. */
const audiencesInRules = 20;
const conditions = 10;

const keys = { without: 'bench-without', with: 'bench-with' };
const userOf = (index: number): string => `user-${index % users}`;

const rulesOf = (campaign: number) => ({
  targeting: {
    audiences: {
      include: [`a${campaign % audiencesInRules}`, `a${(campaign + 1) % audiencesInRules}`],
      exclude: [`a${(campaign + 2) % audiencesInRules}`],
    },
  },
  conditions: { key: `n${campaign % conditions}`, op: 'gte', value: 0 },
});

const audienceCount = Math.max(audiencesInRules, memberships * 2);

/** Inserts users directly into the tables, in the form in which API calls would have stored them. */
async function seed(stage: Stage, publisherId: number): Promise<void> {
  const { pool } = stage;
  await pool.query(
    `insert into audiences (publisher_id, key, name) select $1, 'a' || n, 'A' || n from generate_series(0, $2 - 1) n`,
    [publisherId, audienceCount],
  );
  await seedUsers(stage, publisherId);
  for (let campaign = 0; campaign < 100; campaign++)
    await pool.query(
      `update campaigns set rules = $2 where id = (
        select id from campaigns where publisher_id = $1 order by id offset $3 limit 1)`,
      [publisherId, JSON.stringify(rulesOf(campaign)), campaign],
    );
  await pool.query('update publishers set keeps_attributes = true where id = $1', [publisherId]);
  await pool.query('vacuum analyze user_attributes, audience_members');
}

/** Stores the attributes and memberships of all users. Builds the indexes on memberships last, which is faster. */
async function seedUsers({ pool }: Stage, publisherId: number): Promise<void> {
  const startMs = performance.now();
  const { of } = createUserKeys(processSecrets.USER_PEPPER);
  const attributes = Object.fromEntries(Array.from({ length: conditions }, (_, n) => [`n${n}`, { value: n }]));
  const client = await pool.connect();
  await client.query("set synchronous_commit = off; set maintenance_work_mem = '1GB'");
  const indexes = await client.query<{ name: string; definition: string }>(
    `select indexname as name, indexdef as definition from pg_indexes where tablename = 'audience_members'`,
  );
  await client.query('alter table audience_members drop constraint audience_members_pkey');
  for (const { name } of indexes.rows) await client.query(`drop index if exists ${name}`);
  for (let from = 0; from < users; from += 10_000) {
    const userKeys = Array.from({ length: Math.min(10_000, users - from) }, (_, at) =>
      of(publisherId, userOf(from + at)),
    );
    await client.query(
      `with given as (select user_key, row_number() over () as no from unnest($1::uuid[]) as user_key), stored as (
        insert into user_attributes (user_key, publisher_id, attributes, updated_at)
        select user_key, $2, $3, now() from given
      ), first as (select min(id) as id from audiences where publisher_id = $2)
      insert into audience_members (user_key, audience_id)
      select user_key, first.id + (no + n * 2) % $4 from given, first, generate_series(1, $5) n`,
      [userKeys, publisherId, JSON.stringify(attributes), audienceCount, memberships],
    );
  }
  for (const { definition } of indexes.rows) await client.query(definition);
  await client.query(
    'alter table audience_members add constraint audience_members_pkey primary key using index audience_members_pkey',
  );
  client.release(true);
  process.stderr.write(`${users} users stored in ${((performance.now() - startMs) / 1000).toFixed(0)} s\n`);
}

const load = (port: number, key: string): Promise<LoadResult> => {
  let at = 0;
  const next = () => {
    at += 7919;
    return postRequest(`/native/v4/offers.json?api_key=${key}`, fetchBody(userOf(at)));
  };
  return runLoad({ port, connections: 32, durationMs, next });
};

const median = (values: readonly number[]): number => values.toSorted((a, b) => a - b)[values.length >> 1] as number;

type ResultRow = [what: string, measured: string, comparison: string, goal: string];

/** Whether the sizes are those for which the goals are set. Only the results of such a run are judged and stored. */
const isFull = users === fullUsers && importRows === fullRows;

const verdict = (isReached: boolean, goal: string): string =>
  isFull ? `${goal}: ${isReached ? 'reached' : 'missed'}` : `${goal} at full size`;

/**
 * Compares both publishers in alternating rounds, so that other load on the machine affects both equally. CPU time is
 * compared rather than throughput, because it depends less on other load.
 */
async function compare(port: number, readCosts: () => Promise<Costs>): Promise<ResultRow[]> {
  const loads: Record<keyof typeof keys, (LoadResult & { costs: Costs })[]> = { without: [], with: [] };
  for (let round = 0; round < rounds; round++)
    for (const which of ['without', 'with'] as const) {
      const before = await readCosts();
      const measured = await load(port, keys[which]);
      const costs = costOfEach(before, await readCosts(), measured.requests);
      loads[which].push({ ...measured, costs });
      process.stderr.write(`${which}: ${costs.serverUs.toFixed(1)} + ${costs.databaseUs.toFixed(1)} µs\n`);
    }
  const measuredOf = (results: (typeof loads)['with']): string => {
    const medianOf = (pick: (result: (typeof results)[number]) => number): string =>
      median(results.map(pick)).toFixed(0);
    const [server, database] = [medianOf(({ costs }) => costs.serverUs), medianOf(({ costs }) => costs.databaseUs)];
    return `${server} µs server + ${database} µs PostgreSQL, ${medianOf(({ perS }) => perS)} /s`;
  };
  const totalUs = ({ costs }: { costs: Costs }): number => costs.serverUs + costs.databaseUs;
  const value = median(
    loads.with.map(
      (result, round) => totalUs(loads.without[round] as (typeof loads)['with'][number]) / totalUs(result),
    ),
  );
  return [
    ['fetches without audiences and attributes', measuredOf(loads.without), '', ''],
    [
      `with ${conditions} conditions on attributes and ${audiencesInRules} audiences`,
      measuredOf(loads.with),
      `${value.toFixed(2)}× by CPU time`,
      verdict(value >= goals.fetches, `≥ ${goals.fetches}×`),
    ],
  ];
}

const mean = (values: readonly number[]): number => values.reduce((a, b) => a + b, 0) / values.length;

type Imported = { added: number; seconds: number; readSeconds: number };

const membersOf = (key: string, rows: number): string =>
  Array.from({ length: rows }, (_, n) => `${key}-${n}`).join('\n');

/** Imports members into a separate audience, and measures the import. */
async function importInto({ pool }: Stage, url: string, key: string, members: string): Promise<Imported> {
  const authorization = `Bearer ${keys.with}`;
  const post = async (path: string, type: string, body: string): Promise<unknown> => {
    const headers = { authorization, 'content-type': type };
    const options = { method: 'POST', headers, body, headersTimeout: 0, bodyTimeout: 0 } as const;
    const answer = await request(`${url}/manage/v1/audiences${path}`, options);
    if (answer.statusCode >= 300) throw new Error(await answer.body.text());
    return answer.body.json();
  };
  await post('', 'application/json', JSON.stringify({ key, name: key }));
  const startMs = performance.now();
  const secondsOf = (): number => (performance.now() - startMs) / 1000;
  let isOver = false;
  const untilRead = async (): Promise<number> => {
    for (; !isOver; await sleep(200)) {
      const adding = await pool.query("select from audience_imports where state = 'adding'");
      if (adding.rows.length > 0) return secondsOf();
    }
    return 0;
  };
  const importAll = async (): Promise<[unknown, number]> => [
    await post(`/${key}/import`, 'text/csv', members),
    secondsOf(),
  ];
  const ended = importAll().finally(() => (isOver = true));
  const [[answer, seconds], readSeconds] = await Promise.all([ended, untilRead()]);
  return { added: (answer as { data: { added: number } }).data.added, seconds, readSeconds };
}

async function importRowsOf(
  stage: Stage,
  { url, port, memory }: { url: string; port: number; memory: () => Promise<number> },
): Promise<ResultRow[]> {
  const name = `import-${Date.now()}`;
  const [keyAlone, keyDuring] = [`${name}-alone`, `${name}-during`];
  const rateOfFetches = async (): Promise<number> => (await load(port, keys.without)).perS;
  const memoryBefore = await memory();
  const quiet = await importInto(stage, url, keyAlone, membersOf(keyAlone, importRows));
  await stage.pool.query('checkpoint'); // otherwise, the first import would slow down the next measurements
  const undisturbed = [await rateOfFetches(), await rateOfFetches()];
  const members = membersOf(keyDuring, importRowsDuringFetches);
  let isOver = false;
  const disturbed: number[] = [];
  const fetchAll = async (): Promise<void> => {
    while (!isOver) disturbed.push(await rateOfFetches());
  };
  const importing = importInto(stage, url, keyDuring, members).finally(() => (isOver = true));
  const [during] = await Promise.all([importing, fetchAll()]);
  await stage.pool.query('checkpoint');
  undisturbed.push(await rateOfFetches(), await rateOfFetches());
  const measuredOf = ({ seconds, readSeconds }: Imported): string =>
    `${seconds.toFixed(1)} s, of which ${readSeconds.toFixed(1)} s for reading the file`;
  const memberRate = ({ added, seconds }: Imported): string => `${(added / seconds / 1000).toFixed(0)} k/s`;
  const value = mean(disturbed) / mean(undisturbed);
  return [
    [
      `import of ${quiet.added} members`,
      measuredOf(quiet),
      memberRate(quiet),
      verdict(quiet.seconds <= goals.importSeconds, `≤ ${goals.importSeconds} s`),
    ],
    [`import of ${during.added} members during fetches`, measuredOf(during), memberRate(during), ''],
    [
      'fetches during this import',
      `${mean(disturbed).toFixed(0)} /s instead of ${mean(undisturbed).toFixed(0)} /s`,
      `${value.toFixed(2)}× by rate`,
      verdict(value >= goals.fetchesDuringImport, `≥ ${goals.fetchesDuringImport}×`),
    ],
    ['process memory', `${memoryBefore.toFixed(0)} MB`, `${(await memory()).toFixed(0)} MB after the imports`, ''],
  ];
}

const token = 'metrics-'.repeat(5);

async function seedAll(stage: Stage): Promise<void> {
  await createPublisher(stage.pool, { key: keys.without, campaigns: 100 });
  await seed(stage, await createPublisher(stage.pool, { key: keys.with, campaigns: 100 }));
}

async function ask(stage: Stage): Promise<void> {
  const server = await startServerProcess({ databaseUrl: stage.databaseUrl, env: { METRICS_TOKEN: token } });
  try {
    const memory = async (): Promise<number> => {
      const text = await (
        await fetch(`${server.url}/metrics`, { headers: { authorization: `Bearer ${token}` } })
      ).text();
      return Number(/^process_resident_memory_bytes(?:\{[^}]*\})? (\S+)$/m.exec(text)?.[1]) / 2 ** 20;
    };
    const port = Number(new URL(server.url).port);
    // Warm up both paths until they are compiled.
    for (const key of [keys.without, keys.with, keys.without, keys.with]) await load(port, key);
    const readCosts = createCosts(stage, server.child.pid as number);
    const rows = await compare(port, readCosts);
    if (importRows > 0) rows.push(...(await importRowsOf(stage, { url: server.url, port, memory })));
    const sizes =
      `\n${users} users with ${conditions} attributes and ${memberships} memberships each; ` +
      `medians of ${rounds} rounds.`;
    await writeTable(isFull ? 'audiences' : null, ['What', 'Measured', 'Comparison', 'Goal'], rows, sizes);
  } finally {
    await server.stop();
  }
}

await seedAndAsk({ command, folder, seed: seedAll, ask });
