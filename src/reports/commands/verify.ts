import { exitCodes, type Run, usageError } from '../../command-line/command.ts';
import { counted } from '../../command-line/counted.ts';
import { inDatabase } from '../../command-line/open-database.ts';
import { isDay } from '../../platform/http/day-range.ts';
import { dayMs, dayOf } from '../../platform/lib/time.ts';
import { verifyRollups } from '../verify.ts';

/**
 * Compares the rollups with the raw rows, by UTC day, in the database of DATABASE_URL or in the embedded database.
 * Prints all differences, and exits with code 1 if there are any.
 */
export const verifyReports: Run = async (call) => {
  const { args, out } = call;
  const [from = dayOf(Date.now() - 6 * dayMs), to = dayOf(Date.now()), ...rest] = args;
  if (rest.length > 0 || ![from, to].every(isDay)) throw usageError('Days must have the form 2026-11-21.');
  if (from > to) throw usageError('The first day must not be after the last.');
  const { compared, differences } = await inDatabase(call, {
    name: 'perkwire-verify',
    work: (client) => verifyRollups(client, from, to),
  });
  out.data({ from, to, compared, differences });
  for (const { rollup, differences: columns } of differences) out.line(`${rollup}\n  ${columns.join('\n  ')}`);
  const verdict = differences.length === 0 ? 'no differences' : 'differences found';
  out.line(`${from} to ${to}: ${counted(compared, 'rollup')} compared, ${verdict}`);
  return differences.length === 0 ? exitCodes.ok : exitCodes.problem;
};
