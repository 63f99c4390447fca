import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { embeddedDemoIds, loadDemoCatalogue } from '../src/demo/catalogue.ts';
import { freePort, type ServerProcess, startServerProcess } from '../test/support/server-process.ts';
import { allocatedBytes } from './allocations.ts';
import { createPublisher } from './catalogue.ts';
import { checkOut } from './checkout.ts';
import { type Costs, costOfEach, createCosts } from './costs.ts';
import { demoFetch, largeFetch, type Path, paths, receiverUrl, type Side } from './cpu-paths.ts';
import { fetchBody, prepareCaps } from './fetch.ts';
import { runLoad } from './load.ts';
import { writeTable } from './report.ts';
import { openStage, type Stage, startBare } from './stage.ts';
import { sendWebhooks } from './wrap.ts';

/*
 * npm run bench:cpu -- [commit or folder] [--rounds n] [--seconds s]
 *
 * Processor time a request of the working tree, beside that of another commit (default: the last tag, else HEAD~1) and
 * of bare Fastify routes that answer the same bytes. Short rounds in turns, so that a busy machine is as busy for all;
 * medians, and ratios of the same run. A folder is a checkout of the other commit that is built already. `--only caps`:
 * the paths with that text in their names.
 */
const { values, positionals } = parseArgs({
  options: {
    rounds: { type: 'string', default: '7' },
    seconds: { type: 'string', default: '2' },
    only: { type: 'string', default: '' },
  },
  allowPositionals: true,
});
const rounds = Number(values.rounds);
const durationMs = Number(values.seconds) * 1000;
/** How long each path is asked before it is measured (milliseconds). */
const warmUpMs = 4 * durationMs;

/** What else is measured, and by which command. */
const elsewhere = `
"reads, writes": system calls of the server that moved bytes. "heap B": what it allocates in its heap.

First start in a clean folder: \`npm run bench -- 3 start\`. Memory with 10,000 offers, all rewritten four times:
the last row of \`npm run bench:refresh -- 10000 4\`.`;

/** A database of its own for each version, whose tables may differ. */
const stages = [await openStage(undefined, false), await openStage()] as const;
const stops: (() => Promise<unknown>)[] = [];
try {
  const before = await checkOut(stages[0].folder, positionals[0]);
  const servers = [await openServer(stages[0], before.folder), await openServer(stages[1], '.')] as const;
  const bare = await startBareBeside(servers[1].port);
  await compare([
    { name: 'bare', isBare: true, ...bare, folder: '.', inspectPort: 0, stage: stages[1], worker: null },
    { name: before.name, isBare: false, worker: null, ...servers[0] },
    { name: 'working tree', isBare: false, worker: null, ...servers[1] },
  ]);
} finally {
  for (const stop of stops) await stop();
  for (const stage of stages) await stage.close();
}
process.exit();

/** A server with the demo catalogue, which it makes its tables for. */
async function openServer(stage: Stage, folder: string) {
  const inspectPort = await freePort();
  const { port, child, stop } = await startServerProcess({
    databaseUrl: stage.databaseUrl,
    folder,
    execArgv: [`--inspect-port=127.0.0.1:${inspectPort}`],
    env: { ROLES: 'api' },
  });
  stops.push(stop);
  await loadDemoCatalogue(stage.pool, embeddedDemoIds);
  await createPublisher(stage.pool, { key: 'bench-100', campaigns: 100 });
  await prepareCaps(stage, { histories: 20_000, haveUsers: false });
  while (!(await askSample(port, '/native/v4/offers.json?api_key=bench-capped')).ok) await sleep(100);
  await sendWebhooks(port, receiverUrl);
  return { folder, port, stage, inspectPort, pid: child.pid as number };
}

