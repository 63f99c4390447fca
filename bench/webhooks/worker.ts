import { parseNets } from '../../src/config/nets.ts';
import { createPool } from '../../src/platform/db/pool.ts';
import { userAgent } from '../../src/platform/version.ts';
import { buildRequest } from '../../src/webhooks/dispatcher/send/request.ts';
import { createSender } from '../../src/webhooks/sender.ts';
import { bullmq } from './systems/bullmq.ts';
import { graphileWorker } from './systems/graphile-worker.ts';
import { pgBoss } from './systems/pg-boss.ts';
import type { Job } from './systems/types.ts';

/*
 * Worker of another system in a separate process: `worker.ts <name> <databaseUrl> <concurrency>`. It uses Perkwire's
 * sender and signature, and writes one log row per call, like Perkwire.
 */
const [name = '', databaseUrl = '', concurrency = '64'] = process.argv.slice(2);
const system = [pgBoss, graphileWorker, bullmq].find((candidate) => candidate.name === name);
if (system === undefined) throw new Error(`unknown system "${name}"`);

const sender = createSender({
  allowNets: parseNets('127.0.0.0/8'),
  allowHttp: true,
  userAgent,
  now: () => performance.now(),
});
const pool = createPool({ url: databaseUrl, size: 10, applicationName: 'bench-log', onError: () => {} });
const secrets = [Buffer.alloc(32, 5)];

async function handle({ id, url, payload }: Job): Promise<void> {
  const message = {
    deliveryId: id,
    event: 'usp.selection',
    url,
    method: 'POST' as const,
    payload: Buffer.from(payload),
    secrets,
  };
  const call = buildRequest({ ...message, nowMs: Date.now(), dev: false, test: false, payloadUrl: null });
  const result = await sender.send({ ...call, deadlineMs: 15_000 });
  if (result.kind !== 'response') throw new Error(result.kind);
  await pool.query({
    name: 'log',
    text: `insert into bench_log (id, outcome, status_code, timing, remote_address, response_headers, response_body)
      values ($1, 'delivered', $2, $3, $4, $5, $6)`,
    values: [
      id,
      result.status,
      JSON.stringify(result.timing),
      result.remoteAddress,
      JSON.stringify(result.headers),
      result.body,
    ],
  });
}

await system.startWorker(databaseUrl, handle, Number(concurrency));
process.send?.('ready');
