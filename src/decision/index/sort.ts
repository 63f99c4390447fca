/** Entries sorted between two pauses (count). */
const runLength = 1000;

/** A stable sort; the caller may do other work at each `yield`. */
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

function merge<T>(left: readonly T[], right: readonly T[], compare: (a: T, b: T) => number): T[] {
  const merged: T[] = [];
  let [a, b] = [0, 0];
  while (a < left.length && b < right.length) {
    merged.push(compare(left[a] as T, right[b] as T) <= 0 ? (left[a++] as T) : (right[b++] as T));
  }
  while (a < left.length) merged.push(left[a++] as T);
  while (b < right.length) merged.push(right[b++] as T);
  return merged;
}
