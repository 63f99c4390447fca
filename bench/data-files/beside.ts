import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { startServerProcess } from '../../test/support/server-process.ts';
import { signAhead } from '../beacons.ts';
import { createPublisher } from '../catalogue.ts';
import { fetchBody } from '../fetch.ts';
import { type LoadResult, postRequest, runLoad } from '../load.ts';
import type { Stage } from '../stage.ts';
import { tableOf } from '../webhooks/report.ts';

const key = 'bench-beside';
/**
 * Length of a round. An installation exports once an hour, so that starting the export counts for little. Beacons have
 * shorter rounds, because each of them is signed in advance.
 */
const roundMs = { fetches: 60_000, beacons: 20_000 };
/** Upper limit for the rate of beacons per second, for which requests are signed in advance. */
const maxBeaconsPerS = 40_000;
const goal = 0.95;

type Load = { name: string; send: () => Promise<LoadResult> };

/**
 * Measures the maximum throughput of fetches and beacons, alternately without an export and during an export of the
 * rows that a round without an export has written. This is the share of exports that a server under constant full load
 * would have.
 */
export async function benchBeside(stage: Stage, dataFilesUrl: string, rounds: number): Promise<string> {
  await createPublisher(stage.pool, { key, campaigns: 100 });
  const server = await startServerProcess({ databaseUrl: stage.databaseUrl });
  let users = 0;
  const options = { port: server.port, connections: 64 };
  const loads: Load[] = [
    {
      name: 'fetches',
      send: () =>
        runLoad({
          ...options,
          durationMs: roundMs.fetches,
          next: () => postRequest(`/native/v4/offers.json?api_key=${key}`, fetchBody(`user-${users++}`)),
        }),
    },
    {
      name: 'beacons',
      send: async () => {
        const beacon = await signAhead(stage.pool, (roundMs.beacons / 1000) * maxBeaconsPerS);
        let sent = 0;
        return runLoad({ ...options, durationMs: roundMs.beacons, next: () => beacon(sent++) });
      },
    },
  ];
  try {
    const rows: string[][] = [];
    for (const { name, send } of loads) {
      const rates: { alone: number[]; beside: number[] } = { alone: [], beside: [] };
      await send(); // warm-up
      for (let round = 0; round < rounds; round += 1) {
        await exportRows(stage, dataFilesUrl);
        rates.alone.push((await send()).perS);
        const [beside] = await Promise.all([send(), exportRows(stage, dataFilesUrl)]);
        rates.beside.push(beside.perS);
      }
      const [alone, beside] = [median(rates.alone), median(rates.beside)];
      const ratio = beside / alone;
      rows.push([
        name,
        alone.toFixed(0),
        beside.toFixed(0),
        `${ratio.toFixed(2)}×`,
        `≥ ${goal}×: ${ratio >= goal ? 'reached' : 'missed'}`,
      ]);
    }
    return tableOf(['64 connections', 'per second', 'during an export of as many rows', 'Ratio', 'Goal'], rows);
  } finally {
    await server.stop();
  }
}

const median = (values: readonly number[]): number => values.toSorted((a, b) => a - b)[values.length >> 1] as number;

/** Exports all committed rows from the command line, in a process of its own as in an installation. */
async function exportRows({ databaseUrl }: Stage, dataFilesUrl: string): Promise<void> {
  const env = { ...process.env, DATABASE_URL: databaseUrl, DATA_FILES_URL: dataFilesUrl };
  const child = spawn(process.execPath, ['dist/perkwire.js', 'data', 'export'], {
    env,
    stdio: ['ignore', 2, 'inherit'],
  });
  const [code] = await once(child, 'exit');
  if (code !== 0) throw new Error(`the export exited with code ${code}`);
}
