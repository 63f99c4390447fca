import type { Resource, View } from '../management/resource.ts';
import { formerValues, restoreRow } from '../management/restore.ts';
import { createRow, getRow, updateRow } from '../management/rows.ts';
import type { Work } from '../management/unit-of-work.ts';
import { AppError } from '../platform/errors.ts';
import { auditLog } from './audit-log.ts';

/** Undoes audit log entries. */
export type Revert = {
  /**
   * Returns whether an entry can be undone. The entry must be a change or a removal, and the log must contain the
   * previous values.
   */
  isPossible: (entry: View) => boolean;
  /**
   * Restores the previous values of changed fields, or a removed row.
   * @throws AppError resource_not_found; also the errors of updateRow, createRow and restoreRow
   */
  revert: (work: Work, entryId: string) => Promise<View>;
};

type Changes = Parameters<typeof formerValues>[1];
const changesOf = ({ changes }: View): Changes => changes as Changes;

/**
 * Creates the revert function.
 * @param kinds resources whose changes can be undone
 */
export function createRevert(kinds: readonly Resource[]): Revert {
  const kindOf = ({ resource }: View): Resource | undefined => kinds.find(({ name }) => name === resource);

  function isPossible(entry: View): boolean {
    const kind = kindOf(entry);
    if (kind === undefined) return false;
    return (
      entry.action === 'remove' ||
      (entry.action === 'update' && Object.keys(formerValues(kind, changesOf(entry))).length > 0)
    );
  }

  return {
    isPossible,
    revert: async (work, entryId) => {
      const entry = await getRow(auditLog, work, entryId);
      const kind = kindOf(entry);
      if (kind === undefined || !isPossible(entry)) throw new AppError('resource_not_found');
      const key = String(entry.resource_id);
      if (entry.action === 'update')
        return updateRow(kind, work, key, formerValues(kind, changesOf(entry)), { ifMatch: null, replace: false });
      if (kind.removedAt !== undefined) return restoreRow(kind, work, key);
      const { old } = changesOf(entry)[kind.key] ?? {};
      return createRow(kind, work, { ...formerValues(kind, changesOf(entry)), [kind.key]: old });
    },
  };
}
