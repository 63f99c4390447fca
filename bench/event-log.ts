import { hasNats, startNats } from '../test/support/nats.ts';
import { type ServerProcess, startServerProcess } from '../test/support/server-process.ts';
import { type Bench, measureBeacons } from './beacons.ts';
import { processorUs } from './costs.ts';
import type { ReportRow } from './report.ts';
import type { Stage } from './stage.ts';

/** Number of event log servers. Each message is stored on all of them, and acknowledged once two have stored it. */
const logServers = 3;

/**
 * Compares beacons sent through an event log with beacons stored directly in PostgreSQL. The rounds alternate, so that
 * other load on the machine affects both equally. Rows are counted once the log has been stored in PostgreSQL. The note
 * contains the costs of the log servers.
 */
export async function benchEventLog(stage: Stage, bench: Bench, rounds: number): Promise<ReportRow[]> {
  if (!hasNats) {
    process.stderr.write(
      'Skipping beacons with an event log: nats-server is not installed (apt-get install nats-server).\n',
    );
    return [];
  }
  const nats = await startNats(logServers);
  const servers: ServerProcess[] = [];
  const start = async (env: Record<string, string>): Promise<number> => {
    const server = await startServerProcess({ databaseUrl: stage.databaseUrl, env });
    servers.push(server);
    bench.trackCosts(server);
    return server.port;
  };
  try {
    const direct = await start({});
    const logged = await start({ EVENT_LOG_URL: nats.url });
    await untilReplicated(logged);
    const rows: ReportRow[] = [];
    for (const connections of [16, 64]) {
      for (let round = 1; round <= rounds; round += 1) {
        const what = `beacon, ${connections} connections, round ${round}`;
        const without = await measureBeacons(stage, bench, { what, connections, port: direct });
        const beforeUs = await sumOf(nats.pids());
        const byLog = await measureBeacons(stage, bench, { what: `${what}, event log`, connections, port: logged });
        const logUs = ((await sumOf(nats.pids())) - beforeUs) / byLog.sent;
        const ratio = byLog.measured.perS / without.measured.perS;
        const note = `${byLog.note}; ${ratio.toFixed(2)}× without; event log servers ${logUs.toFixed(0)} µs`;
        rows.push(without, { ...byLog, note });
      }
    }
    return rows;
  } finally {
    await Promise.all(servers.map((server) => server.stop()));
    await nats.close();
  }
}

const sumOf = async (pids: readonly number[]): Promise<number> =>
  (await Promise.all(pids.map(processorUs))).reduce((sum, us) => sum + us, 0);

async function untilReplicated(port: number): Promise<void> {
  for (;;) {
    const answer = await fetch(`http://127.0.0.1:${port}/health/ready`);
    if (((await answer.json()) as { event_log: boolean }).event_log) return;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}
