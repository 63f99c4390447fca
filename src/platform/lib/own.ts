/** Value of a name that others choose, such as `constructor`: what every object inherits is none. */
export const ownOf = <Value>(from: Readonly<Record<string, Value>>, name: string): Value | undefined =>
  Object.hasOwn(from, name) ? from[name] : undefined;
