import { fileURLToPath } from 'node:url';
import { configDefaults, defineConfig } from 'vitest/config';
import { LongestFirst } from './test/support/longest-first.ts';

const pathOf = (file: string): string => fileURLToPath(new URL(file, import.meta.url));

/**
 * Timeout of a test, in milliseconds. It is several times what the slowest test needs on two idle cores, so that only
 * tests that hang reach it. Tests that need more set their own limit (`timeLimit`) and give a reason. On slow machines,
 * TEST_TIME_FACTOR multiplies all of these limits.
 */
const testLimitMs = 60_000 * Number(process.env.TEST_TIME_FACTOR ?? 1);
/** Timeout of setup hooks, in milliseconds. They may build, start Chromium or start a demo server on a busy machine. */
const hookLimitMs = 300_000;
/** Maximum wait of `expect.poll`, in milliseconds. Only tests with a higher limit of their own can use all of it. */
const conditionLimitMs = 180_000;
/** Takes the documentation's screenshots and tests nothing, so it runs only in `npm run docs:images`. */
const screenshots = 'test/dashboard/images.test.ts';

/** Seed for generated inputs. Each run uses a new one unless TEST_SEED is set. */
const seed = process.env.TEST_SEED ?? String(Date.now() % 2 ** 31);

export default defineConfig({
  resolve: {
    alias: {
      // Tests use the package's current sources. Its build is only for the tests that install it.
      '@perkwire/client': pathOf('packages/client/src/index.ts'),
      // Stand-ins for the peer dependencies of packages/react-native, which are not installed.
      'react-native-webview': pathOf('test/react-native/peers/react-native-webview.ts'),
      'react-native': pathOf('test/react-native/peers/react-native.ts'),
    },
  },
  test: {
    include: ['test/**/*.test.ts'],
    exclude: [...configDefaults.exclude, ...(process.env.UPDATE_IMAGES === undefined ? [screenshots] : [])],
    globalSetup: ['test/support/global-setup.ts'],
    setupFiles: ['test/support/seed.ts', 'test/support/problems.ts'],
    env: { TEST_SEED: seed },
    testTimeout: testLimitMs,
    hookTimeout: hookLimitMs,
    teardownTimeout: conditionLimitMs,
    expect: { poll: { timeout: conditionLimitMs, interval: 20 } },
    // One more than the cores of a small machine, because test files spend a third of their time waiting.
    maxWorkers: 3,
    sequence: { sequencer: LongestFirst },
    // Test files share the modules of their worker. Importing the server again for each file took a quarter of the run.
    isolate: false,
    // Caches transformed modules between runs, by content.
    experimental: { fsModuleCache: true },
  },
});
