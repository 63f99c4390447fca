/** Normalises a column name for comparison: keeps only letters and digits, and ignores case and accents. */
export const comparableName = (name: string): string =>
  name
    .normalize('NFKD')
    .replaceAll(/[^\p{L}\p{N}]/gu, '')
    .toLowerCase()
    .replaceAll('ß', 'ss');

/** Column names by import role, as used by the systems that export such files. */
type ColumnNames<Role extends string> = Readonly<Record<Role, readonly string[]>>;

/**
 * Import file format. A file has exactly one column with a role in `identifiers`; if that is its only column, the
 * header is optional. `required` lists roles that must all be present, for formats that always have a header.
 */
export type FileFormat<Role extends string> = {
  columns: ColumnNames<Role>;
  /** Returns an additional role for a column name, such as a language, or null if the column has none. */
  otherColumn?: (name: string) => string | null;
} & (
  | {
      identifiers: readonly [Role, ...Role[]];
      /** Value patterns by role, for roles whose values could be confused if there is no header. */
      patterns?: Readonly<Partial<Record<Role, RegExp>>>;
      required?: never;
    }
  | { required: readonly Role[]; identifiers?: never; patterns?: never }
);

/** Creates a function that maps a column name to its role. */
export function createRoleFinder<Role extends string>({
  columns,
  otherColumn = () => null,
}: FileFormat<Role>): (name: string) => string | null {
  const roles = new Map<string, string>();
  for (const [role, names] of Object.entries<readonly string[]>(columns))
    for (const name of [role, ...names]) roles.set(comparableName(name), role);
  return (name) => roles.get(comparableName(name)) ?? otherColumn(name.trim());
}
