/**
 * JSON text of a value. Libraries such as Prototype.js give arrays, strings and numbers a `toJSON` that
 * `JSON.stringify` would call: theirs is passed over. @throws where the value is cyclic
 */
export const toJson = (value: unknown): string =>
  JSON.stringify(value, function (this: Record<string, unknown>, key, converted: unknown) {
    const own = this[key];
    return typeof own === 'object' && !Array.isArray(own) ? converted : own;
  });
