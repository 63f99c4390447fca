import { loadavg } from 'node:os';
import { ensurePartitions } from '../src/platform/db/partitions.ts';
import { createPool } from '../src/platform/db/pool.ts';
import { catchUpRollups } from '../src/reports/catch-up.ts';
import { processSecrets, type ServerProcess } from '../test/support/server-process.ts';
import { createHistories, createPublisher, knownUser } from './catalogue.ts';
import { growthKey, seedCatalogue, seedDeliveries, seedEndpoints, seedEvents } from './growth-seeds.ts';
import { writeTable } from './report.ts';
import { changeServedMs, fetchMs, median, residentMb, withServer } from './server-costs.ts';
import { openStage, type Stage } from './stage.ts';

/*
 * Measures how each cost grows when the data grows tenfold, and marks the costs that grow faster than expected.
 * npm run bench:growth                        runs everything, with up to 10^5 offers and 10^6 events and deliveries
 * npm run bench:growth -- offers 6 5          measures one kind of data, with 10^5 to 10^6 rows (maximum first)
 */
const [only = '', largest, smallest] = process.argv.slice(2);
const memoryMb = 256;

/** Cost and its expected growth: `constant` costs should not grow with the data, and `linear` costs at most like it. */
type Cost = { name: string; work: 'constant' | 'linear'; digits?: number };

type Dimension = {
  name: string;
  /** Powers of ten that are measured by default. */
  exponents: readonly number[];
  costs: readonly Cost[];
  /** Seeds an empty database, and returns the costs in the order of `costs`. */
  measure: (stage: Stage, count: number) => Promise<number[]>;
};

/** Factor by which a cost may exceed its expected growth. */
const tolerance = 1.5;

const catalogueCosts: readonly Cost[] = [
  { name: 'start, s', work: 'linear' },
  { name: 'memory after the start, MB', work: 'linear', digits: 0 },
  { name: 'first fetch of a publisher, ms', work: 'constant' },
  { name: 'warm fetch, ms', work: 'constant' },
  { name: 'memory after serving every publisher once, MB', work: 'linear', digits: 0 },
  { name: 'time until a change is served, ms', work: 'constant', digits: 0 },
];

const dimensions: readonly Dimension[] = [
  {
    name: 'offers of 1,000 publishers, all loaded at startup',
    exponents: [3, 4, 5],
    costs: catalogueCosts,
    measure: (stage, count) => measureCatalogue(stage, { publishers: 1000, offers: count, limitMb: 0 }),
  },
  {
    name: `offers of 1,000 publishers, loaded on first use within ${memoryMb} MB`,
    exponents: [3, 4, 5],
    costs: catalogueCosts,
    measure: (stage, count) => measureCatalogue(stage, { publishers: 1000, offers: count, limitMb: memoryMb }),
  },
  {
    name: `publishers with 10 offers each, loaded on first use within ${memoryMb} MB`,
    exponents: [2, 3, 4],
    costs: catalogueCosts,
    measure: (stage, count) => measureCatalogue(stage, { publishers: count, offers: 10 * count, limitMb: memoryMb }),
  },
  {
    name: 'events',
    exponents: [4, 5, 6],
    costs: [
      { name: 'rollup, s', work: 'linear' },
      { name: 'disk, MB', work: 'linear', digits: 0 },
    ],
    measure: measureEvents,
  },
  {
    name: 'users with a history',
    exponents: [4, 5, 6],
    costs: [
      { name: 'fetch of a known user, ms', work: 'constant' },
      { name: 'fetch of a new user, ms', work: 'constant' },
      { name: 'disk, MB', work: 'linear', digits: 0 },
    ],
    measure: measureUsers,
  },
  {
    name: 'webhook deliveries',
    exponents: [4, 5, 6],
    costs: [
      { name: 'list of deliveries, ms', work: 'constant' },
      { name: 'list of failed deliveries, ms', work: 'constant' },
      { name: 'disk, MB', work: 'linear', digits: 0 },
    ],
    measure: measureDeliveries,
  },
  {
    name: 'webhook endpoints of 1,000 publishers',
    exponents: [3, 4, 5],
    costs: [
      { name: 'start, s', work: 'constant' },
      { name: 'memory after the start, MB', work: 'constant', digits: 0 },
      { name: 'list of endpoints, ms', work: 'constant' },
    ],
    measure: measureEndpoints,
  },
];

type CatalogueSize = { publishers: number; offers: number; limitMb: number };

/** Number of publishers whose first and warm fetches are measured, and number of measured changes. */
const [samples, changes] = [20, 5];

async function measureCatalogue(stage: Stage, { publishers, offers, limitMb }: CatalogueSize): Promise<number[]> {
  await seedCatalogue(stage.pool, { publishers, offersPerPublisher: offers / publishers });
  return withAnalysed(stage, { CATALOGUE_MEMORY_MB: String(limitMb) }, async (server, startS) => {
    const startMb = await residentMb(server);
    const first: number[] = [];
    const warm: number[] = [];
    await fetchMs(server, publishers); // the first request of a process also opens connections
    for (let sample = 0; sample < samples; sample += 1) {
      const publisherId = 1 + Math.floor((sample * (publishers - 1)) / samples);
      first.push(await fetchMs(server, publisherId));
      for (let call = 0; call < 10; call += 1) warm.push(await fetchMs(server, publisherId));
    }
    for (let id = 1; id <= publishers; id += 1) await fetchMs(server, id);
    const servedMb = await residentMb(server);
    const served: number[] = [];
    for (let no = 0; no < changes; no += 1) served.push(await changeServedMs(stage, server, no));
    return [startS, startMb, median(first), median(warm), servedMb, median(served)];
  });
}

