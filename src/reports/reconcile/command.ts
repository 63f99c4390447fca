import { findWritable } from '../../platform/db/find-writable.ts';
import { createServers } from '../../platform/db/servers.ts';
import { dayMs, dayOf } from '../../platform/lib/time.ts';
import { verifyRollups } from './verify.ts';

/*
 * npm run reports:verify -- [FROM [TO]]: compares the rollups with the raw rows, by UTC days (default: the last seven).
 * Exits with 1 and the differences where they disagree, with 2 where it could not compare.
 */
const [from = dayOf(Date.now() - 6 * dayMs), to = dayOf(Date.now())] = process.argv.slice(2);

async function main(): Promise<number> {
  if (![from, to].every((day) => /^\d{4}-\d{2}-\d{2}$/.test(day)))
    throw new Error('days must have the form 2026-11-21');
  if (process.env.DATABASE_URL === undefined) throw new Error('DATABASE_URL is not set');
  const { connection: client } = await findWritable(createServers(process.env.DATABASE_URL), 'perkwire-verify');
  try {
    const { compared, differences } = await verifyRollups(client, from, to);
    for (const { rollup, differences: columns } of differences)
      process.stdout.write(`${rollup}\n  ${columns.join('\n  ')}\n`);
    process.stdout.write(
      `${from} to ${to}: ${compared} rollups compared, ${differences.length === 0 ? 'all agree' : 'some differ'}\n`,
    );
    return differences.length === 0 ? 0 : 1;
  } finally {
    await client.end();
  }
}

main().then(
  (code) => {
    process.exitCode = code;
  },
  (err: Error) => {
    process.stderr.write(`${err.message}\n`);
    process.exitCode = 2;
  },
);
