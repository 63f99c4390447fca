import { StartupError } from '../startup-error.ts';
import { type Applied, addSqlChecksum, recordApplied } from './applied-migrations.ts';
import { describeSchema, type SchemaDescription } from './describe-schema.ts';
import { baselinePrefix, type Migration } from './migration-files.ts';
import type { Executor } from './pool.ts';

/** Names of the migrations that the baseline replaces. */
type ReplacedNames = readonly string[];

export const isBaseline = ({ name }: { name: string }): boolean => name.startsWith(baselinePrefix);

/** Whether a database was created by the migrations that the baseline replaces. */
export const isFromBeforeBaseline = (applied: Applied, replaced: ReplacedNames): boolean =>
  replaced.some((name) => applied.has(name));

/**
 * Rejects a database with only some of the migrations that the baseline replaces.
 * @throws StartupError if only some of them were applied
 */
export function refuseBeforeBaseline(applied: Applied, replaced: ReplacedNames): void {
  const count = replaced.filter((name) => applied.has(name)).length;
  if (count === 0 || count === replaced.length) return;
  throw new StartupError(
    `The database has ${count} of the ${replaced.length} migrations up to ${replaced.at(-1)}. This build needs all ` +
      'of them. Nothing was changed. Start the build of commit ecc0eba0 once with this database (ROLES=migrate), ' +
      'then this build: see "A database from before the baseline" in docs/operations.md.',
  );
}

/**
 * Records the baseline in a database whose schema was created by the migrations that it replaces. In one transaction,
 * it creates the expected schema next to the actual one, compares the two, and rolls the expected schema back. The
 * records of the replaced migrations are kept, so that an earlier build can still start.
 * @param baseline baseline files
 * @param later other migrations of the database, in the order in which they were applied
 * @throws StartupError if the schemas differ; nothing is changed
 */
export async function adoptBaseline(
  client: Executor,
  { baseline, later }: { baseline: readonly Migration[]; later: readonly Migration[] },
): Promise<void> {
  await client.query('begin');
  try {
    const actual = await describeSchema(client);
    refuseDifferences(actual, await describeExpected(client, [...baseline, ...later]));
    await addSqlChecksum(client);
    await recordApplied(client, baseline);
    await client.query('commit');
  } catch (err) {
    // If the rollback fails, the connection is broken and the server has already rolled back.
    await client.query('rollback').catch(() => {});
    throw err;
  }
}

/**
 * Creates a schema from the migrations and describes it. The schema exists only within a savepoint of the transaction.
 */
async function describeExpected(client: Executor, migrations: readonly Migration[]): Promise<SchemaDescription> {
  await client.query('savepoint expected_schema');
  await client.query('create schema perkwire_expected').catch((err: { code?: string }) => {
    if (err.code !== '42501') throw err;
    throw new StartupError(
      'The user in DATABASE_URL cannot create a schema, which this build needs once to check the tables. Run ' +
        '"grant create on database <name> to <user>" as the owner of the database. Nothing was changed.',
    );
  });
  await client.query('set local search_path to perkwire_expected');
  for (const { sql } of migrations) await client.query(sql);
  const expected = await describeSchema(client);
  await client.query('rollback to savepoint expected_schema');
  return expected;
}

/** Maximum number of differences in the error message, and maximum length of each definition in it, in characters. */
const [listedDifferences, listedLength] = [5, 120];

/**
 * Rejects a schema in which an expected part is missing or different. Additional indexes and tables, such as the
 * operator's own, are allowed.
 */
function refuseDifferences(actual: SchemaDescription, expected: SchemaDescription): void {
  const differences = [...expected.keys()].filter((part) => actual.get(part) !== expected.get(part)).sort();
  if (differences.length === 0) return;
  const show = (text: string | undefined): string => (text === undefined ? 'nothing' : text.slice(0, listedLength));
  const list = differences
    .slice(0, listedDifferences)
    .map((part) => `${part}: ${show(actual.get(part))}; expected: ${show(expected.get(part))}`);
  throw new StartupError(
    `The schema of the database differs in ${differences.length} parts from what its migrations create. Nothing was ` +
      'changed. See "A database from before the baseline" in docs/operations.md.\n' +
      list.map((line) => `- ${line}`).join('\n'),
  );
}
