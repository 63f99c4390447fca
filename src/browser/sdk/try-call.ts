/** The result of `work`; undefined where it throws. */
export function tryCall<Value>(work: () => Value): Value | undefined {
  try {
    return work();
  } catch {
    return undefined;
  }
}
