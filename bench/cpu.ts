import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { basename, join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs, promisify } from 'node:util';
import { embeddedDemoIds, loadDemoCatalogue } from '../src/demo/catalogue.ts';
import { startServerProcess } from '../test/support/server-process.ts';
import { signAhead } from './beacons.ts';
import { createPublisher } from './catalogue.ts';
import { makeClicks } from './conversions.ts';
import { type Costs, costOfEach, createCosts } from './costs.ts';
import { fetchBody } from './fetch.ts';
import { getRequest, postRequest, runLoad } from './load.ts';
import { writeTable } from './report.ts';
import { openStage, type Stage, startBare } from './stage.ts';
import { openSessions, sendWebhooks, wrapRequest } from './wrap.ts';

/*
 * npm run bench:cpu -- [commit or folder] [--rounds n] [--seconds s]
 *
 * Processor time a request of the working tree, beside that of another commit (default: the last tag, else HEAD~1) and
 * of bare Fastify routes that answer the same bytes. Short rounds in turns, so that a busy machine is as busy for all;
 * medians, and ratios of the same run. A folder is a checkout of the other commit that is built already.
 */
const { values, positionals } = parseArgs({
  options: { rounds: { type: 'string', default: '7' }, seconds: { type: 'string', default: '2' } },
  allowPositionals: true,
});
const rounds = Number(values.rounds);
const durationMs = Number(values.seconds) * 1000;
/** How long each path is asked before it is measured (milliseconds). */
const warmUpMs = 4 * durationMs;

const run = promisify(execFile);
const git = async (...args: string[]): Promise<string> => (await run('git', args)).stdout.trim();

/** One of the servers that take turns; `isBare`: keeps nothing. */
type Side = { name: string; port: number; stage: Stage; isBare: boolean; costs: () => Promise<Costs> };
/** `next` makes ready so many requests for a second of load; `bare`: what bare Fastify is asked beside it. */
type Path = {
  name: string;
  perS: number;
  bare: (() => string) | null;
  next: (side: Side, requests: number) => Promise<() => string | Buffer>;
};

let users = 0;
const demoFetch = '/native/v4/offers.json?api_key=demo-key';
const largeFetch = '/native/v4/offers.json?api_key=bench-100';
const asked = (url: string) => (): string => postRequest(url, fetchBody(`user-${users++}`));
const bareBeacon = (): string => getRequest('/beacon?t=x');

/** Takes one request after the other. */
function eachOf<Request>(requests: readonly Request[]): () => Request {
  let sent = 0;
  return () => requests[sent++] as Request;
}

const paths: readonly Path[] = [
  { name: 'fetch, demo catalogue', perS: 0, bare: asked('/offers'), next: async () => asked(demoFetch) },
  {
    name: 'fetch, 100 candidates, 5 returned',
    perS: 0,
    bare: asked('/more-offers'),
    next: async () => asked(largeFetch),
  },
  {
    name: 'beacon',
    perS: 60_000,
    bare: bareBeacon,
    next: async ({ stage }, requests) => {
      const signed = await signAhead(stage.pool, requests);
      let sent = 0;
      return () => signed(sent++);
    },
  },
  {
    name: 'conversion',
    perS: 10_000,
    bare: bareBeacon,
    next: async ({ stage }, requests) => eachOf(await makeClicks(stage.pool, requests)),
  },
  {
    name: 'wrap, its webhook not sent yet',
    perS: 8_000,
    bare: null,
    next: async ({ stage, port }, requests) =>
      eachOf((await openSessions(stage.pool, port, requests)).map((session) => wrapRequest(session))),
  },
];

/** A database of its own for each version, whose tables may differ. */
const stages = [await openStage(undefined, false), await openStage()] as const;
const stops: (() => Promise<unknown>)[] = [];
try {
  const before = await openBefore(stages[0], positionals[0]);
  const servers = [await openServer(stages[0], before.folder), await openServer(stages[1], '.')] as const;
  const bare = await startBareBeside(servers[1].port);
  await compare([
    { name: 'bare', isBare: true, port: bare.port, stage: stages[1], costs: createCosts(stages[1], bare.pid) },
    { name: before.name, isBare: false, ...servers[0] },
    { name: 'working tree', isBare: false, ...servers[1] },
  ]);
} finally {
  for (const stop of stops) await stop();
  for (const stage of stages) await stage.close();
}
process.exit();

