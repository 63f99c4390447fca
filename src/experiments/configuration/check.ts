import { holdoutArm } from '../../catalog/types.ts';
import type { Work } from '../../management/unit-of-work.ts';
import type { ErrorDetail } from '../../platform/errors.ts';
import { timeOf } from '../../platform/lib/time-zone.ts';
import { noun, problem } from '../../platform/problem.ts';
import { type ArmInput, checkChanges, maxArms, percentOf } from './changes.ts';
import type { ExperimentValues } from './view.ts';

/** Validates an experiment beyond what the schema covers. */
export async function check(
  { arms, holdout, start_at, end_at, campaign_id, ramp }: ExperimentValues,
  work: Work,
): Promise<ErrorDetail[]> {
  const details: ErrorDetail[] = [];
  const total = arms.reduce((sum, arm) => sum + arm.share, holdout);
  if (arms.length === 0 && holdout === 0) details.push({ path: '/arms', message: problem('armOrHoldout') });
  if (total > 1 + 1e-9)
    details.push({
      path: '/arms',
      message: problem('sharesAbove', { percent: percentOf(total) }),
    });
  if (arms.filter(({ changes }) => Object.keys(changes).length > 0).length > maxArms)
    details.push({ path: '/arms', message: problem('armsAtMost', { max: maxArms }) });
  for (const [at, arm] of arms.entries()) {
    if (arm.key === holdoutArm) details.push({ path: `/arms/${at}/key`, message: problem('armIsHoldout') });
    if (arms.findIndex(({ key }) => key === arm.key) < at)
      details.push({ path: `/arms/${at}/key`, message: problem('givenTwice') });
    details.push(...checkChanges(arm, `/arms/${at}/changes`));
  }
  if (start_at !== null && end_at !== null && (timeOf(end_at) ?? 0) <= (timeOf(start_at) ?? 0))
    details.push({ path: '/end_at', message: problem('afterStart') });
  for (const [name, value] of Object.entries({ start_at, end_at }))
    if (value !== null && !Number.isFinite(timeOf(value) ?? Number.NaN))
      details.push({ path: `/${name}`, message: problem('timeSuchAs') });
  if (campaign_id !== null && holdout === 0) details.push({ path: '/holdout', message: problem('withheldFrom') });
  for (const [at, step] of (ramp ?? []).entries()) {
    const before = ramp?.[at - 1];
    if (before !== undefined && (step.after_hours <= before.after_hours || step.share < before.share))
      details.push({ path: `/ramp/${at}`, message: problem('rampLater') });
  }
  return [...details, ...(await unknownRows({ arms, campaign_id }, work))];
}

/**
 * Returns errors for themes and campaigns that the publisher does not have. Locks the themes, so that they can't be
 * removed meanwhile.
 */
async function unknownRows(
  { arms, campaign_id: campaignId }: { arms: ArmInput[]; campaign_id: number | null },
  { executor, publisherId }: Work,
): Promise<ErrorDetail[]> {
  const details: ErrorDetail[] = [];
  const themeIds = arms.flatMap(({ changes }) => changes.theme_id ?? []);
  if (themeIds.length > 0) {
    const { rows } = await executor.query<{ id: number }>(
      'select id from themes where publisher_id = $1 and id = any($2) and deleted_at is null for share',
      [publisherId, themeIds],
    );
    const knownIds = new Set(rows.map(({ id }) => id));
    for (const [at, { changes }] of arms.entries())
      if (changes.theme_id !== undefined && !knownIds.has(changes.theme_id))
        details.push({ path: `/arms/${at}/changes/theme_id`, message: problem('notFound', { noun: noun('theme') }) });
  }
  if (campaignId === null) return details;
  const { rowCount } = await executor.query(
    'select from campaign_publishers where campaign_id = $1 and publisher_id = $2',
    [campaignId, publisherId],
  );
  return rowCount === 0
    ? [...details, { path: '/campaign_id', message: problem('notFound', { noun: noun('campaign') }) }]
    : details;
}
