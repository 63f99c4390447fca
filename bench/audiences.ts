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
 * npm run bench:audiences -- [--users n] [--memberships n] [--rows n] [seed|ask FOLDER]
 *
 * Compares fetches with and without audiences and attributes, and imports with and without concurrent fetches. Seeding
 * takes half an hour. `seed FOLDER` stores the data, so that `ask FOLDER` can repeat the measurements any number of
 * times.
 */
const { values, positionals } = parseArgs({
  options: {
    users: { type: 'string', default: '1000000' },
    memberships: { type: 'string', default: '100' },
    rows: { type: 'string', default: '10000000' },
  },
  allowPositionals: true,
});
const users = Number(values.users);
/** Number of audience memberships per user. */
const memberships = Number(values.memberships);
/** Number of rows in the imported file. */
const importRows = Number(values.rows);
const [command, folder] = positionals;

/** Number of audiences used in campaign rules. `conditions` is the number of attribute conditions. */
const audiencesInRules = 20;
const conditions = 10;

const keys = { without: 'bench-without', with: 'bench-with' };
const userOf = (index: number): string => `user-${index % users}`;
const durationMs = 5000;
const rounds = 4;

const rulesOf = (campaign: number) => ({
  targeting: {
    audiences: {
      include: [`a${campaign % audiencesInRules}`, `a${(campaign + 1) % audiencesInRules}`],
      exclude: [`a${(campaign + 2) % audiencesInRules}`],
    },
  },
  conditions: { key: `n${campaign % conditions}`, op: 'gte', value: 0 },
});

/** Inserts users directly into the tables, in the form in which API calls would have stored them. */
async function seed({ pool }: Stage, publisherId: number): Promise<void> {
  const { of } = createUserKeys(processSecrets.USER_PEPPER);
  const audiences = Math.max(audiencesInRules, memberships * 2);
  await pool.query(
    `insert into audiences (publisher_id, key, name) select $1, 'a' || n, 'A' || n from generate_series(0, $2 - 1) n`,
    [publisherId, audiences],
  );
  const attributes = Object.fromEntries(Array.from({ length: conditions }, (_, n) => [`n${n}`, { value: n }]));
  for (let from = 0; from < users; from += 10_000) {
    const userKeys = Array.from({ length: Math.min(10_000, users - from) }, (_, at) =>
      of(publisherId, userOf(from + at)),
    );
    await pool.query(
      `with given as (select user_key, row_number() over () as no from unnest($1::uuid[]) as user_key), told as (
        insert into user_attributes (user_key, publisher_id, attributes, updated_at)
        select user_key, $2, $3, now() from given
      ), first as (select min(id) as id from audiences where publisher_id = $2)
      insert into audience_members (user_key, audience_id)
      select user_key, first.id + (no + n * 2) % $4 from given, first, generate_series(1, $5) n`,
      [userKeys, publisherId, JSON.stringify(attributes), audiences, memberships],
    );
  }
  for (let campaign = 0; campaign < 100; campaign++)
    await pool.query(
      `update campaigns set rules = $2 where id = (
        select id from campaigns where publisher_id = $1 order by id offset $3 limit 1)`,
      [publisherId, JSON.stringify(rulesOf(campaign)), campaign],
    );
  await pool.query('update publishers set keeps_attributes = true where id = $1', [publisherId]);
  await pool.query('vacuum analyze user_attributes, audience_members');
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

/** Compares both publishers in alternating rounds, so that other load on the machine affects both equally. */
async function compare(port: number, readCosts: () => Promise<Costs>): Promise<[string, string, string][]> {
  const loads: Record<keyof typeof keys, (LoadResult & { costs: Costs })[]> = { without: [], with: [] };
  for (let round = 0; round < rounds; round++)
    for (const which of ['without', 'with'] as const) {
      const before = await readCosts();
      const measured = await load(port, keys[which]);
      loads[which].push({ ...measured, costs: costOfEach(before, await readCosts(), measured.requests) });
    }
  const rowOf = (what: string, measured: (typeof loads)['with']): [string, string] => {
    const medianOf = (pick: (result: (typeof measured)[number]) => number): string =>
      median(measured.map(pick)).toFixed(0);
    const [server, database] = [medianOf(({ costs }) => costs.serverUs), medianOf(({ costs }) => costs.databaseUs)];
    return [what, `${medianOf(({ perS }) => perS)} /s, CPU time ${server} µs server + ${database} µs PostgreSQL`];
  };
  const [without, withAll] = [loads.without, loads.with].map((results) => median(results.map(({ perS }) => perS)));
  return [
    [...rowOf('fetches without audiences and attributes', loads.without), ''],
    [
      ...rowOf(`with ${conditions} conditions on attributes and ${audiencesInRules} audiences`, loads.with),
      ratio(withAll as number, without as number),
    ],
  ];
}

const mean = (values: readonly number[]): number => values.reduce((a, b) => a + b, 0) / values.length;

const ratio = (value: number, other: number): string => `${(value / other).toFixed(2)} ×`;

type Imported = { added: number; seconds: number; readSeconds: number };

const membersOf = (key: string): string => Array.from({ length: importRows }, (_, n) => `${key}-${n}`).join('\n');

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
): Promise<[string, string, string][]> {
  const name = `import-${Date.now()}`;
  const [keyAlone, keyBeside] = [`${name}-alone`, `${name}-beside`];
  const memoryBefore = await memory();
  const quiet = await importInto(stage, url, keyAlone, membersOf(keyAlone));
  const alone = [(await load(port, keys.without)).perS];
  const members = membersOf(keyBeside);
  let isOver = false;
  const fetches: number[] = [];
  const fetchAll = async (): Promise<void> => {
    while (!isOver) fetches.push((await load(port, keys.without)).perS);
  };
  const importing = importInto(stage, url, keyBeside, members).finally(() => (isOver = true));
  const [beside] = await Promise.all([importing, fetchAll()]);
  alone.push((await load(port, keys.without)).perS);
  const rowOf = (what: string, { added, seconds, readSeconds }: Imported): [string, string, string] => [
    `import of ${added} members, ${what}`,
    `${seconds.toFixed(1)} s, of which ${readSeconds.toFixed(1)} s for reading the file`,
    `${(added / seconds / 1000).toFixed(0)} k/s`,
  ];
  return [
    rowOf('on its own', quiet),
    rowOf('during fetches', beside),
    ['fetches during the import', `${mean(fetches).toFixed(0)} /s`, ratio(mean(fetches), mean(alone))],
    ['process memory', `${memoryBefore.toFixed(0)} MB`, `${(await memory()).toFixed(0)} MB after`],
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
    await load(port, keys.with);
    const readCosts = createCosts(stage, server.child.pid as number);
    const rows = await compare(port, readCosts);
    if (importRows > 0) rows.push(...(await importRowsOf(stage, { url: server.url, port, memory })));
    const sizes =
      `\n${users} users with ${conditions} attributes and ${memberships} memberships each; ` +
      `medians of ${rounds} rounds.`;
    const isFull = users === 1_000_000 && importRows === 10_000_000;
    await writeTable(isFull ? 'audiences' : null, ['What', 'Measured', 'Comparison'], rows, sizes);
  } finally {
    await server.stop();
  }
}

await seedAndAsk({ command, folder, seed: seedAll, ask });