/** A built checkout of a commit, in the folder of the stage. */
async function openBefore({ folder }: Stage, given: string | undefined): Promise<{ name: string; folder: string }> {
  if (given !== undefined && existsSync(join(given, 'dist/server.js')))
    return {
      name: await git('-C', given, 'rev-parse', '--short', 'HEAD').catch(() => basename(given)),
      folder: resolve(given),
    };
  const lastTag = await git('describe', '--tags', '--abbrev=0').catch(() => 'HEAD~1');
  const commit = await git('rev-parse', '--short', given ?? lastTag);
  const checkout = join(folder, 'before');
  await mkdir(checkout);
  await run('sh', ['-c', `git archive ${commit} | tar -x -C "${checkout}"`]);
  await run('cp', ['-al', 'node_modules', join(checkout, 'node_modules')]).catch(() =>
    run('cp', ['-a', 'node_modules', join(checkout, 'node_modules')]),
  );
  await run('npm', ['run', '--silent', 'build'], { cwd: checkout });
  return { name: commit, folder: checkout };
}

/** A server with the demo catalogue, which it makes its tables for. */
async function openServer(stage: Stage, folder: string) {
  const { port, child, stop } = await startServerProcess({
    databaseUrl: stage.databaseUrl,
    folder,
    env: { ROLES: 'api' },
  });
  stops.push(stop);
  await loadDemoCatalogue(stage.pool, embeddedDemoIds);
  await createPublisher(stage.pool, { key: 'bench-100', campaigns: 100 });
  while (!(await askSample(port, largeFetch)).ok) await sleep(100); // it reads its catalogue anew
  await sendWebhooks(port, 'http://127.0.0.1:9/hook');
  return { port, stage, costs: createCosts(stage, child.pid as number) };
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

async function measure(side: Side, path: Path, connections: number, forMs: number): Promise<Costs> {
  const ready = Math.ceil((path.perS * forMs) / 1000);
  const next = side.isBare && path.bare !== null ? path.bare : await path.next(side, ready);
  const before = await side.costs();
  const { requests, failed } = await runLoad({ port: side.port, connections, durationMs: forMs, next });
  const costs = costOfEach(before, await side.costs(), requests);
  if (failed > 0) throw new Error(`${failed} of ${requests} requests to ${side.name} failed`);
  return costs;
}

async function compare(sides: readonly Side[]): Promise<void> {
  const sidesOf = ({ bare }: Path): readonly Side[] => sides.filter(({ isBare }) => !isBare || bare !== null);
  // V8 compiles in threads of its own, whose time would count as well.
  for (const path of paths) for (const side of sidesOf(path)) await measure(side, path, 64, warmUpMs);
  const body: string[][] = [];
  for (const path of paths)
    for (const connections of [16, 64]) {
      const turns = sidesOf(path);
      const taken = new Map<string, Costs[]>(turns.map(({ name }) => [name, []]));
      for (let round = 0; round < rounds; round += 1)
        // Each side is first in turn: what is measured last may find the machine in another state.
        for (const side of [...turns.slice(round % turns.length), ...turns.slice(0, round % turns.length)])
          taken.get(side.name)?.push(await measure(side, path, connections, durationMs));
      const medians = new Map([...taken].map(([name, costs]) => [name, mediansOf(costs)]));
      body.push(...rowsOf(`${path.name}, ${connections} connections`, turns, medians));
    }
  const columns = ['Path', 'Server', 'server µs', 'PostgreSQL µs', 'WAL B', '× bare'];
  await writeTable('cpu', [...columns, `× ${sides[1]?.name}`], body);
}

/** The rows of one path; ratios of the server's processor time. */
function rowsOf(what: string, sides: readonly Side[], medians: ReadonlyMap<string, Costs>): string[][] {
  const of = (name: string | undefined): Costs | undefined => medians.get(name ?? '');
  const ratioTo = (us: number, other: Costs | undefined): string =>
    other === undefined ? '' : (us / other.serverUs).toFixed(2);
  const before = sides.find(({ isBare }) => !isBare);
  return sides.map(({ name, isBare }) => {
    const { serverUs, databaseUs, walBytes } = of(name) as Costs;
    const head = [what, name, serverUs.toFixed(1)];
    if (isBare) return [...head, '', '', '', ''];
    const ratios = [ratioTo(serverUs, of('bare')), ratioTo(serverUs, of(before?.name))];
    return [...head, databaseUs.toFixed(0), walBytes.toFixed(0), ...ratios];
  });
}

/** Of each kind of cost by itself. */
function mediansOf(costs: readonly Costs[]): Costs {
  const median = (read: (of: Costs) => number): number => {
    const sorted = costs.map(read).sort((a, b) => a - b);
    return sorted[Math.floor(sorted.length / 2)] as number;
  };
  return {
    serverUs: median(({ serverUs }) => serverUs),
    databaseUs: median(({ databaseUs }) => databaseUs),
    walBytes: median(({ walBytes }) => walBytes),
  };
}
