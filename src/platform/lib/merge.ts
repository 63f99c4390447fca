export type Fields = Readonly<Record<string, unknown>>;

const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Merges two objects recursively. Fields of the second object take precedence. */
export const merge = (base: Fields, over: Fields): Fields => ({
  ...base,
  ...Object.fromEntries(
    Object.entries(over).map(([name, value]) => {
      const before = base[name];
      return [name, isFields(before) && isFields(value) ? merge(before, value) : value];
    }),
  ),
});
