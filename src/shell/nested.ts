/** A JSON object whose nested values are form fields named by their path, such as `settings.offerText.font`. */
export type Nested = { readonly [name: string]: unknown };

export const isNested = (value: unknown): value is Nested =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

export const valueAt = (root: unknown, path: string): unknown =>
  path.split('.').reduce<unknown>((at, name) => (isNested(at) && Object.hasOwn(at, name) ? at[name] : undefined), root);

/** Returns a copy with a value at a path. */
export function withValue(root: Nested, path: string, value: unknown): Nested {
  const [name = '', ...rest] = path.split('.');
  const inner = root[name];
  return {
    ...root,
    [name]: rest.length === 0 ? value : withValue(isNested(inner) ? inner : {}, rest.join('.'), value),
  };
}

/** Returns a copy without the value at a path, and without objects that become empty. */
export function withoutValue(root: Nested, path: string): Nested {
  const [name = '', ...rest] = path.split('.');
  if (!Object.hasOwn(root, name)) return root;
  const { [name]: inner, ...others } = root;
  if (rest.length === 0 || !isNested(inner)) return others;
  const remainder = withoutValue(inner, rest.join('.'));
  return Object.keys(remainder).length === 0 ? others : { ...others, [name]: remainder };
}

/** Deep merge: objects are merged, everything else is replaced by the second one. */
export function mergeNested(under: Nested, over: Nested): Nested {
  const merged: Record<string, unknown> = { ...under };
  for (const [name, value] of Object.entries(over)) {
    const below = under[name];
    merged[name] = isNested(value) && isNested(below) ? mergeNested(below, value) : value;
  }
  return merged;
}

/** JSON text of an object for a form field; empty for an empty object. */
export const jsonText = (value: Nested): string =>
  Object.keys(value).length === 0 ? '' : JSON.stringify(value, null, 2);

/** Parses the JSON text of a form field. Other text is returned unchanged for validation to reject. */
export function readJson(text: string): Nested | string {
  if (text === '') return {};
  try {
    const value = JSON.parse(text) as unknown;
    return isNested(value) ? value : text;
  } catch {
    return text;
  }
}
