import fc from 'fast-check';
import { expect, test } from 'vitest';

const inputs = fc.record({ text: fc.string({ unit: 'grapheme' }), amount: fc.double(), ids: fc.array(fc.uuid()) });

test('TEST_SEED makes generated inputs reproducible', async () => {
  const seed = Number(process.env.TEST_SEED);
  expect(Number.isInteger(seed)).toBe(true);
  const first = fc.sample(inputs, 50);
  expect(fc.sample(inputs, 50)).toEqual(first);
  expect(fc.sample(inputs, { numRuns: 50, seed })).toEqual(first);
  expect(fc.sample(inputs, { numRuns: 50, seed: seed + 1 })).not.toEqual(first);
  const generatedInputs: unknown[] = [];
  const collect = fc.property(inputs, (input) => void generatedInputs.push(input));
  fc.assert(collect, { numRuns: 20 });
  fc.assert(collect, { numRuns: 20 });
  expect(generatedInputs.slice(20)).toEqual(generatedInputs.slice(0, 20));
});

test('a failed property prints the seed of the run', () => {
  const never = fc.property(fc.integer(), () => false);
  expect(() => fc.assert(never)).toThrow(`seed: ${process.env.TEST_SEED}`);
});
