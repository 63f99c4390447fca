import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { promisify } from 'node:util';
import { createGzip, gunzip } from 'node:zlib';
import { buildSnapshot, type rowsOf } from '../../catalog/store.ts';
import type { Snapshot } from '../../catalog/types.ts';
import { buildIndex } from '../../decision/build-index.ts';
import type { Executor } from '../../platform/db/pool.ts';
import { dayMs, hourMs } from '../../platform/lib/time.ts';
import type { DecisionRecord } from '../session-record.ts';

type CatalogRows = ReturnType<typeof rowsOf>;

/** Interval at which a catalogue state is marked as used while it is in use, in milliseconds. */
export const touchMs = hourMs;

/**
 * Returns the ID of the catalogue state with which a decision was made. Earlier releases identified the state only by
 * its version number.
 */
export const catalogueIdOf = ({ catalogVersion, inputs }: DecisionRecord): string =>
  inputs.catalogue ?? `catalog ${catalogVersion}`;

/** Number of rows to serialise before yielding to the event loop. */
const sliceSize = 200;

/**
 * Yields the rows as JSON in chunks, so that a large catalogue does not block the event loop. API keys are excluded.
 */
async function* writeRows({ version, keys: _keys, ...tables }: CatalogRows): AsyncGenerator<string> {
  yield `{"version":${version}`;
  for (const [name, rows] of Object.entries(tables) as [string, readonly object[]][]) {
    yield `,${JSON.stringify(name)}:[`;
    for (let from = 0; from < rows.length; from += sliceSize) {
      const slice = rows.slice(from, from + sliceSize).map((row) => JSON.stringify(row));
      yield `${from === 0 ? '' : ','}${slice.join(',')}`;
      await nextTurn();
    }
    yield ']';
  }
  yield '}';
}

const pack = (pieces: AsyncIterable<string>): Promise<Buffer> =>
  buffer(Readable.from(pieces).pipe(createGzip({ level: 1 })));
const unpack = async (packed: Buffer): Promise<string> => (await promisify(gunzip)(packed)).toString();

export const packCatalogue = (rows: CatalogRows): Promise<Buffer> => pack(writeRows(rows));

/** Builds a snapshot from packed rows, which contain no API keys. */
export async function unpackCatalogue(packed: Buffer): Promise<Snapshot> {
  const rows = JSON.parse(await unpack(packed), (key, value) =>
    key === 'deleted_at' && typeof value === 'string' ? new Date(value) : value,
  ) as Omit<CatalogRows, 'keys'>;
  return buildSnapshot({ rows: { ...rows, keys: [] }, buildIndex });
}

/**
 * Marks a catalogue state as used.
 * @returns false if the state is not stored yet
 */
export async function touchState(executor: Executor, id: string, nowMs: number): Promise<boolean> {
  const { rowCount } = await executor.query({
    name: 'touch_state',
    text: 'update decision_states set used_at = greatest(used_at, to_timestamp($2::float8)) where id = $1',
    values: [id, nowMs / 1000],
  });
  return rowCount === 1;
}

export async function insertState(executor: Executor, id: string, state: Buffer, nowMs: number): Promise<void> {
  await executor.query({
    name: 'insert_state',
    text: `insert into decision_states (id, state, used_at) values ($1, $2, to_timestamp($3::float8))
      on conflict do nothing`,
    values: [id, state, nowMs / 1000],
  });
}

export async function findState(executor: Executor, id: string): Promise<Buffer | null> {
  const { rows } = await executor.query<{ state: Buffer }>('select state from decision_states where id = $1', [id]);
  return rows[0]?.state ?? null;
}

/** Time for which a decision can be re-decided, in milliseconds. */
const reDecidableMs = 7 * dayMs;

/** Deletes catalogue states that were not used for any decision in the last week. */
export async function deleteOldDecisionStates(executor: Executor, nowMs: number): Promise<void> {
  // Add a margin, because a state in use is marked only once an hour.
  await executor.query('delete from decision_states where used_at < to_timestamp($1::float8)', [
    (nowMs - reDecidableMs - touchMs) / 1000,
  ]);
}
