import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { freePort, type ServerProcess, startServerProcess } from '../test/support/server-process.ts';
import { allocatedBytes } from './allocations.ts';
import { checkOut, seedsOf } from './checkout.ts';
import { type Costs, costOfEach, createCosts } from './costs.ts';
import { demoFetch, largeFetch, type Path, paths, receiverUrl, type Side, uncappedName } from './cpu-paths.ts';
import { fetchBody } from './fetch.ts';
import { runLoad } from './load.ts';
import { writeTable } from './report.ts';
import { openStage, type Stage, startBare } from './stage.ts';
import { sendWebhooks } from './wrap.ts';

/*
 * npm run bench:cpu -- [commit or folder] [--rounds n] [--requests n]
 *
 * Compares the CPU time per request of the working tree with that of another commit (default: the last tag, or HEAD~1
 * if there is no tag) and of bare Fastify routes that return the same bytes. Short rounds alternate, so that other load
 * on the machine affects all of them equally. The results are medians, and ratios within a run. Rounds have a fixed
 * number of requests rather than a fixed duration, so that all code is compiled before it is measured, even on a busy
 * machine. A folder must be a built checkout of the other commit. `--only caps` measures only the paths whose names
 * contain this text.
 */
const { values, positionals } = parseArgs({
  options: {
    rounds: { type: 'string', default: '7' },
    requests: { type: 'string', default: '5000' },
    only: { type: 'string', default: '' },
  },
  allowPositionals: true,
});
const rounds = Number(values.rounds);
/** Number of requests per round. */
const requests = Number(values.requests);
/** Number of warm-up requests per path. After these, V8 has compiled nearly all of the path's code. */
const warmUpRequests = Math.max(10_000, 4 * requests);

/** Note that explains the columns and points to other measurements with their commands. */
const elsewhere = `
"reads, writes": server system calls that transferred bytes. "heap B": bytes that the server allocates in its heap.

First start in a clean folder: \`npm run bench -- 3 start\`. Memory with 10,000 offers, all rewritten four times:
the last row of \`npm run bench:refresh -- 10000 4\`.`;

/** Each version has a separate database, because its tables may differ. */
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

