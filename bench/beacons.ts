import { newUuid7 } from '../src/platform/lib/uuid7.ts';
import { createSigner, createTokenCodec } from '../src/platform/security/tracking-token.ts';
import { processSecrets, type ServerProcess, startServerProcess } from '../test/support/server-process.ts';
import { getRequest, type LoadResult } from './load.ts';
import type { ReportRow } from './report.ts';
import type { Stage } from './stage.ts';

type Measure = (what: string, connections: number, port: number, next: () => string | Buffer) => Promise<LoadResult>;

export type Bench = {
  measure: Measure;
  seconds: number;
  /** Includes the costs of this server's requests in later measurements. */
  trackCosts: (server: ServerProcess) => void;
};

/** Maximum number of beacon requests prepared per second of load. */
const maxPerS = 45_000;

/**
 * Measures impression beacons, each from a different session, and the bare route. Compares the number of stored rows
 * with the number of responses.
 */
export async function benchBeacons(stage: Stage, bench: Bench, port: number, barePort: number): Promise<ReportRow[]> {
  const rows: ReportRow[] = [];
  for (const connections of [1, 16, 64]) {
    const what = `beacon, ${connections} connection${connections === 1 ? '' : 's'}`;
    const row = await measureBeacons(stage, bench, { what, connections, port });
    const bareNext = getRequest('/beacon?t=x');
    rows.push({ ...row, bare: await bench.measure('  bare', connections, barePort, () => bareNext) });
  }
  return rows;
}

/**
 * Measures the cost of reports per beacon, in three cases:
 * - with a worker that rolls up in the same process, as in all other measurements here
 * - without rollups
 * - without the index that rollups use to find new rows; this case drops the index
 */
export async function benchRollupCost(stage: Stage, bench: Bench): Promise<ReportRow[]> {
  const rows: ReportRow[] = [];
  const cases = [
    { with: 'with rollups', roles: 'api,worker' },
    { with: 'without rollups', roles: 'api' },
    { with: 'without rollups, without their index', roles: 'api', sql: 'drop index events_written_by' },
  ];
  for (const costCase of cases) {
    if (costCase.sql !== undefined) await stage.pool.query(costCase.sql);
    const server = await startServerProcess({ databaseUrl: stage.databaseUrl, env: { ROLES: costCase.roles } });
    for (const connections of [16, 64]) {
      const what = `beacon, ${connections} connections, ${costCase.with}`;
      rows.push(await measureBeacons(stage, bench, { what, connections, port: server.port }));
    }
    await server.stop();
  }
  return rows;
}

/** Time limit for rows to appear, in milliseconds. It is only reached if rows were lost. */
const settleLimitMs = 30_000;

type Case = { what: string; connections: number; port: number };

/**
 * Measures beacons, and waits until there is a row for each response, because an event log stores rows later. In the
 * result, `sent` is the number of requests sent.
 */
export async function measureBeacons(
  { pool }: Stage,
  { measure, seconds }: Bench,
  { what, connections, port }: Case,
): Promise<ReportRow & { sent: number }> {
  const count = async (): Promise<number> =>
    Number((await pool.query("select count(*) from events where kind = 'impression'")).rows[0].count);
  const before = await count();
  const next = await signAhead(pool, Math.ceil(maxPerS * (seconds + Math.min(5, seconds))));
  let sent = 0;
  const measured = await measure(what, connections, port, () => next(sent++));
  const endMs = performance.now() + settleLimitMs;
  let stored = (await count()) - before;
  while (stored < sent && performance.now() < endMs) stored = (await count()) - before;
  return { what, measured, bare: null, note: `${stored} rows for ${sent} responses`, sent };
}

/**
 * Signs requests in advance and stores them in one buffer, so that the load generator itself does little work.
 * @returns a function that returns the request at an index
 */
export async function signAhead(pool: Stage['pool'], requests: number): Promise<(index: number) => Buffer> {
  const { rows } = await pool.query<{ id: number; campaign_id: number; publisher_id: number }>(
    'select id, campaign_id, publisher_id from offers order by id limit 1',
  );
  const offer = rows[0] as { id: number; campaign_id: number; publisher_id: number };
  const tokens = createTokenCodec(
    createSigner([{ id: 1, secret: processSecrets.TOKEN_KEYS.slice(2) }], 'tracking-token'),
  );
  const claims = {
    publisherId: offer.publisher_id,
    offerId: offer.id,
    campaignId: offer.campaign_id,
    position: 1,
    dev: false,
  };
  const make = (): string =>
    getRequest(`/sdk/v2/impression/p.png?t=${tokens.mint({ ...claims, sessionId: newUuid7(Date.now()) })}&cbuster=1`);
  const { length } = make();
  const all = Buffer.alloc(requests * length);
  for (let index = 0; index < requests; index++) all.write(make(), index * length, 'latin1');
  return (index) => {
    if (index >= requests) throw new Error('more beacons were sent than prepared');
    return all.subarray(index * length, (index + 1) * length);
  };
}
