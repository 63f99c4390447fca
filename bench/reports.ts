import type pg from 'pg';
import { hashKey } from '../src/http/auth.ts';
import { dayBit } from '../src/reports/grains.ts';
import { metricNames } from '../src/reports/metrics.ts';
import { dayOf } from '../src/session-id.ts';
import { startServerProcess } from '../test/support/server-process.ts';
import { createPublisher } from './catalogue.ts';
import { writeTable } from './report.ts';
import { openStage } from './stage.ts';

/*
 * Reports over what 100 million events of one publisher leave behind in 31 days: 50 offers, 20 placements, 30 countries, 10
 * kinds of devices. `npm run bench:reports -- 2 5` seeds two days and asks five times, for a short look.
 */
const days = Number(process.argv[2] ?? 31);
const repeats = Number(process.argv[3] ?? 60);
const eventsPerDay = 100_000_000 / 31;

const sizes = { placement: 20, offer: 50, country: 30, device: 10 };
const bits = { placement: 1, offer: 2, country: 4, device: 8 };

/** The grains that are read, and the share of their combinations that a bucket has. */
const seeds: readonly (readonly [grain: number, share: number])[] = [
  [bits.placement, 1],
  [bits.offer, 1],
  [bits.country, 1],
  [bits.device, 1],
  [bits.offer | bits.country, 0.9],
  [bits.placement | bits.offer | dayBit, 1],
  [bits.offer | bits.country | dayBit, 1],
  [bits.placement | bits.offer | bits.country | dayBit, 1],
  [15 | dayBit, 0.3], // of 300,000 combinations a day
];

const questions: readonly (readonly [what: string, parameters: string])[] = [
  ['all, by day', ''],
  ['by offer and day', 'group_by=offer'],
  ['by country and hour', 'group_by=country&aggregated_by=hour'],
  ['by offer and day, one country', 'group_by=offer&country=C3'],
  ['by offer and day, one placement', 'group_by=offer&placement=p3'],
  ['by offer and hour, one country', 'group_by=offer&country=C3&aggregated_by=hour'],
  ['by offer and day, one placement and country', 'group_by=offer&placement=p3&country=C3'],
  ['by placement and day, one offer, country and device', 'group_by=placement&offer=3&country=C3&device=d3'],
];

async function seed(pool: pg.Pool, publisherId: number): Promise<number> {
  await pool.query('select create_report_partitions(current_date - 40, current_date + 1)');
  const values = (bit: number, grain: number, size: number): string => `generate_series(1, ${grain & bit ? size : 1})`;
  for (const [grain, share] of seeds) {
    const perBucket = grain & dayBit ? eventsPerDay : eventsPerDay / 96;
    for (let day = 1; day <= days; day++) {
      const combinations = Object.entries(bits).reduce((count, [name, bit]) => count * (grain & bit ? sizes[name as 'offer'] : 1), share);
      const each = `greatest(1, (${perBucket / combinations} * 2 * random())::int)`;
      await pool.query(
        `insert into rollups select ${publisherId}, ${grain}, bucket, ${grain & 1 ? "'p' || p" : "''"}, ${grain & 2 ? 'o' : '0'}, ${grain & 4 ? "'C' || c" : "''"},
          ${grain & 8 ? "'d' || d, 'ios'" : "'', ''"}, ${grain & 2 ? 'o' : '0'}, ${metricNames.map(() => each).join(', ')}
        from generate_series(current_date - ${day}, current_date - ${day} + interval '23:59', interval '${grain & dayBit ? '1 day' : '15 minutes'}') bucket,
          ${values(1, grain, 20)} p, ${values(2, grain, 50)} o, ${values(4, grain, 30)} c, ${values(8, grain, 10)} d where random() < ${share}`,
      );
    }
  }
  await pool.query('vacuum analyze rollups');
  return Number((await pool.query('select count(*) from rollups')).rows[0].count);
}

const stage = await openStage();
try {
  const publisherId = await createPublisher(stage.pool, { key: 'bench', campaigns: 50 });
  await stage.pool.query(
    `insert into api_keys (publisher_id, name, key_hash, permissions) values ($1, 'reports', decode('${hashKey('bench-reports')}', 'hex'), '{reports}')`,
    [publisherId],
  );
  const rollups = await seed(stage.pool, publisherId);
  process.stderr.write(`${rollups.toLocaleString('en')} rollups\n`);
  const perkwire = await startServerProcess({ databaseUrl: stage.databaseUrl });
  const range = `from=${dayOf(Date.now() - days * 86_400_000)}&to=${dayOf(Date.now() - 86_400_000)}`;
  const body: string[][] = [];
  for (const [what, parameters] of questions) {
    const times: number[] = [];
    let rows = 0;
    for (let count = 0; count < repeats; count++) {
      const startMs = performance.now();
      const answer = await fetch(`${perkwire.url}/native/activity.json?api_key=bench-reports&${range}&${parameters}`);
      const text = await answer.text();
      times.push(performance.now() - startMs);
      if (!answer.ok) throw new Error(text);
      rows = (JSON.parse(text) as { data: { rows: unknown[] } }).data.rows.length;
    }
    times.sort((a, b) => a - b);
    const at = (share: number): string => (times[Math.min(times.length - 1, Math.floor(times.length * share))] as number).toFixed(0);
    body.push([what, at(0.5), at(0.95), rows.toLocaleString('en')]);
  }
  await perkwire.stop();
  await writeTable(`reports`, [`${days} days, ${rollups.toLocaleString('en')} rollups`, 'p50 ms', 'p95 ms', 'rows answered'], body);
} finally {
  await stage.close();
}
