import type { Values, Warning } from '../../../management/resource.ts';
import { createRow, removeRow, updateRow } from '../../../management/rows.ts';
import type { Work } from '../../../management/unit-of-work.ts';
import { AppError } from '../../../platform/errors.ts';
import { problem } from '../../../platform/problem.ts';
import type { ImageStore } from '../../images/image-store.ts';
import { createUploadedCreative } from '../creatives.ts';
import type { Progress } from './export.ts';
import { renamed } from './import.ts';
import type { Catalogue } from './parse.ts';
import { type Change, type Plan, planApply, type Step } from './plan.ts';

/** Result of applying a catalogue file, or of a dry run. */
export type Applied = {
  dry_run: boolean;
  /** Digest of the applied plan. */
  plan: string;
  counts: Record<Change['change'], number>;
  changes: readonly Change[];
  warnings: readonly Warning[];
};

type ApplyOptions = {
  store: ImageStore | null;
  prune: boolean;
  /** Digest of the plan that the user confirmed, or null to apply any plan. */
  expected: string | null;
  /** Maximum number of changes. If the plan has more, nothing is applied. */
  maxChanges?: number;
  progress?: Progress;
};

/**
 * Changes a publisher's configuration to match a catalogue file (docs/guides/management-api.md#apply-a-file). Uses the
 * same functions as API calls for single rows. Either all changes are applied, in one transaction, or none.
 * @throws AppError conflict if the plan is not the confirmed one; row errors, with their paths in the file
 */
export async function applyCatalogue(work: Work, catalogue: Catalogue, options: ApplyOptions): Promise<Applied> {
  await work.executor.query('select 1 from publishers where id = $1 for no key update', [work.publisherId]);
  const plan = await planApply(work, catalogue, options);
  if (options.expected !== null && options.expected !== plan.digest)
    throw new AppError('conflict', {
      message: problem('planOutdated'),
    });
  requireFew(plan, options);
  for (const [index, step] of plan.steps.entries()) {
    await applyStep(work, step, plan, options.store).catch((err: unknown) => {
      throw err instanceof AppError ? atRow(err, step.change) : err;
    });
    options.progress?.('changes', index + 1);
  }
  return summary(plan, false);
}

/** Computes and returns the plan without applying it. */
export async function previewApply(
  work: Work,
  catalogue: Catalogue,
  options: { prune: boolean; maxChanges?: number },
): Promise<Applied> {
  const plan = await planApply(work, catalogue, options);
  requireFew(plan, options);
  return summary(plan, true);
}

function requireFew({ steps }: Plan, { maxChanges = Number.POSITIVE_INFINITY }: { maxChanges?: number }): void {
  if (steps.length > maxChanges)
    throw new AppError('body_too_large', {
      message: problem('tooManyChanges', { max: maxChanges, count: steps.length }),
    });
}

async function applyStep(work: Work, { kind, row, change }: Step, { ids }: Plan, store: ImageStore | null) {
  if (row === null) {
    await removeRow(kind, work, String(change.id), null);
    return;
  }
  const values: Values = renamed(kind, row.values, ids);
  if (change.change === 'changed') {
    const fields = Object.fromEntries(change.fields.map(({ name }) => [name, values[name]]));
    await updateRow(kind, work, String(change.id), fields, { ifMatch: null, replace: false });
    return;
  }
  const view =
    row.image === null
      ? await createRow(kind, work, values)
      : await createImageCreative(work, values, row.image, store);
  ids.get(kind.table)?.set(row.id, view[kind.key]);
}

const createImageCreative = (work: Work, values: Values, bytes: Buffer, store: ImageStore | null) => {
  const {
    url: _url,
    type,
    width,
    height,
    ...fields
  } = values as Values & { type: never; width: number; height: number };
  return createUploadedCreative(work, fields, { bytes, type, size: { width, height } }, store);
};

/** Adds the location of the row to an error: its path in the file or, if it is not in the file, its kind and ID. */
function atRow(err: AppError, { kind, id, path }: Change): AppError {
  const at = path ?? `/${kind}/${id}`;
  const details = err.details ?? [{ path: '', message: err.problem }];
  return new AppError(err.code, {
    message: err.problem,
    details: details.map((detail) => ({ ...detail, path: detail.path === '/' ? at : at + detail.path })),
    cause: err,
  });
}

function summary({ steps, digest, warnings }: Plan, isDryRun: boolean): Applied {
  const changes = steps.map(({ change }) => change);
  const count = (kind: Change['change']): number => changes.filter(({ change }) => change === kind).length;
  return {
    dry_run: isDryRun,
    plan: digest,
    counts: { created: count('created'), changed: count('changed'), removed: count('removed') },
    changes,
    warnings,
  };
}
