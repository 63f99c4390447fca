import { isDeepStrictEqual } from 'node:util';
import { withoutUnusedDetails } from '../catalog/controls.ts';
import type { ArmChanges, StoredControls } from '../catalog/types.ts';
import type { Resource, Values, View } from '../management/resource.ts';
import { createRow, getRow, removeRow, updateRow } from '../management/rows.ts';
import type { Work } from '../management/unit-of-work.ts';
import { AppError } from '../platform/errors.ts';
import { type Fields, merge } from '../platform/lib/merge.ts';
import { ownOf } from '../platform/lib/own.ts';
import { problem } from '../platform/problem.ts';
import { getControls, setControls, storedOf } from './resources/controls.ts';
import { placements } from './resources/placements.ts';
import { themes } from './resources/themes.ts';

/** Changes to an offer unit. `unit_enabled: false` turns the unit off. */
export type UnitChanges = Omit<ArmChanges, 'labels' | 'ranking'> & { unit_enabled?: boolean };

/** Updated row, with the old and new values of each changed field. `made` marks a newly created theme. */
export type WrittenRow = {
  resource: 'placements' | 'themes' | 'controls';
  key: string;
  fields: Record<string, { old: unknown; new: unknown }>;
  made?: true;
};

const resources: Record<'placements' | 'themes', Resource> = { placements, themes };
const partly = { ifMatch: null, replace: false };

/**
 * Applies changes to an offer unit by updating placements, their themes and the publisher's revenue floors, and records
 * them in the audit log. A theme that is also used elsewhere stays unchanged; the placements get a copy of it instead.
 * @param requestedNames normalised placement names, or null for all existing placements
 * @param suffix suffix for the names of copied themes
 * @returns the updated rows, in order
 * @throws AppError conflict if there is no theme for the settings; invalid_request if a theme was removed
 */
export async function writeUnitChanges(
  work: Work,
  requestedNames: readonly string[] | null,
  { changes, suffix }: { changes: UnitChanges; suffix: string },
): Promise<WrittenRow[]> {
  await work.executor.query('select 1 from publishers where id = $1 for update', [work.publisherId]);
  const { rows } = await work.executor.query<{ name: string }>(
    'select name from placements where publisher_id = $1 order by name',
    [work.publisherId],
  );
  const placementNames = rows.map(({ name }) => name);
  const names = requestedNames ?? placementNames;
  const { settings, floor, ...ofPlacement } = changes;
  const written: WrittenRow[] = [];
  for (const name of names) {
    if (!placementNames.includes(name)) await createRow(placements, work, { name });
    written.push(...(await write(work, 'placements', name, ofPlacement)));
  }
  if (settings !== undefined) written.push(...(await writeSettings(work, names, { settings, suffix })));
  if (floor !== undefined) written.push(...(await writeFloors(work, Object.fromEntries(names.map((n) => [n, floor])))));
  return written;
}

/**
 * Restores the previous values of the updated rows.
 * @throws AppError conflict with the fields that have changed in the meantime
 */
export async function undoUnitChanges(work: Work, written: readonly WrittenRow[]): Promise<void> {
  for (const row of written.toReversed()) {
    const current = await currentOf(work, row);
    const changed = Object.entries(row.fields).filter(([name, { new: now }]) => !isSame(ownOf(current, name), now));
    if (changed.length > 0)
      throw new AppError('conflict', {
        message: problem('changedSince', {
          names: changed.map(([name]) => `${name} of ${row.resource} ${row.key}`).join(', '),
        }),
      });
    const before = Object.fromEntries(Object.entries(row.fields).map(([name, { old }]) => [name, old]));
    if (row.resource === 'controls') await writeFloors(work, before);
    else if (row.made) await removeRow(themes, work, row.key, null);
    else await updateRow(resources[row.resource], work, row.key, before, partly);
  }
}

const isSame = (a: unknown, b: unknown): boolean => isDeepStrictEqual(a ?? null, b ?? null);

