import { hashKey } from '../src/platform/http/auth.ts';
import { dayOf } from '../src/platform/lib/time.ts';
import { startServerProcess } from '../test/support/server-process.ts';
import { createPublisher } from './catalogue.ts';
import { cpuUseSince, type Processor, readProcessor } from './processor.ts';
import { writeTable } from './report.ts';
import { seedReports } from './report-seeds.ts';
import { type Stage, seedAndAsk } from './stage.ts';

/*
 * Measures reports on the rollups of 100 million events of one publisher in 31 days: 50 offers (25 campaigns), 20
 * placements, 30 countries, 10 kinds of devices, one custom attribute with 20 values and one with 1,000.
 * npm run bench:reports                       runs the complete benchmark in about five minutes
 * npm run bench:reports -- seed FOLDER        only seeds the database, which stays in the folder
 * npm run bench:reports -- ask FOLDER [COUNT] runs each report COUNT times (default: 60)
 */
const days = 31;
const [command, folder, times] = process.argv.slice(2);
const repeats = Number(times ?? 60);
const key = 'bench-reports';

const firstDay = dayOf(Date.now() - days * 86_400_000);

type Question = readonly [what: string, parameters: string];

const byDay: Question[] = [
  ['all', ''],
  ['by offer', 'group_by=offer'],
  ['by campaign', 'group_by=campaign'],
  ['by offer, one country', 'group_by=offer&country=C3'],
  ['by placement, one campaign', 'group_by=placement&campaign=3'],
  ['by country, one device', 'group_by=country&device=d3'],
  ['by placement and offer (31,000 rows)', 'group_by=placement,offer'],
  ['by placement and offer, as CSV', 'group_by=placement,offer&format=csv'],
  ['by offer, one placement and country', 'group_by=offer&placement=p3&country=C3'],
  ['by placement and country, one offer', 'group_by=placement,country&offer=3'],
  ['by placement and offer, one country', 'group_by=placement,offer&country=C3'],
  ['by placement, one offer, country and device', 'group_by=placement&offer=3&country=C3&device=d3'],
  ['by placement and offer, one country and device', 'group_by=placement,offer&country=C3&device=d3'],
  ['by offer and country, one placement and device', 'group_by=offer,country&placement=p3&device=d3'],
  ['by a custom attribute, 20 values', 'group_by=custom.plan'],
  ['by a custom attribute, 1,000 values', 'group_by=custom.shop'],
  ['all, one value of a custom attribute', 'custom.shop=v7'],
];

const byHour: Question[] = [
  ['all', ''],
  ['by country', 'group_by=country'],
  ['by offer', 'group_by=offer'],
  ['by offer, as CSV', 'group_by=offer&format=csv'],
  ['by campaign', 'group_by=campaign'],
  ['by offer, one country', 'group_by=offer&country=C3'],
  ['by placement, one offer', 'group_by=placement&offer=3'],
  ['by placement, one campaign', 'group_by=placement&campaign=3'],
  ['by os, one country', 'group_by=os&country=C3'],
  ['all, one placement and offer', 'placement=p3&offer=3'],
  ['by a custom attribute, 20 values', 'group_by=custom.plan'],
  ['all, one value of a custom attribute', 'custom.shop=v7'],
];

const questions: Question[] = [
  ...byDay.map(([what, parameters]): Question => [`day: ${what}`, parameters]),
  ...byHour.map(([what, parameters]): Question => [`hour: ${what}`, `aggregated_by=hour&${parameters}`]),
];

async function seed(stage: Stage): Promise<void> {
  const startMs = performance.now();
  const publisherId = await createPublisher(stage.pool, { key: 'bench', campaigns: 50 });
  await stage.pool.query(
    `insert into api_keys (publisher_id, name, key_hash, permissions) values ($1, 'reports', decode('${hashKey(key)}',
      'hex'), '{reports}')`,
    [publisherId],
  );
  const rollups = await seedReports(stage, { publisherId, firstDay, days });
  process.stderr.write(
    `${rollups.toLocaleString('en')} rollups in ${Math.round((performance.now() - startMs) / 1000)} s\n`,
  );
}

async function ask({ pool, databaseUrl }: Stage): Promise<void> {
  const { rows: counts } = await pool.query(
    `select (select count(*) from rollups) + (select count(*) from custom_rollups) as rollups, min(bucket) as first
      from rollups`,
  );
  const from = dayOf(counts[0].first.getTime());
  const to = dayOf(counts[0].first.getTime() + (days - 1) * 86_400_000);
  const perkwire = await startServerProcess({ databaseUrl });
  const body: string[][] = [];
  const processor = (): Promise<Processor> => readProcessor(pool, perkwire.child.pid as number);
  try {
    for (const [what, parameters] of questions)
      body.push([
        what,
        ...(await measure(
          `${perkwire.url}/native/activity.json?api_key=${key}&from=${from}&to=${to}&${parameters}`,
          processor,
        )),
      ]);
    body.push([
      'reconciliation',
      ...(await measure(`${perkwire.url}/native/reconciliation.json?api_key=${key}&from=${from}&to=${to}`, processor)),
    ]);
  } finally {
    await perkwire.stop();
  }
  await writeTable(
    'reports',
    [
      `${days} days, ${Number(counts[0].rollups).toLocaleString('en')} rollups, ${repeats} times each`,
      'p50 ms',
      'p95 ms',
      'CPU: server ms',
      'database ms',
      'rows returned',
      'KB',
    ],
    body,
  );
}

async function measure(url: string, processor: () => Promise<Processor>): Promise<string[]> {
  const latenciesMs: number[] = [];
  const before = await processor();
  let text = '';
  for (let count = 0; count < repeats; count++) {
    const startMs = performance.now();
    const answer = await fetch(url);
    text = await answer.text();
    latenciesMs.push(performance.now() - startMs);
    if (!answer.ok) throw new Error(text);
  }
  const used = cpuUseSince(before, await processor(), repeats);
  latenciesMs.sort((a, b) => a - b);
  const at = (share: number): string =>
    (latenciesMs[Math.min(latenciesMs.length - 1, Math.floor(latenciesMs.length * share))] as number).toFixed(0);
  const rows = text.startsWith('{')
    ? ((JSON.parse(text) as { data: { rows?: unknown[] } }).data.rows?.length ?? 1)
    : text.split('\r\n').length - 2;
  return [at(0.5), at(0.95), ...used, rows.toLocaleString('en'), Math.round(text.length / 1024).toLocaleString('en')];
}

await seedAndAsk({ command, folder, seed, ask });
