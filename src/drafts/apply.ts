import { isDeepStrictEqual } from 'node:util';
import type { ReviewedKind } from '../catalog-admin/approval.ts';
import type { HandedIn } from '../management/approval.ts';
import type { Resource, Values, View } from '../management/resource.ts';
import { createRow, getRow, removeRow, updateRow } from '../management/rows.ts';
import type { Work } from '../management/unit-of-work.ts';
import { AppError, type ErrorDetail } from '../platform/errors.ts';
import { problem } from '../platform/problem.ts';
import type { Draft } from './draft.ts';

export type ReviewedKinds = Readonly<Record<ReviewedKind, Resource>> & { uploads: Uploads };

/** Resource of creatives, and a function that stores the uploaded image bytes after a creative is saved. */
type Uploads = {
  resource: Resource;
  keep: (executor: Work['executor'], creativeId: number, bytes: Buffer) => Promise<void>;
};

type ReviewedRow = { resource: ReviewedKind; row_id: number | null; has_picture: boolean };

/**
 * Returns a row's field as drafts see it. A campaign's start and end are combined into a separate field, `schedule`, so
 * that changes to other rules don't conflict with changes to the dates.
 */
export function fieldOf(view: Values, name: string): unknown {
  if (name !== 'schedule') return view[name];
  const { start_at = null, end_at = null } = scheduleOf(view);
  return { start_at, end_at };
}

export const fieldsOf = (view: Values, names: readonly string[]): Values =>
  Object.fromEntries(names.map((name) => [name, fieldOf(view, name)]));

type Dates = { start_at?: unknown; end_at?: unknown };
const rulesOf = ({ rules }: Values): Values => (rules ?? {}) as Values;
const scheduleOf = (view: Values): Dates & Values => (rulesOf(view).schedule ?? {}) as Dates & Values;

/** Converts the changes of a draft to fields of the row. */
function rowFields({ schedule, ...changes }: Values, current: View | null): Values {
  if (schedule === undefined || current === null) return schedule === undefined ? changes : { ...changes, schedule };
  const { start_at: _start, end_at: _end, ...remaining } = scheduleOf(current);
  const dates = Object.entries((schedule ?? {}) as Values).filter(([, value]) => value !== null);
  const merged = { ...remaining, ...Object.fromEntries(dates) };
  const { schedule: _schedule, ...rules } = rulesOf(current);
  return { ...changes, rules: { ...rules, ...(Object.keys(merged).length > 0 && { schedule: merged }) } };
}

/** Returns the current row of a draft, or null if the draft is for a new row. */
export const currentRow = async (
  kinds: ReviewedKinds,
  work: Work,
  { resource, row_id }: { resource: ReviewedKind; row_id: number | null },
): Promise<View | null> => (row_id === null ? null : getRow(kinds[resource], work, String(row_id)));

/** Saves a draft's changes without requiring another review. */
async function save(kinds: ReviewedKinds, work: Work, row: ReviewedRow, changes: Values): Promise<View> {
  const approved: Work = { ...work, approved: true };
  const kind = kinds[row.resource];
  if (row.row_id === null && row.has_picture && row.resource === 'creatives')
    return createRow(kinds.uploads.resource, approved, { ...changes, url: null });
  if (row.row_id === null) return createRow(kind, approved, changes);
  const current = await getRow(kind, approved, String(row.row_id), 'for update');
  const mode = { ifMatch: null, replace: false };
  return updateRow(kind, approved, String(row.row_id), rowFields(changes, current), mode);
}

/** Applies a draft. An uploaded image becomes the image of the new creative, or the first creative of the new offer. */
export async function makeLive(kinds: ReviewedKinds, work: Work, draft: Draft, image: HandedIn | null): Promise<View> {
  const view = await save(kinds, work, draft, draft.changes);
  if (image === null) return view;
  const { bytes, type, size } = image;
  const { resource, keep } = kinds.uploads;
  const first = { offer_id: view.id, type, ...size, url: null };
  const { id } = draft.resource === 'creatives' ? view : await createRow(resource, { ...work, approved: true }, first);
  await keep(work.executor, id as number, bytes);
  return view;
}

/**
 * Returns the row as it would look after saving the changes, then rolls back.
 * @throws AppError the same errors as saving the changes
 */
export async function trySave(kinds: ReviewedKinds, work: Work, row: ReviewedRow, changes: Values): Promise<View> {
  await work.executor.query('savepoint draft');
  try {
    return await save(kinds, work, row, changes);
  } finally {
    await work.executor.query('rollback to savepoint draft');
  }
}

/** A field that was changed after the draft was created. */
export type Difference = { field: string; before: unknown; now: unknown; proposed: unknown };

export function differencesOf(
  { changes, base }: { changes: Values; base: Values },
  current: View | null,
): Difference[] {
  if (current === null) return [];
  return Object.keys(base)
    .map((field) => ({ field, before: base[field], now: fieldOf(current, field), proposed: changes[field] }))
    .filter(({ before, now, proposed }) => !isDeepStrictEqual(now, before) && !isDeepStrictEqual(now, proposed));
}

/** Thrown when the row was changed after the draft was created. */
export class DraftConflict extends AppError {
  readonly differences: readonly Difference[];
  constructor(differences: readonly Difference[]) {
    super('conflict', { message: problem('draftOutdated'), details: differences.map(inWords) });
    this.differences = differences;
  }
}

const asText = (value: unknown): string => JSON.stringify(value ?? null).slice(0, 500);

const inWords = ({ field, before, now, proposed }: Difference): ErrorDetail => ({
  path: `/${field}`,
  message: problem('draftDiffers', { before: asText(before), now: asText(now), proposed: asText(proposed) }),
});

/**
 * Reverts the changes of an applied draft.
 * @throws DraftConflict if any of the changed fields have been modified since
 */
export async function revertDraft(kinds: ReviewedKinds, work: Work, draft: Draft): Promise<void> {
  const { resource, row_id, changes, base } = draft;
  const current = await getRow(kinds[resource], work, String(row_id), 'for update');
  if (Object.keys(base).length === 0) {
    await removeRow(kinds[resource], work, String(row_id), null);
    return;
  }
  const differences = differencesOf({ changes: base, base: changes }, current);
  if (differences.length > 0) throw new DraftConflict(differences);
  await save(kinds, work, draft, base);
}
