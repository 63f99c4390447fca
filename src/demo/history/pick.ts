import type { Random } from '../../platform/lib/random.ts';

/** Picks one of the values, each as often as its weight says. */
export function pick<Value>(random: Random, values: readonly (readonly [Value, weight: number])[]): Value {
  let left = random() * values.reduce((sum, [, weight]) => sum + weight, 0);
  for (const [value, weight] of values) {
    left -= weight;
    if (left < 0) return value;
  }
  return (values.at(-1) as readonly [Value, number])[0];
}
