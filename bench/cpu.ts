import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs, promisify } from 'node:util';
import { embeddedDemoIds, loadDemoCatalogue } from '../src/demo/catalogue.ts';
import { startServerProcess } from '../test/support/server-process.ts';
import { signAhead } from './beacons.ts';
import { type Costs, costOfEach, createCosts } from './costs.ts';
import { fetchBody } from './fetch.ts';
import { getRequest, postRequest, runLoad } from './load.ts';
import { writeTable } from './report.ts';
import { openStage, type Stage, startBare } from './stage.ts';

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
/** Beacons made ready for each second of load (count). */
const beaconsPerS = 30_000;

const run = promisify(execFile);
const git = async (...args: string[]): Promise<string> => (await run('git', args)).stdout.trim();

/** One of the servers that take turns. */
type Side = { name: string; port: number; stage: Stage; costs: () => Promise<Costs> };
type Path = { name: string; next: (side: Side) => Promise<() => string | Buffer> };

let users = 0;
const demoFetch = '/native/v4/offers.json?api_key=demo-key';
const paths: readonly Path[] = [
  {
    name: 'fetch, demo catalogue',
    next: async ({ name }) => {
      const url = name === 'bare' ? '/offers' : demoFetch;
      return () => postRequest(url, fetchBody(`user-${users++}`));
    },
  },
  {
    name: 'beacon',
    next: async ({ name, stage }) => {
      if (name === 'bare') return () => getRequest('/beacon?t=x');
      const signed = await signAhead(stage.pool, (beaconsPerS * durationMs) / 1000);
      let sent = 0;
      return () => signed(sent++);
    },
  },
];

/** A database of its own for each version, whose tables may differ. */
const stages = [await openStage(undefined, false), await openStage()] as const;
try {
  const before = await openBefore(stages[0], positionals[0]);
  const servers = [await openServer(stages[0], before.folder), await openServer(stages[1], '.')] as const;
  const bare = await startBareBeside(servers[1].port);
  await compare([
    { name: 'bare', port: bare.port, stage: stages[1], costs: createCosts(stages[1], bare.pid) },
    { name: before.name, ...servers[0] },
    { name: 'working tree', ...servers[1] },
  ]);
  await bare.stop();
  for (const server of servers) await server.stop();
} finally {
  for (const stage of stages) await stage.close();
}
process.exit();

/** A built checkout of a commit, in the folder of the stage. */
async function openBefore({ folder }: Stage, given: string | undefined): Promise<{ name: string; folder: string }> {
  if (given !== undefined && existsSync(join(given, 'dist/server.js')))
    return { name: await git('-C', given, 'rev-parse', '--short', 'HEAD'), folder: resolve(given) };
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
  await loadDemoCatalogue(stage.pool, embeddedDemoIds);
  const url = `http://127.0.0.1:${port}${demoFetch}`;
  const body = fetchBody('sample');
  while (!(await fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body })).ok)
    await sleep(100); // it reads its catalogue anew
  return { port, stop, stage, costs: createCosts(stage, child.pid as number) };
}

/** The bare server, with the answers of a server of ours. */
async function startBareBeside(port: number): Promise<Awaited<ReturnType<typeof startBare>>> {
  const answer = await fetch(`http://127.0.0.1:${port}${demoFetch}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: fetchBody('sample'),
  });
  const text = await answer.text();
  const { data } = JSON.parse(text) as { data: { offers: { pixel: string }[] } };
  const { pathname, search } = new URL((data.offers[0] as { pixel: string }).pixel);
  const image = await fetch(`http://127.0.0.1:${port}${pathname}${search}`);
  const files = { offers: join(stages[1].folder, 'offers.json'), image: join(stages[1].folder, 'pixel.png') };
  await writeFile(files.offers, text);
  await writeFile(files.image, Buffer.from(await image.arrayBuffer()));
  return startBare(files.offers, files.image);
}

async function measure(side: Side, path: Path, connections: number, forMs: number): Promise<Costs> {
  const next = await path.next(side);
  const before = await side.costs();
  const { requests, failed } = await runLoad({ port: side.port, connections, durationMs: forMs, next });
  const costs = costOfEach(before, await side.costs(), requests);
  if (failed > 0) throw new Error(`${failed} of ${requests} requests to ${side.name} failed`);
  return costs;
}

async function compare(sides: readonly Side[]): Promise<void> {
  for (const path of paths) for (const side of sides) await measure(side, path, 16, durationMs); // compiles the code
  const body: string[][] = [];
  for (const path of paths)
    for (const connections of [16, 64]) {
      const taken = new Map<Side, Costs[]>(sides.map((side) => [side, []]));
      for (let round = 0; round < rounds; round += 1)
        // Each side is first in turn: what is measured last may find the machine in another state.
        for (const side of [...sides.slice(round % sides.length), ...sides.slice(0, round % sides.length)])
          taken.get(side)?.push(await measure(side, path, connections, durationMs));
      const medians = sides.map((side) => mediansOf(taken.get(side) ?? []));
      const bareUs = medians[0]?.serverUs ?? 0;
      const beforeUs = medians[1]?.serverUs ?? 0;
      sides.forEach(({ name }, at) => {
        const { serverUs, databaseUs, walBytes } = medians[at] as Costs;
        const ofDatabase = at === 0 ? ['', ''] : [databaseUs, walBytes].map((cost) => cost.toFixed(0));
        const ratios = at === 0 ? ['', ''] : [serverUs / bareUs, serverUs / beforeUs].map((ratio) => ratio.toFixed(2));
        body.push([`${path.name}, ${connections} connections`, name, serverUs.toFixed(1), ...ofDatabase, ...ratios]);
      });
    }
  const columns = ['Path', 'Server', 'server µs', 'PostgreSQL µs', 'WAL B', '× bare'];
  await writeTable('cpu', [...columns, `× ${sides[1]?.name}`], body);
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
