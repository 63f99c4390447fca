import { defineConfig } from 'vitest/config';

/** Limits only end tests that hang: on a busy machine a condition may take long to come true (milliseconds). */
const conditionLimitMs = 60_000;
const testLimitMs = 300_000;

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    globalSetup: ['test/support/global-setup.ts'],
    testTimeout: testLimitMs,
    hookTimeout: testLimitMs,
    expect: { poll: { timeout: conditionLimitMs, interval: 20 } },
    maxWorkers: 2,
    // Files share the modules of their worker: importing the server anew for each file took a quarter of the run.
    isolate: false,
  },
});
