import { fileURLToPath } from 'node:url';
import { configDefaults, defineConfig } from 'vitest/config';
import { LongestFirst } from './test/support/longest-first.ts';

const pathOf = (file: string): string => fileURLToPath(new URL(file, import.meta.url));

/**
 * Limits end what hangs, in milliseconds: they are several times what the slowest needs on two quiet cores. A test that
 * needs more states its own limit (`timeLimit`) and the reason. TEST_TIME_FACTOR multiplies all limits on slow machines.
 */
const testLimitMs = 60_000 * Number(process.env.TEST_TIME_FACTOR ?? 1);
/** Set-up: a build, Chromium or a demo server, on a busy machine. */
const hookLimitMs = 300_000;
/** Time that a condition may take to come true. Tests with a limit of their own use all of it. */
const conditionLimitMs = 180_000;
/** Tests nothing: it takes the pictures of the documentation (`npm run docs:images`). */
const pictures = 'test/dashboard/images.test.ts';

/** Seed of generated inputs; another one in each run. */
const seed = process.env.TEST_SEED ?? String(Date.now() % 2 ** 31);

export default defineConfig({
  resolve: {
    alias: {
      // The sources of the package, as they are now: its build is for the tests that install it.
      '@perkwire/client': pathOf('packages/client/src/index.ts'),
      // Peers of packages/react-native, which are not installed.
      'react-native-webview': pathOf('test/react-native/peers/react-native-webview.ts'),
      'react-native': pathOf('test/react-native/peers/react-native.ts'),
    },
  },
  test: {
    include: ['test/**/*.test.ts'],
    exclude: [...configDefaults.exclude, ...(process.env.UPDATE_IMAGES === undefined ? [pictures] : [])],
    globalSetup: ['test/support/global-setup.ts'],
    setupFiles: ['test/support/seed.ts', 'test/support/problems.ts'],
    env: { TEST_SEED: seed },
    testTimeout: testLimitMs,
    hookTimeout: hookLimitMs,
    teardownTimeout: conditionLimitMs,
    expect: { poll: { timeout: conditionLimitMs, interval: 20 } },
    // One more than the cores of a small machine: a third of the files' time is waiting.
    maxWorkers: 3,
    sequence: { sequencer: LongestFirst },
    // Files share the modules of their worker: importing the server anew for each file took a quarter of the run.
    isolate: false,
    // Keeps transformed modules between runs, by their content.
    experimental: { fsModuleCache: true },
  },
});
