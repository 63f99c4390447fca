/**
 * Returns the JSON text of a value. Unlike plain `JSON.stringify`, it ignores the `toJSON` methods that libraries such
 * as Prototype.js add to arrays, strings and numbers.
 * @throws if the value is cyclic
 */
export const toJson = (value: unknown): string =>
  JSON.stringify(value, function (this: Record<string, unknown>, key, converted: unknown) {
    const own = this[key];
    return typeof own === 'object' && !Array.isArray(own) ? converted : own;
  });
