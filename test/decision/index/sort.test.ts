import { expect, test } from 'vitest';
import { sortInSlices } from '../../../src/decision/index/sort.ts';
import { mix } from '../../../src/decision/random.ts';

test('sorting in slices is stable and gives the same result as sorting at once', () => {
  for (const size of [0, 1, 999, 1000, 1001, 2000, 5500]) {
    const list = Array.from({ length: size }, (_, at) => ({ at, key: mix(size, at) % 50 }));
    const compare = (a: { key: number }, b: { key: number }): number => a.key - b.key;
    const work = sortInSlices(list, compare);
    let step = work.next();
    while (step.done !== true) step = work.next();
    expect(step.value).toEqual([...list].sort(compare));
  }
});
