import { mkdtemp, rm } from 'node:fs/promises';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { exportDue } from '../../src/data-files/export/run.ts';
import { createStorage } from '../../src/data-files/storage.ts';
import { Connection } from '../../src/platform/db/pool.ts';
import { writeTable } from '../report.ts';
import { openStage } from '../stage.ts';
import { benchBeside } from './beside.ts';

/*
 * npm run bench:data-files -- [millions of events] [rounds]
 *
 * Measures the export of events to data files on its own, and the throughput of fetches and beacons during exports.
 */
const [millions = 10, rounds = 3] = process.argv.slice(2).map(Number);
const rowsPerTransaction = 10_000;

const stage = await openStage();
const folder = await mkdtemp(join(tmpdir(), 'perkwire-bench-data-'));
try {
  await stage.pool.query('select create_day_partitions(current_date, current_date)');
  for (let no = 0; no < (millions * 1e6) / rowsPerTransaction; no++)
    await stage.pool.query(
      `insert into events (day, session_id, offer_id, kind, publisher_id, campaign_id, position, at, revenue_micros,
        currency)
      select current_date, left(lpad(to_hex($1::integer), 12, '0') || md5(n::text || $1::text), 32)::uuid,
        n % 500, (array['impression', 'impression', 'click', 'close'])[1 + n % 4], 1 + n % 20, n % 100, n % 5, now(),
        case when n % 4 = 2 then 150000 end, case when n % 4 = 2 then 'EUR' end
      from generate_series(1, ${rowsPerTransaction}) as n`,
      [no],
    );
  await stage.pool.query('analyze events');
  const client = new Connection({ server: stage.databaseUrl });
  await client.connect();
  const storage = createStorage({ kind: 'folder', path: folder });
  const [startMs, startCpu] = [performance.now(), process.cpuUsage()];
  const { rows = 0 } = await exportDue(client, { storage, isStopped: () => false, atOnce: true });
  const [tookS, cpu] = [(performance.now() - startMs) / 1000, process.cpuUsage(startCpu)];
  await client.end();
  const head = ['Rows', 'seconds', 'CPU seconds of the export', 'rows per second', 'maximum memory MB'];
  const memoryMb = process.resourceUsage().maxRSS / 1024;
  const figures = [tookS, (cpu.user + cpu.system) / 1e6, rows / tookS, memoryMb].map((figure) => figure.toFixed(0));
  const load = `Load average of the machine: ${loadavg()[0]?.toFixed(1)}.`;
  await stage.pool.query('truncate events');
  const beside = await benchBeside(stage, `file://${folder}`, rounds);
  await writeTable('data-files', head, [[String(rows), ...figures]], `${load}\n\n${beside}\n`);
} finally {
  await rm(folder, { recursive: true, force: true });
  await stage.close();
}
