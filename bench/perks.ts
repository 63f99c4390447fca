import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createOutput } from '../src/command-line/output.ts';
import { runCommandLine } from '../src/command-line/run-command-line.ts';
import { commands } from '../src/commands.ts';
import { dayOf } from '../src/platform/lib/time.ts';
import { newUuid7 } from '../src/platform/lib/uuid7.ts';
import { startServerProcess } from '../test/support/server-process.ts';
import { createPublisher } from './catalogue.ts';
import { type Costs, createCosts } from './costs.ts';
import { postRequest, runLoad } from './load.ts';
import { fetchRows } from './perk-fetches.ts';
import { writeTable } from './report.ts';
import { openStage, type Stage } from './stage.ts';

/**
 * Measures the time that loading a coupon pool from the command line takes, the cost of a code per wrap, and the cost
 * per fetch of translations, several placements and counting. Each case runs with and without the feature, alternating
 * on one server: `npm run bench:perks [codes] [wraps] [rounds]`.
 */
const key = 'bench-perks';
const [codes = 10_000_000, wraps = 3000, rounds = 5] = process.argv.slice(2).map(Number);

async function command(url: string, ...args: string[]): Promise<void> {
  const env = { PERKWIRE_URL: url, PERKWIRE_KEY: key };
  const { stdin, stdout, stderr } = process;
  const outputOf = (isJson: boolean) => createOutput(isJson, { stdout, stderr });
  const signal = new AbortController().signal;
  const code = await runCommandLine(args, { commands, env, stdin, stderr, outputOf, signal });
  if (code !== 0) throw new Error(`the command exited with code ${code}`);
}

async function loadCodes(url: string, offer: number): Promise<number> {
  const folder = await mkdtemp(join(tmpdir(), 'perkwire-codes-'));
  const file = join(folder, 'codes.csv');
  const lines = Array.from({ length: codes }, (_, index) => `SAVE-${((index + 1) * 7919).toString(36).toUpperCase()}`);
  await writeFile(file, lines.join('\n'));
  const startMs = performance.now();
  await command(url, 'coupons', 'add', String(offer), file);
  const seconds = (performance.now() - startMs) / 1000;
  await rm(folder, { recursive: true });
  return seconds;
}

/**
 * Opens sessions of different users with one offer each.
 * @returns the session IDs
 */
async function openSessions({ pool }: Stage, offer: number, name: string): Promise<string[]> {
  const nowMs = Date.now();
  const ids = Array.from({ length: 2 * wraps }, () => newUuid7(nowMs));
  await pool.query(
    `insert into sessions (day, id, publisher_id, placement, offer_ids, campaign_ids, pub_user_id, usp, usp_check_all,
      dev, created_at)
    select $1, s.id, o.publisher_id, 'checkout', array[o.id], array[o.campaign_id], $3 || n, true, true, false, now()
    from unnest($2::uuid[]) with ordinality s (id, n), offers o where o.id = $4`,
    [dayOf(nowMs), ids, `${name}-`, offer],
  );
  return ids;
}

type CpuCosts = Pick<Costs, 'serverUs' | 'databaseUs'>;

async function wrapAll(port: number, costs: () => Promise<Costs>, ids: string[]): Promise<CpuCosts> {
  const before = await costs();
  let sent = 0;
  const path = (id: string): string => `/sdk/v4/usp/session/${id}.json?api_key=${key}`;
  // There are twice as many sessions as wraps, so no session is wrapped twice.
  const next = (): string => postRequest(path(ids[sent++] as string), '{"action":"wrap"}');
  while (sent < wraps) {
    const { failed } = await runLoad({ port, connections: 64, durationMs: 100, next });
    if (failed > 0) throw new Error(`${failed} wraps failed`);
  }
  const after = await costs();
  const per = (name: keyof CpuCosts): number => (after[name] - before[name]) / sent;
  return { serverUs: per('serverUs'), databaseUs: per('databaseUs') };
}

const median = (values: number[]): number => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;

const stage = await openStage();
await createPublisher(stage.pool, { key, campaigns: 2 });
const { rows: offers } = await stage.pool.query<{ id: number }>('select id from offers order by id limit 2');
const [withCodes = 0, without = 0] = offers.map(({ id }) => id);
// Disable the endpoint, so that no webhook call is measured.
await stage.pool.query(
  `insert into webhook_endpoints (publisher_id, event, url, method, secret_sealed, enabled)
  select id, 'usp.selection', 'https://shop.example/hook', 'POST', '\\x00', false from publishers`,
);
const server = await startServerProcess({ databaseUrl: stage.databaseUrl });
try {
  const seconds = await loadCodes(server.url, withCodes);
  const costs = createCosts(stage, server.child.pid ?? 0);
  const costsByKind: Record<'with' | 'without', CpuCosts[]> = { with: [], without: [] };
  for (let round = 0; round < 2 * (rounds + 1); round += 1) {
    const kind = round % 2 === 0 ? 'with' : 'without';
    const ids = await openSessions(stage, kind === 'with' ? withCodes : without, `round-${round}`);
    const measured = await wrapAll(server.port, costs, ids);
    if (round > 1) costsByKind[kind].push(measured); // the first two warm up
  }
  const sum = (kind: 'with' | 'without'): number =>
    median(costsByKind[kind].map(({ serverUs, databaseUs }) => serverUs + databaseUs));
  const cells = (kind: 'with' | 'without'): string[] =>
    (['serverUs', 'databaseUs'] as const).map((name) =>
      median(costsByKind[kind].map((costs) => costs[name])).toFixed(0),
    );
  const fetches = await fetchRows(stage, { port: server.port, costs, requests: wraps, rounds });
  await writeTable(
    'perks',
    ['What', 'server µs', 'PostgreSQL µs', 'Figure', 'Limit'],
    [
      [
        `${codes.toLocaleString('en')} codes loaded by \`perkwire coupons add\``,
        '',
        '',
        `${seconds.toFixed(1)} s`,
        '60 s',
      ],
      [`wrap, 64 connections, median of ${rounds} × ${wraps}`, ...cells('without'), '', ''],
      ['with a code assigned', ...cells('with'), `${(sum('with') / sum('without')).toFixed(2)}×`, '1.15×'],
      ...fetches,
    ],
  );
} finally {
  await server.stop();
  await stage.close();
}
