import { auditLog } from '../../management/audit.ts';
import type { Resource, Values, View } from '../../management/resource.ts';
import { restoreRow } from '../../management/restore.ts';
import { createRow, getRow, updateRow } from '../../management/rows.ts';
import type { Work } from '../../management/unit-of-work.ts';
import { AppError } from '../../platform/errors.ts';
import { advertisers } from './advertisers.ts';
import { campaigns } from './campaigns.ts';
import { offers } from './offers.ts';
import { placements } from './placements.ts';
import { sequenceRules } from './sequence-rules.ts';
import { themes } from './themes.ts';

/** Kinds whose changes can be undone from the audit log. */
const kinds: readonly Resource[] = [advertisers, campaigns, offers, placements, sequenceRules, themes];

const kindOf = ({ resource }: View): Resource | undefined => kinds.find(({ name }) => name === resource);

/** Values before a change of the fields that can be written. */
function formerValues({ input, fixed }: Resource, { changes }: View): Values {
  const names = Object.keys(input.properties).filter((name) => fixed?.includes(name) !== true);
  const old = changes as Record<string, { old: unknown }>;
  return Object.fromEntries(names.flatMap((name) => (Object.hasOwn(old, name) ? [[name, old[name]?.old]] : [])));
}

/** Whether an entry of the audit log can be undone: it is a change or a removal, and the log has the former values. */
export function isRevertible(entry: View): boolean {
  const kind = kindOf(entry);
  if (kind === undefined) return false;
  return entry.action === 'remove' || (entry.action === 'update' && Object.keys(formerValues(kind, entry)).length > 0);
}

/**
 * Undoes an entry of the audit log: changed fields get their former values, what was removed comes back.
 * @throws AppError resource_not_found; as updateRow, createRow and restoreRow do
 */
export async function revertEntry(work: Work, entryId: string): Promise<View> {
  const entry = await getRow(auditLog, work, entryId);
  const kind = kindOf(entry);
  if (kind === undefined || !isRevertible(entry)) throw new AppError('resource_not_found');
  const key = String(entry.resource_id);
  if (entry.action === 'update')
    return updateRow(kind, work, key, formerValues(kind, entry), { ifMatch: null, replace: false });
  if (kind.removedAt !== undefined) return restoreRow(kind, work, key);
  const { old } = (entry.changes as Record<string, { old: unknown }>)[kind.key] ?? {};
  return createRow(kind, work, { ...formerValues(kind, entry), [kind.key]: old });
}
