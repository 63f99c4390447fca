import { getRow } from '../../management/rows.ts';
import type { Work } from '../../management/unit-of-work.ts';
import { type ExperimentView, experiments } from '../configuration/experiments.ts';
import { type ExperimentReport, type ReportOptions, reportOf } from './report.ts';

/** The report of an experiment of a publisher. @throws AppError resource_not_found */
export async function reportFor(work: Work, key: string, options: ReportOptions): Promise<ExperimentReport> {
  const view = (await getRow(experiments, work, key)) as ExperimentView;
  const { rows } = await work.executor.query<{ id: number; erased_users: number }>(
    'select id, erased_users from experiments where publisher_id = $1 and key = $2',
    [work.publisherId, key],
  );
  return reportOf(work.executor, { ...view, ...(rows[0] as { id: number; erased_users: number }) }, options);
}