async function currentOf(work: Work, { resource, key }: WrittenRow): Promise<Fields> {
  return resource === 'controls' ? floorsOf(work) : getRow(resources[resource], work, key, 'for update');
}

/**
 * Updates fields of a row.
 * @returns the updated row, or an empty list if the row already has these values
 */
async function write(
  work: Work,
  resource: 'placements' | 'themes',
  key: string,
  values: Values,
): Promise<WrittenRow[]> {
  const before = await getRow(resources[resource], work, key, 'for update');
  const after = await updateRow(resources[resource], work, key, values, partly);
  const fields = Object.fromEntries(
    Object.keys(values)
      .filter((name) => !isSame(before[name], after[name]))
      .map((name) => [name, { old: before[name], new: after[name] }]),
  );
  return Object.keys(fields).length === 0 ? [] : [{ resource, key, fields }];
}

type Settings = { settings: Fields; suffix: string };

/** Applies settings to the themes that the placements use. */
async function writeSettings(work: Work, names: readonly string[], { settings, suffix }: Settings) {
  const { rows } = await work.executor.query<{ id: number | null; used: string[]; elsewhere: boolean }>(
    `select t.id, array_agg(p.name order by p.name) filter (where p.name = any($2)) as used,
      bool_or(p.name <> all($2)) as elsewhere
    from placements p left join lateral (
      select id from themes where publisher_id = p.publisher_id and deleted_at is null
        and case when p.theme_id is null then is_default else id = p.theme_id end
    ) t on true
    where p.publisher_id = $1 group by 1 having bool_or(p.name = any($2)) order by 1`,
    [work.publisherId, names],
  );
  const written: WrittenRow[] = [];
  for (const { id, used, elsewhere } of rows) {
    if (id === null)
      throw new AppError('conflict', { message: problem('noThemeFor', { placements: used.join(', ') }) });
    const theme = await getRow(themes, work, String(id), 'for update');
    const merged = merge(theme.settings as Fields, settings);
    if (!elsewhere) {
      written.push(...(await write(work, 'themes', String(id), { settings: merged })));
      continue;
    }
    const copy = await copyTheme(work, theme, { settings: merged, suffix });
    written.push({ resource: 'themes', key: String(copy.id), fields: {}, made: true });
    for (const name of used) written.push(...(await write(work, 'placements', name, { theme_id: copy.id })));
  }
  return written;
}

const maxNameLength = 200;

function copyTheme(work: Work, theme: View, { settings, suffix }: Settings): Promise<View> {
  const name = `${String(theme.name).slice(0, maxNameLength - suffix.length - 1)} ${suffix}`;
  const own = Object.fromEntries(Object.keys(themes.input.properties).map((field) => [field, theme[field]]));
  return createRow(themes, work, { ...own, name, key: '', is_default: false, settings });
}

const nobody = () => undefined;

const floorsOf = async (work: Work): Promise<Readonly<Record<string, number>>> =>
  (await getControls(work, String(work.publisherId), nobody)).view.floors;

/** Sets the revenue floors of placements. Null and undefined remove a floor. */
async function writeFloors(work: Work, newFloors: Readonly<Record<string, unknown>>): Promise<WrittenRow[]> {
  const key = String(work.publisherId);
  const { view } = await getControls(work, key, nobody);
  const { floors } = view;
  const fields = Object.fromEntries(
    Object.entries(newFloors)
      .map(([name, floor]) => [name, { old: ownOf(floors, name) ?? null, new: floor ?? null }] as const)
      .filter(([, { old, new: now }]) => !isSame(old, now)),
  );
  if (Object.keys(fields).length === 0) return [];
  const after = Object.fromEntries(
    Object.entries({ ...floors, ...newFloors }).filter(([, floor]) => floor !== null && floor !== undefined),
  );
  const rules = withoutUnusedDetails({ ...storedOf(view), floors: after as StoredControls['floors'] });
  await setControls(work, key, rules, { ifMatch: null, dryRun: false }, nobody);
  return [{ resource: 'controls', key, fields }];
}
