/** Own property by a name that others choose. Inherited names, such as `constructor`, are undefined. */
export const ownOf = <Value>(from: Readonly<Record<string, Value>>, name: string): Value | undefined =>
  Object.hasOwn(from, name) ? from[name] : undefined;
