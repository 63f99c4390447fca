import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type ServerProcess, startServerProcess } from '../test/support/server-process.ts';
import { createPublisher } from './catalogue.ts';
import { processorUs } from './costs.ts';
import { postRequest, runLoad } from './load.ts';
import { openStage } from './stage.ts';

/*
 * Measures the cost of traces per fetch. Two servers on one database alternate: one without traces, and one that
 * samples 1% of the requests.
 * npm run build && npx tsx bench/traces.ts
 */
const pairs = 8;
const roundMs = 2500;
const connections = 16;

const collector = createServer((request, response) => {
  request.resume().on('end', () => response.writeHead(200, { 'content-type': 'application/x-protobuf' }).end());
}).listen(0, '127.0.0.1');
await new Promise((resolve) => collector.once('listening', resolve));
const stage = await openStage();
await createPublisher(stage.pool, { key: 'bench-100', campaigns: 100 });
const sampled = {
  OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${(collector.address() as AddressInfo).port}`,
  OTEL_TRACES_SAMPLER: 'parentbased_traceidratio',
  OTEL_TRACES_SAMPLER_ARG: '0.01',
};
const start = (env: Record<string, string>): Promise<ServerProcess> =>
  startServerProcess({ databaseUrl: stage.databaseUrl, env: { ROLES: 'api', ...env } });
const servers = { off: await start({}), on: await start(sampled) };

let user = 0;
const fetchOne = (): string =>
  postRequest('/native/v4/offers.json?api_key=bench-100', `{"placement":"checkout","pub_user_id":"u${++user}"}`);

/** Returns the CPU time of the server per request in microseconds, including exports to the collector. */
async function costOf(server: ServerProcess): Promise<number> {
  const before = await processorUs(server.child.pid as number);
  const { ok, requests } = await runLoad({ port: server.port, connections, durationMs: roundMs, next: fetchOne });
  if (ok < requests) throw new Error(`${requests - ok} of ${requests} requests failed`);
  return ((await processorUs(server.child.pid as number)) - before) / ok;
}

const median = (values: readonly number[]): number => values.toSorted((a, b) => a - b)[values.length >> 1] as number;

for (const server of Object.values(servers)) await costOf(server); // warm-up
const costs: Record<keyof typeof servers, number[]> = { off: [], on: [] };
for (let pair = 0; pair < pairs; pair += 1)
  for (const name of pair % 2 === 0 ? (['off', 'on'] as const) : (['on', 'off'] as const))
    costs[name].push(await costOf(servers[name]));
const ratios = costs.on.map((on, pair) => on / (costs.off[pair] as number));
const texts = Object.entries(costs).map(
  ([name, us]) => `${name} ${Math.min(...us).toFixed(0)} lowest, ${median(us).toFixed(0)} median`,
);
console.log(`fetch: ${texts.join('; ')} µs; pairs ${ratios.map((ratio) => ratio.toFixed(2)).join(' ')}`);
await Promise.all(Object.values(servers).map((server) => server.stop()));
await stage.close();
collector.close();
collector.closeAllConnections();
