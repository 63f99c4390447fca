import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { embeddedSecrets } from '../../src/runtime/secrets.ts';

test('secrets are created once, and an unusable data folder causes an error message', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'perkwire-secrets-'));
  expect(embeddedSecrets(join(folder, 'data'))).toEqual(embeddedSecrets(join(folder, 'data')));
  await writeFile(join(folder, 'file'), '');
  expect(() => embeddedSecrets(join(folder, 'file'))).toThrow(/DATA_DIR is not usable: E/);
  // Truncated or modified files are never replaced, because new secrets would not match the data.
  for (const text of ['{"TOKEN_KEYS": "1:', 'null', '{"TOKEN_KEYS": "", "USER_PEPPER": "p", "SECRETS_KEY": "s"}']) {
    await writeFile(join(folder, 'data', 'secrets.json'), text);
    expect(() => embeddedSecrets(join(folder, 'data'))).toThrow(/json is damaged[.] Restore it from a backup/);
  }
  await rm(folder, { recursive: true });
});
