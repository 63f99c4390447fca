/** Returns a test's own time limit, in milliseconds, multiplied by TEST_TIME_FACTOR as in vitest.config.ts. */
export const timeLimit = (ms: number): number => ms * Number(process.env.TEST_TIME_FACTOR ?? 1);
