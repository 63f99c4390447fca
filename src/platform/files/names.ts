/** Name of a column in the form in which names are compared: letters and digits only, without case and accents. */
export const comparableName = (name: string): string =>
  name
    .normalize('NFKD')
    .replaceAll(/[^\p{L}\p{N}]/gu, '')
    .toLowerCase()
    .replaceAll('ß', 'ss');

/** Columns that an import understands: the names of each role, as systems export them. */
type ColumnNames<Role extends string> = Readonly<Record<Role, readonly string[]>>;

/**
 * Format of an import. `identifiers`: the roles of which a file has exactly one column; a file with that column only
 * needs no header. `required`: roles of which all are needed, for files that always have a header.
 */
export type FileFormat<Role extends string> = {
  columns: ColumnNames<Role>;
  /** A further role by the name of a column, such as a language; null: none. */
  otherColumn?: (name: string) => string | null;
} & (
  | {
      identifiers: readonly [Role, ...Role[]];
      /** Values of a role that would be taken for those of another one without a header. */
      patterns?: Readonly<Partial<Record<Role, RegExp>>>;
      required?: never;
    }
  | { required: readonly Role[]; identifiers?: never; patterns?: never }
);

/** @returns a function from the name of a column to its role */
export function createRoleFinder<Role extends string>({
  columns,
  otherColumn = () => null,
}: FileFormat<Role>): (name: string) => string | null {
  const roles = new Map<string, string>();
  for (const [role, names] of Object.entries<readonly string[]>(columns))
    for (const name of [role, ...names]) roles.set(comparableName(name), role);
  return (name) => roles.get(comparableName(name)) ?? otherColumn(name.trim());
}
