import { expect } from 'vitest';

const isProblem = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && value.constructor?.name === 'Problem';

/** Compares a problem with its English text, as in a response. */
const equalsText = (a: unknown, b: unknown): boolean | undefined => {
  if (isProblem(a) && typeof b === 'string') return String(a) === b;
  if (typeof a === 'string' && isProblem(b)) return a === String(b);
  return undefined;
};

// The test files of a worker share their equality testers, so this one is added only once.
const flag = globalThis as { hasProblemTester?: boolean };
if (flag.hasProblemTester !== true) expect.addEqualityTesters([equalsText]);
flag.hasProblemTester = true;
