/** Normalises the name of a column for comparison: only letters and digits, without case and accents. */
export const comparableName = (name: string): string =>
  name
    .normalize('NFKD')
    .replaceAll(/[^\p{L}\p{N}]/gu, '')
    .toLowerCase()
    .replaceAll('ß', 'ss');

/** Columns of an import: for each role, the names that exporting systems use. */
type ColumnNames<Role extends string> = Readonly<Record<Role, readonly string[]>>;

/**
 * Format of an import. A file has exactly one column with one of the roles in `identifiers`; if that is its only
 * column, it needs no header. `required` lists roles that must all be present, for files that always have a header.
 */
export type FileFormat<Role extends string> = {
  columns: ColumnNames<Role>;
  /** Further role by the name of a column, such as a language, or null if absent. */
  otherColumn?: (name: string) => string | null;
} & (
  | {
      identifiers: readonly [Role, ...Role[]];
      /** Values of a role that could be mistaken for those of another role without a header. */
      patterns?: Readonly<Partial<Record<Role, RegExp>>>;
      required?: never;
    }
  | { required: readonly Role[]; identifiers?: never; patterns?: never }
);

/** Creates a function that returns the role of a column by its name. */
export function createRoleFinder<Role extends string>({
  columns,
  otherColumn = () => null,
}: FileFormat<Role>): (name: string) => string | null {
  const roles = new Map<string, string>();
  for (const [role, names] of Object.entries<readonly string[]>(columns))
    for (const name of [role, ...names]) roles.set(comparableName(name), role);
  return (name) => roles.get(comparableName(name)) ?? otherColumn(name.trim());
}