function askSample(port: number, path: string): Promise<Response> {
  return fetch(`http://127.0.0.1:${port}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: fetchBody('sample'),
  });
}

/** The bare server, with the answers of a server of ours. */
async function startBareBeside(port: number): Promise<Awaited<ReturnType<typeof startBare>>> {
  const [demo, large] = [await askSample(port, demoFetch), await askSample(port, largeFetch)];
  const text = await demo.text();
  const { data } = JSON.parse(text) as { data: { offers: { pixel: string }[] } };
  const { pathname, search } = new URL((data.offers[0] as { pixel: string }).pixel);
  const image = await fetch(`http://127.0.0.1:${port}${pathname}${search}`);
  const [offers, more, pixel] = ['offers.json', 'more.json', 'pixel.png'].map((name) => join(stages[1].folder, name));
  await writeFile(offers as string, text);
  await writeFile(more as string, await large.text());
  await writeFile(pixel as string, Buffer.from(await image.arrayBuffer()));
  const bare = await startBare(offers as string, pixel as string, more);
  stops.push(bare.stop);
  return bare;
}

/** What a path took, for each request. */
type Taken = Costs & { perS: number };

async function measure(side: Side, path: Path, connections: number, forMs: number): Promise<Taken> {
  const { port, pid, stage, worker, isBare } = side;
  const costs = createCosts(stage, pid, ...(worker === null ? [] : [worker.child.pid as number]));
  const ready = Math.ceil((path.perS * forMs) / 1000);
  const next = isBare && path.bare !== null ? path.bare : await path.next(side, ready);
  const before = await costs();
  const { requests, failed, perS } = await runLoad({ port, connections, durationMs: forMs, next });
  if (worker !== null) await untilDelivered(stage);
  const each = costOfEach(before, await costs(), requests);
  if (failed > 0) throw new Error(`${failed} of ${requests} requests to ${side.name} failed`);
  return { ...each, perS };
}

async function untilDelivered({ pool }: Stage): Promise<void> {
  const open = "select from deliveries where status not in ('delivered', 'failed') limit 1";
  while ((await pool.query(open)).rows.length > 0) await sleep(20);
}

async function compare(sides: readonly Side[]): Promise<void> {
  const sidesOf = ({ bare }: Path): readonly Side[] => sides.filter(({ isBare }) => !isBare || bare !== null);
  const wanted = paths.filter(({ name }) => name.includes(values.only));
  // V8 compiles in threads of its own, whose time would count as well.
  const warmUp = async (path: Path): Promise<void> => {
    for (const side of sidesOf(path)) await measure(side, path, 64, warmUpMs);
  };
  for (const path of wanted) if (path.delivers !== true) await warmUp(path);
  const measured: { path: Path; connections: number; medians: Map<string, Taken> }[] = [];
  for (const path of wanted) {
    const turns = sidesOf(path);
    if (path.delivers === true) {
      for (const side of turns) side.worker = await startWorker(side);
      await warmUp(path);
    }
    for (const connections of [16, 64]) {
      const taken = new Map<string, Taken[]>(turns.map(({ name }) => [name, []]));
      for (let round = 0; round < rounds; round += 1)
        // Each side is first in turn: what is measured last may find the machine in another state.
        for (const side of [...turns.slice(round % turns.length), ...turns.slice(0, round % turns.length)])
          taken.get(side.name)?.push(await measure(side, path, connections, durationMs));
      measured.push({ path, connections, medians: new Map([...taken].map(([name, all]) => [name, mediansOf(all)])) });
    }
    for (const side of turns) await side.worker?.stop();
    for (const side of turns) side.worker = null;
  }
  // At last: a process whose allocations were noted may be slower from then on.
  const body: string[][] = [];
  for (const { path, connections, medians } of measured) {
    const heap = new Map<string, number>();
    for (const side of sidesOf(path)) if (connections === 64) heap.set(side.name, await heapOfEach(side, path));
    body.push(...rowsOf(`${path.name}, ${connections} connections`, sidesOf(path), medians, heap));
  }
  const columns = ['Path', 'Server', 'server µs', 'PostgreSQL µs', 'reads, writes', 'heap B', 'WAL B', 'per second'];
  await writeTable('cpu', [...columns, '× bare', `× ${sides[1]?.name}`], body, elsewhere);
}

function startWorker({ stage, folder }: Side): Promise<ServerProcess> {
  return startServerProcess({ databaseUrl: stage.databaseUrl, folder, env: { ROLES: 'worker' } });
}

/** Bytes that a request allocates in the heap, from a second of load; not of bare Fastify. */
async function heapOfEach(side: Side, path: Path): Promise<number> {
  if (side.isBare) return Number.NaN;
  let requests = 0;
  const next = await path.next(side, path.perS);
  const bytes = await allocatedBytes(side.pid, side.inspectPort, async () => {
    ({ requests } = await runLoad({ port: side.port, connections: 64, durationMs: 1000, next }));
  });
  return bytes / requests;
}

/** The rows of one path; ratios of the server's processor time. */
function rowsOf(
  what: string,
  sides: readonly Side[],
  medians: ReadonlyMap<string, Taken>,
  heap: ReadonlyMap<string, number>,
): string[][] {
  const of = (name: string | undefined): Taken | undefined => medians.get(name ?? '');
  const ratioTo = (us: number, other: Taken | undefined): string =>
    other === undefined ? '' : (us / other.serverUs).toFixed(2);
  const before = sides.find(({ isBare }) => !isBare);
  return sides.map(({ name, isBare }) => {
    const { serverUs, databaseUs, systemCalls, walBytes, perS } = of(name) as Taken;
    const head = [what, name, serverUs.toFixed(1)];
    if (isBare) return [...head, '', systemCalls.toFixed(1), '', '', perS.toFixed(0), '', ''];
    const kept = [systemCalls.toFixed(1), heap.get(name)?.toFixed(0) ?? '', walBytes.toFixed(0), perS.toFixed(0)];
    const ratios = [ratioTo(serverUs, of('bare')), ratioTo(serverUs, of(before?.name))];
    return [...head, databaseUs.toFixed(0), ...kept, ...ratios];
  });
}

/** Of each kind of cost by itself. */
function mediansOf(costs: readonly Taken[]): Taken {
  const median = (read: (of: Taken) => number): number => {
    const sorted = costs.map(read).sort((a, b) => a - b);
    return sorted[Math.floor(sorted.length / 2)] as number;
  };
  return {
    serverUs: median(({ serverUs }) => serverUs),
    databaseUs: median(({ databaseUs }) => databaseUs),
    systemCalls: median(({ systemCalls }) => systemCalls),
    walBytes: median(({ walBytes }) => walBytes),
    perS: median(({ perS }) => perS),
  };
}
