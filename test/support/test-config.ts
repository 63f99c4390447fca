import { type Config, loadConfig } from '../../src/config.ts';

/** Secrets of the test configuration, as environment variables. */
export const testSecrets = {
  TOKEN_KEYS: `1:${'test-token-key-'.repeat(3)}`,
  USER_PEPPER: 'test-pepper-'.repeat(3),
  SECRETS_KEY: Buffer.alloc(32, 7).toString('base64'),
};

/** Returns the test configuration. Webhooks may go to 127.0.0.1, and nothing is logged unless TEST_LOG_LEVEL is set. */
export const testConfig = (overrides: Partial<Config> = {}): Config => ({
  ...loadConfig(
    {
      DATABASE_URL: 'postgres://given.elsewhere/x',
      ...testSecrets,
      PUBLIC_URL: 'http://perks.test',
      WEBHOOK_ALLOW_NETS: '127.0.0.0/8',
      WEBHOOK_ALLOW_HTTP: 'true',
      DATABASE_POOL_SIZE: '6',
      LOG_LEVEL: process.env.TEST_LOG_LEVEL ?? 'silent',
      IMAGE_CACHE_DISK_MB: '0',
    },
    () => {
      throw new Error('not embedded');
    },
  ),
  ...overrides,
});
