import type { Executor } from '../platform/db/pool.ts';
import { dayMs } from '../platform/lib/time.ts';
import { modelOf, prepare, unpackVersion } from './model/codec.ts';
import { createModel, type Model } from './model.ts';

type VersionRow = { version: string; is_full: boolean; body: Buffer };
/** Model version that follows another one. If `body` is null, it is identical to the previous version. */
type FollowingRow = { version: string; body: Buffer | null };

/**
 * Model versions from this release and from earlier releases. Versions from this release have higher numbers. After a
 * rollback, an earlier release therefore never reads a version that it does not understand.
 */
const allVersions = `(
  select version, is_full, body, made_at from model_versions
  union all select version, is_full, body, made_at from ranking_versions
) as versions`;

/** Maximum version number that earlier releases use. */
const lastEarlierVersion = 1_000_000_000;

/**
 * Returns the number of the first version that a learner stores after startup. Its distance from the last version is so
 * large that readers cannot treat it as an incremental change.
 */
export const firstAfter = (version: number): number => Math.max(lastEarlierVersion, version) + fullEvery + 1;

/**
 * Number of versions after which a full model is stored. It is also the maximum number of versions that are read to
 * build a model.
 */
const fullEvery = 256;

/**
 * Whether the version with this number is stored in full and identical to the previous version. Such versions are read
 * only as a starting point.
 */
export const isRepeated = (version: number): boolean => version % fullEvery === 0;

/** Model version to store. */
export type NewVersion = { version: number; isFull: boolean; body: Buffer };

export async function insertVersion(
  executor: Executor,
  { version, isFull, body, nowMs }: NewVersion & { nowMs: number },
): Promise<void> {
  await executor.query({
    name: 'insert_model_version',
    text: 'insert into ranking_versions (version, is_full, body, made_at) values ($1, $2, $3, $4)',
    values: [version, isFull, body, new Date(nowMs)],
  });
}

/** Returns the number of the newest stored version, or 0 if none exists. */
export async function newestVersion(executor: Executor): Promise<number> {
  const { rows } = await executor.query<{ version: string }>({
    name: 'newest_model_version',
    text: `select greatest((select max(version) from model_versions), (select max(version) from ranking_versions), 0)
      as version`,
  });
  return Number(rows[0]?.version ?? 0);
}

/**
 * Builds the model for a version from the last full version and the changes since then. Returns null if any of these is
 * not stored.
 * @throws Error if a stored version is corrupt
 */
export async function loadVersion(executor: Executor, version: number): Promise<Model | null> {
  if (version === 0) return createModel();
  const { rows } = await executor.query<VersionRow>(
    `select version, is_full, body from ${allVersions}
    where version <= $1 and version >= (select max(version) from ${allVersions} where is_full and version <= $1)
    order by version`,
    [version],
  );
  const [whole] = rows;
  if (whole === undefined || Number(rows.at(-1)?.version) !== version) return null;
  if (rows.length !== version - Number(whole.version) + 1) return null;
  let model = await modelOf(Number(whole.version), await unpackVersion(whole.body));
  for (const row of rows.slice(1)) model = (await following(model, row))();
  return model;
}

/** Returns the consecutive versions that follow a version. */
export async function versionsAfter(executor: Executor, version: number): Promise<FollowingRow[]> {
  const { rows } = await executor.query<FollowingRow>({
    name: 'model_versions_after',
    text: `select version, case when is_full and version % ${fullEvery} = 0 then null else body end as body
      from ${allVersions} where version > $1 order by version limit 50`,
    values: [version],
  });
  return rows.filter((row, at) => Number(row.version) === version + at + 1);
}

/**
 * Prepares the next version and returns a function that applies it to a model in one step.
 * @throws Error if the version is corrupt; the model stays unchanged
 */
export async function following(model: Model, { version, body }: FollowingRow): Promise<() => Model> {
  if (body === null) return () => ({ ...model, version: Number(version) });
  return prepare(model, Number(version), await unpackVersion(body));
}

/** Retention of model versions, in milliseconds. Stored decisions can be re-decided for that long. */
const keptMs = 8 * dayMs;

/** Deletes model versions that no decision in the last week used. */
export async function deleteOldVersions(executor: Executor, nowMs: number): Promise<number> {
  let deleted = 0;
  for (const table of ['model_versions', 'ranking_versions']) {
    const { rowCount } = await executor.query(
      `delete from ${table} where version < (select max(version) from ${table} where is_full and made_at < $1)`,
      [new Date(nowMs - keptMs)],
    );
    deleted += rowCount ?? 0;
  }
  return deleted;
}
