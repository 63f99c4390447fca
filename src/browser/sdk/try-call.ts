/** Returns the result of `work`, or undefined if it throws. */
export function tryCall<Value>(work: () => Value): Value | undefined {
  try {
    return work();
  } catch {
    return undefined;
  }
}