async function measureEvents(stage: Stage, count: number): Promise<number[]> {
  const startMb = await databaseMb(stage);
  await seedEvents(stage.pool, count);
  const diskMb = (await databaseMb(stage)) - startMb;
  const pool = createPool({ url: stage.databaseUrl, size: 2, applicationName: 'perkwire-bench', onError: () => {} });
  try {
    const startMs = performance.now();
    await catchUpRollups(pool, Date.now());
    return [(performance.now() - startMs) / 1000, diskMb];
  } finally {
    await pool.end();
  }
}

async function measureUsers(stage: Stage, count: number): Promise<number[]> {
  await ensurePartitions(stage.pool, Date.now());
  const rules = { frequency_caps: [{ scope: 'campaign', event: 'impression', limit: 50, window_minutes: 1440 }] };
  const publisherId = await createPublisher(stage.pool, { key: growthKey(1), campaigns: 100, rules });
  const startMb = await databaseMb(stage);
  await createHistories(stage.pool, { publisherId, users: count, pepper: processSecrets.USER_PEPPER });
  const diskMb = (await databaseMb(stage)) - startMb;
  await stage.pool.query('vacuum analyze user_history');
  return withAnalysed(stage, {}, async (server) => {
    const knownTimes: number[] = [];
    const newTimes: number[] = [];
    for (let call = 0; call < 300; call += 1) {
      knownTimes.push(await fetchMs(server, 1, knownUser((call * 7919) % count)));
      newTimes.push(await fetchMs(server, 1, `new-${call}`));
    }
    return [median(knownTimes), median(newTimes), diskMb];
  });
}

async function measureDeliveries(stage: Stage, count: number): Promise<number[]> {
  await ensurePartitions(stage.pool, Date.now());
  await createPublisher(stage.pool, { key: growthKey(1), campaigns: 10 });
  const startMb = await databaseMb(stage);
  await seedDeliveries(stage.pool, count);
  const diskMb = (await databaseMb(stage)) - startMb;
  return withAnalysed(stage, { ROLES: 'api' }, async (server) => [
    await listMs(server, '/deliveries?limit=100'),
    await listMs(server, '/deliveries?limit=100&status=failed'),
    diskMb,
  ]);
}

async function measureEndpoints(stage: Stage, count: number): Promise<number[]> {
  await seedCatalogue(stage.pool, { publishers: 1000, offersPerPublisher: 1 });
  await seedEndpoints(stage.pool, count / 1000);
  return withAnalysed(stage, {}, async (server, startS) => {
    const startMb = await residentMb(server);
    return [startS, startMb, await listMs(server, '/webhook-endpoints?limit=100')];
  });
}

/** Updates the statistics of the seeded tables, and runs a function with a server. */
async function withAnalysed(...[stage, env, use]: Parameters<typeof withServer<number[]>>): Promise<number[]> {
  await stage.pool.query('analyze');
  return withServer(stage, env, use);
}

/** Returns the median duration of a list call of the management API, in milliseconds. */
async function listMs(server: ServerProcess, path: string): Promise<number> {
  const times: number[] = [];
  for (let call = 0; call < 40; call += 1) {
    const startMs = performance.now();
    const headers = { authorization: `Bearer ${growthKey(1)}` };
    const answer = await fetch(`${server.url}/manage/v1${path}`, { headers });
    await answer.text();
    if (answer.status !== 200) throw new Error(`${path} responded with ${answer.status}`);
    times.push(performance.now() - startMs);
  }
  return median(times);
}

async function databaseMb({ pool }: Stage): Promise<number> {
  const { rows } = await pool.query<{ bytes: string }>('select pg_database_size(current_database()) as bytes');
  return Number(rows[0]?.bytes) / 2 ** 20;
}

/** Measures one kind of data at each size, each in a database of its own. */
async function measureDimension({ name, exponents, costs, measure }: Dimension): Promise<string[][]> {
  const [first, last] = [Number(smallest ?? exponents[0]), Number(largest ?? exponents.at(-1))];
  const sizes = Array.from({ length: last - first + 1 }, (_, at) => first + at);
  const columns: number[][] = [];
  for (const power of sizes) {
    const stage = await openStage();
    try {
      columns.push(await measure(stage, 10 ** power));
    } finally {
      await stage.close();
    }
    process.stderr.write(
      `${name}, 10^${power}: ${columns
        .at(-1)
        ?.map((cost) => cost.toFixed(1))
        .join(', ')}\n`,
    );
  }
  return costs.map(({ name: cost, work, digits = 1 }, at) => {
    const values = columns.map((column) => column[at] ?? 0);
    const [before = 0, after = 0] = values.slice(-2);
    const growth = after / before;
    const isFaster = growth > (work === 'linear' ? 10 : 1) * tolerance;
    return [
      name,
      cost,
      sizes.map((power) => `10^${power}`).join(' / '),
      values.map((value) => value.toFixed(digits)).join(' / '),
      `${growth.toFixed(2)}×`,
      isFaster ? '**faster than expected**' : '',
    ];
  });
}

const selection = dimensions.filter(({ name }) => name.startsWith(only));
const results: string[][] = [];
for (const dimension of selection) results.push(...(await measureDimension(dimension)));
await writeTable(
  only === '' ? 'growth' : null,
  ['Data', 'Cost', 'Sizes', 'Figures', 'Growth with ten times the data', ''],
  results,
  `\nLoad average of the machine: ${loadavg()[0]?.toFixed(1)}.`,
);
