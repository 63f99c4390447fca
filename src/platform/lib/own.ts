/**
 * Returns an own property by an untrusted name. Inherited properties, such as `constructor`, are treated as undefined.
 */
export const ownOf = <Value>(from: Readonly<Record<string, Value>>, name: string): Value | undefined =>
  Object.hasOwn(from, name) ? from[name] : undefined;
