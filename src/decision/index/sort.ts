/** Number of entries to sort between two pauses. */
const runLength = 1000;

/** Sorts a list stably, in slices. The caller may do other work at each `yield`. */
export function* sortInSlices<T>(list: readonly T[], compare: (a: T, b: T) => number): Generator<void, T[]> {
  let runs: T[][] = [];
  for (let at = 0; at < list.length; at += runLength) {
    runs.push(list.slice(at, at + runLength).sort(compare));
    yield;
  }
  while (runs.length > 1) {
    const merged: T[][] = [];
    for (let at = 0; at < runs.length; at += 2) {
      merged.push(merge(runs[at] as T[], runs[at + 1] ?? [], compare));
      yield;
    }
    runs = merged;
  }
  return runs[0] ?? [];
}

function merge<T>(first: readonly T[], right: readonly T[], compare: (a: T, b: T) => number): T[] {
  const merged: T[] = [];
  let [a, b] = [0, 0];
  while (a < first.length && b < right.length) {
    merged.push(compare(first[a] as T, right[b] as T) <= 0 ? (first[a++] as T) : (right[b++] as T));
  }
  while (a < first.length) merged.push(first[a++] as T);
  while (b < right.length) merged.push(right[b++] as T);
  return merged;
}
