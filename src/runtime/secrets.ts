import { randomBytes } from 'node:crypto';
import { linkSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ConfigError } from '../config/config-error.ts';
import type { SecretVariables } from '../config.ts';

/**
 * Returns the secrets of an embedded installation. They are generated once and stored in its data folder, readable only
 * by the owner.
 * @throws ConfigError if the folder cannot be used
 */
export const embeddedSecrets = (dataDir: string): SecretVariables => usable(() => keptSecrets(dataDir));

/**
 * Returns the secrets of an existing embedded installation.
 * @throws ConfigError if they are missing or damaged
 */
export const existingSecrets = (dataDir: string): SecretVariables =>
  usable(() => {
    const path = join(dataDir, 'secrets.json');
    return parseSecrets(path, readFileSync(path, 'utf8'));
  });

function usable(read: () => SecretVariables): SecretVariables {
  try {
    return read();
  } catch (err) {
    throw new ConfigError([`DATA_DIR is not usable: ${(err as Error).message}`]);
  }
}

function keptSecrets(dataDir: string): SecretVariables {
  const path = join(dataDir, 'secrets.json');
  mkdirSync(dataDir, { recursive: true });
  const created: SecretVariables = {
    TOKEN_KEYS: `1:${randomBytes(32).toString('base64url')}`,
    USER_PEPPER: randomBytes(32).toString('base64url'),
    SECRETS_KEY: randomBytes(32).toString('base64'),
  };
  // Write a draft file first: hard-linking a complete file is atomic. If several processes start at the same time, only
  // one of them succeeds, and no process reads a partial file.
  const draft = `${path}.${randomBytes(6).toString('hex')}`;
  writeFileSync(draft, JSON.stringify(created, null, 2), { mode: 0o600 });
  try {
    linkSync(draft, path);
  } catch (err) {
    if ((err as NodeJS.ErrnoException).code !== 'EEXIST') throw err;
  } finally {
    rmSync(draft);
  }
  return parseSecrets(path, readFileSync(path, 'utf8'));
}

/**
 * Parses the secrets file.
 * @throws Error if the file is truncated or modified. New secrets must not be generated then, because they would not
 * match the existing data.
 */
function parseSecrets(path: string, text: string): SecretVariables {
  const damaged = new Error(`${path} is damaged. Restore it from a backup, because the stored data needs its secrets`);
  let parsed: Partial<SecretVariables> | null;
  try {
    parsed = JSON.parse(text);
  } catch {
    throw damaged;
  }
  const { TOKEN_KEYS, USER_PEPPER, SECRETS_KEY } = parsed ?? {};
  if (![TOKEN_KEYS, USER_PEPPER, SECRETS_KEY].every((value) => typeof value === 'string' && value !== ''))
    throw damaged;
  return parsed as SecretVariables;
}
