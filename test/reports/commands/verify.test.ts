import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { startEmbeddedPostgres } from '../../../src/embedded/postgres.ts';
import { migrate } from '../../../src/platform/db/migrate.ts';
import { runCommand } from '../../command-line/support.ts';

test('verifies the reports of the embedded database without DATABASE_URL, even while it is in use', async () => {
  const dataDir = await mkdtemp(join(tmpdir(), 'perkwire-verify-'));
  const verify = () => runCommand(['reports', 'verify', '2026-11-01', '2026-11-02'], { DATA_DIR: dataDir });
  const service = await startEmbeddedPostgres({ dataDir });
  try {
    await migrate(service.url);
    const verdict = { code: 0, out: '2026-11-01 to 2026-11-02: 0 rollups compared, no differences\n', err: '' };
    expect(await verify()).toEqual(verdict);
    await service.stop();
    expect(await verify()).toEqual(verdict);
  } finally {
    await service.stop();
    await rm(dataDir, { recursive: true, force: true });
  }
});

test('creates no database if there is neither a database nor a data folder', async () => {
  const { code, err } = await runCommand(['reports', 'verify'], { DATA_DIR: '/there/is/none' });
  expect([code, err]).toEqual([
    2,
    'No database found: DATABASE_URL is not set, and /there/is/none contains no Perkwire data. ' +
      'Set DATABASE_URL or DATA_DIR, or change to the directory of the installation.\n',
  ]);
});
