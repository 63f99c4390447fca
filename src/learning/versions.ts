import type { Executor } from '../platform/db/pool.ts';
import { dayMs } from '../platform/lib/time.ts';
import { modelOf, prepare, unpackVersion } from './model/codec.ts';
import { createModel, type Model } from './model.ts';

type VersionRow = { version: string; is_full: boolean; body: Buffer };
/** A following version. If `body` is null, it repeats the previous version. */
type FollowingRow = { version: string; body: Buffer | null };

/**
 * Versions of the logistic model and of earlier releases. Their numbers start above those of earlier releases, so that
 * after a rollback the release reads none that it does not understand.
 */
const allVersions = `(
  select version, is_full, body, made_at from model_versions
  union all select version, is_full, body, made_at from ranking_versions
) as versions`;

/** Maximum number of versions of earlier releases. */
const lastEarlierVersion = 1_000_000_000;

/**
 * Number of the first version that a learner stores after its start: too far from the last one to be read as changes.
 */
export const firstAfter = (version: number): number => Math.max(lastEarlierVersion, version) + fullEvery + 1;

/** A whole model is stored every this many versions, which is also the maximum number read to build one. */
const fullEvery = 256;

/** Whole versions with these numbers repeat the previous one. They are read only as a starting point. */
export const isRepeated = (version: number): boolean => version % fullEvery === 0;

/** A version to store. */
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

/** Number of the newest version, or 0 if absent. */
export async function newestVersion(executor: Executor): Promise<number> {
  const { rows } = await executor.query<{ version: string }>({
    name: 'newest_model_version',
    text: `select greatest((select max(version) from model_versions), (select max(version) from ranking_versions), 0)
      as version`,
  });
  return Number(rows[0]?.version ?? 0);
}

/**
 * Model of a version, from the last whole one before it and the changes since. Null if some of them are not stored.
 * @throws Error if a stored version is broken
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

/** Consecutive versions after a given one. */
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
 * Returns a function that applies the next version to a model at once.
 * @throws Error if it is broken; the model stays unchanged
 */
export async function following(model: Model, { version, body }: FollowingRow): Promise<() => Model> {
  if (body === null) return () => ({ ...model, version: Number(version) });
  return prepare(model, Number(version), await unpackVersion(body));
}

/** How long a decision can be made again (milliseconds). */
const keptMs = 8 * dayMs;

/** Retention: deletes versions that no decision of the last week was made with. */
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
