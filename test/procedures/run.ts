import { parseArgs } from 'node:util';
import { bucket } from './bucket.ts';
import { hour } from './hour.ts';
import { postgres } from './postgres-versions.ts';
import { restore } from './restore.ts';
import { rotate } from './rotate.ts';
import { traces } from './traces.ts';
import { upgrade } from './upgrade.ts';

/*
 * npm run procedures [-- rotate restore upgrade postgres bucket traces hour]
 *
 * Follows the procedures of docs/operations.md to the letter, under load, sends traces to a collector of others, and
 * spends a newcomer's first hour with the packages. Exits with 1 where one does not hold.
 */
const procedures: Record<string, () => Promise<string>> = { rotate, restore, upgrade, postgres, bucket, traces, hour };
const { positionals } = parseArgs({ allowPositionals: true });
for (const name of positionals.length > 0 ? positionals : Object.keys(procedures)) {
  const procedure = procedures[name];
  if (procedure === undefined)
    throw new Error(`there is no procedure "${name}": ${Object.keys(procedures).join(', ')}`);
  process.stdout.write(`${name}\n`);
  process.stdout.write(`  ${await procedure()}\n`);
}
process.exit(0);