/** Starts a server of a version, which creates its tables, with the demo catalogue. */
async function openServer(stage: Stage, folder: string) {
  const inspectPort = await freePort();
  const { port, child, stop } = await startServerProcess({
    databaseUrl: stage.databaseUrl,
    folder,
    execArgv: [`--inspect-port=127.0.0.1:${inspectPort}`],
    env: { ROLES: 'api' },
  });
  stops.push(stop);
  const { loadDemoCatalogue, embeddedDemoIds, createPublisher, prepareCaps } = await seedsOf(folder);
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

/** Starts the bare server with responses recorded from a Perkwire server. */
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

/** Costs per request of a path, with the request rate. */
type Measurement = Costs & { perS: number };

async function measure(side: Side, path: Path, connections: number, times: number): Promise<Measurement> {
  const { port, pid, stage, worker, isBare } = side;
  const costs = createCosts(stage, pid, ...(worker === null ? [] : [worker.child.pid as number]));
  const next = isBare && path.bare !== null ? path.bare : await path.next(side, times);
  const before = await costs();
  const { failed, perS } = await runLoad({ port, connections, requests: times, next });
  if (worker !== null) await untilDelivered(stage);
  const perRequest = costOfEach(before, await costs(), times);
  if (failed > 0) throw new Error(`${failed} of ${times} requests to ${side.name} failed`);
  return { ...perRequest, perS };
}

async function untilDelivered({ pool }: Stage): Promise<void> {
  const open = 'select from delivery_queue limit 1';
  while ((await pool.query(open)).rows.length > 0) await sleep(20);
}

async function compare(sides: readonly Side[]): Promise<void> {
  const sidesOf = ({ bare }: Path): readonly Side[] => sides.filter(({ isBare }) => !isBare || bare !== null);
  const selectedPaths = paths.filter(({ name }) => name.includes(values.only));
  // V8 compiles in separate threads, whose CPU time would also be counted.
  const warmUp = async (path: Path): Promise<void> => {
    for (const side of sidesOf(path)) await measure(side, path, 64, warmUpRequests);
  };
  for (const path of selectedPaths) if (path.delivers !== true) await warmUp(path);
  const measured: { path: Path; connections: number; medians: Map<string, Measurement> }[] = [];
  for (const path of selectedPaths) {
    const turns = sidesOf(path);
    if (path.delivers === true) {
      for (const side of turns) side.worker = await startWorker(side);
      await warmUp(path);
    }
    for (const connections of [16, 64]) {
      const costsBySide = new Map<string, Measurement[]>(turns.map(({ name }) => [name, []]));
      for (let round = 0; round < rounds; round += 1)
        // The servers take turns going first, because the machine may be in a different state for the last one.
        for (const side of [...turns.slice(round % turns.length), ...turns.slice(0, round % turns.length)])
          costsBySide.get(side.name)?.push(await measure(side, path, connections, requests));
      const medians = new Map([...costsBySide].map(([name, all]) => [name, mediansOf(all)]));
      measured.push({ path, connections, medians });
      const soFar = [...medians].map(([name, { serverUs, databaseUs }]) =>
        [name, serverUs.toFixed(1), databaseUs.toFixed(0)].join(' '),
      );
      process.stderr.write(
        `${path.name}, ${connections} connections (server and PostgreSQL µs): ${soFar.join(', ')}\n`,
      );
    }
    for (const side of turns) await side.worker?.stop();
    for (const side of turns) side.worker = null;
  }
  // Measure allocations last: once sampled, a process may stay slower.
  const body: string[][] = [];
  for (const { path, connections, medians } of measured) {
    const heap = new Map<string, number>();
    for (const side of sidesOf(path)) if (connections === 64) heap.set(side.name, await heapOfEach(side, path));
    const uncapped = measured.find(
      (measurement) => measurement.path.name === uncappedName && measurement.connections === connections,
    );
    const beside = path.isCapped === true ? uncapped?.medians : undefined;
    body.push(...rowsOf({ path, connections, medians, heap, sides: sidesOf(path), uncapped: beside }));
  }
  const columns = ['Path', 'Server', 'server µs', 'PostgreSQL µs', 'reads, writes', 'heap B', 'WAL B', 'per second'];
  await writeTable('cpu', [...columns, '× bare', `× ${sides[1]?.name}`, '× uncapped', 'goal'], body, elsewhere);
}

function startWorker({ stage, folder }: Side): Promise<ServerProcess> {
  return startServerProcess({ databaseUrl: stage.databaseUrl, folder, env: { ROLES: 'worker' } });
}

/** Returns the number of heap bytes allocated per request, or NaN for bare Fastify. */
async function heapOfEach(side: Side, path: Path): Promise<number> {
  if (side.isBare) return Number.NaN;
  const next = await path.next(side, requests);
  const load = { port: side.port, connections: 64, requests, next };
  return (await allocatedBytes(side.pid, side.inspectPort, async () => void (await runLoad(load)))) / requests;
}

type Medians = ReadonlyMap<string, Measurement>;

type Measured = {
  path: Path;
  connections: number;
  sides: readonly Side[];
  medians: Medians;
  heap: ReadonlyMap<string, number>;
  /** Medians of the same path without caps, for comparison. Undefined if there is nothing to compare. */
  uncapped: Medians | undefined;
};

/** Returns the table rows of one path, with ratios of the server CPU time. */
function rowsOf({ path, connections, sides, medians, heap, uncapped }: Measured): string[][] {
  const what = `${path.name}, ${connections} connections`;
  const ratioTo = (us: number, other: Measurement | undefined): string =>
    other === undefined ? '' : (us / other.serverUs).toFixed(2);
  const before = sides.find(({ isBare }) => !isBare);
  return sides.map((side) => {
    const { serverUs, databaseUs, systemCalls, walBytes, perS } = medians.get(side.name) as Measurement;
    const head = [what, side.name, serverUs.toFixed(1)];
    if (side.isBare) return [...head, '', systemCalls.toFixed(1), '', '', perS.toFixed(0), '', '', '', ''];
    const otherColumns = [heap.get(side.name)?.toFixed(0) ?? '', walBytes.toFixed(0), perS.toFixed(0)];
    const others = [medians.get('bare'), medians.get(before?.name ?? ''), uncapped?.get(side.name)];
    const ratios = others.map((other) => ratioTo(serverUs, other));
    return [
      ...head,
      databaseUs.toFixed(0),
      systemCalls.toFixed(1),
      ...otherColumns,
      ...ratios,
      path.goals?.[connections] ?? '',
    ];
  });
}

/** Returns the median of each kind of cost. */
function mediansOf(costs: readonly Measurement[]): Measurement {
  const median = (read: (of: Measurement) => number): number => {
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
