/** Normalises a column name for comparison by keeping only letters and digits and ignoring case and accents. */
export const comparableName = (name: string): string =>
  name
    .normalize('NFKD')
    .replaceAll(/[^\p{L}\p{N}]/gu, '')
    .toLowerCase()
    .replaceAll('ß', 'ss');

/** Column names that common export systems use, by import role. */
type ColumnNames<Role extends string> = Readonly<Record<Role, readonly string[]>>;

/**
 * Format of an import file. A file has exactly one column whose role is in `identifiers`. If it has no other columns,
 * the header is optional. `required` lists roles that must all be present, for formats that always have a header.
 */
export type FileFormat<Role extends string> = {
  columns: ColumnNames<Role>;
  /** Returns an additional role for a column name, such as a language, or null if the name has none. */
  otherColumn?: (name: string) => string | null;
} & (
  | {
      identifiers: readonly [Role, ...Role[]];
      /**
       * Patterns for values, by role. They are needed for roles whose values could be confused if there is no header.
       */
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
