import type { Executor } from '../../platform/db/pool.ts';
import { minuteMs } from '../../platform/lib/time.ts';
import type { ImportProgress } from './load.ts';

/** Timeout in milliseconds after which an import without progress is considered failed. */
const timeoutMs = 10 * minuteMs;

/** Period for which imports are listed, in days. */
const keptDays = 30;

export type Import = ImportProgress & { id: string; startedAt: Date };

export async function startImport(executor: Executor, id: string, audienceId: number, nowMs: number): Promise<void> {
  await executor.query(
    `insert into audience_imports (id, audience_id, started_at, updated_at, state) values ($1, $2, $3, $3, 'reading')`,
    [id, audienceId, new Date(nowMs)],
  );
}

export async function noteImport(
  executor: Executor,
  id: string,
  { state, rows, bad, added, errors }: ImportProgress,
  nowMs: number,
): Promise<void> {
  await executor.query(
    `update audience_imports set state = $2, rows = $3, bad = $4, added = $5, errors = $6, updated_at = $7
    where id = $1`,
    [id, state, rows, bad, added, JSON.stringify(errors), new Date(nowMs)],
  );
}

/** Lists the latest imports into an audience, newest first. */
export async function listImports(executor: Executor, audienceId: number, nowMs: number): Promise<Import[]> {
  const { rows } = await executor.query<Import>(
    `select id, started_at as "startedAt", rows::float8 as rows, bad::float8 as bad, added::float8 as added, errors,
      case when state in ('reading', 'adding') and updated_at < $2 then 'failed' else state end as state
    from audience_imports where audience_id = $1 order by started_at desc, id desc limit 20`,
    [audienceId, new Date(nowMs - timeoutMs)],
  );
  return rows;
}

export async function deleteOldImports(executor: Executor, nowMs: number): Promise<number> {
  const { rowCount } = await executor.query(
    `delete from audience_imports where started_at < $1::timestamptz - interval '${keptDays} days'`,
    [new Date(nowMs)],
  );
  return rowCount ?? 0;
}
