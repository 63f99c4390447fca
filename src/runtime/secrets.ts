import { randomBytes } from 'node:crypto';
import { linkSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ConfigError, type SecretVariables } from '../config.ts';

/**
 * The secrets of an embedded installation: made once, kept in its data folder, readable by its owner only.
 * @throws ConfigError where the folder cannot be used
 */
export const embeddedSecrets = (dataDir: string): SecretVariables => usable(() => keptSecrets(dataDir));

/**
 * The secrets of an embedded installation, which must exist.
 * @throws ConfigError where they are missing or damaged
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
    throw new ConfigError([`DATA_DIR cannot be used: ${(err as Error).message}`]);
  }
}

function keptSecrets(dataDir: string): SecretVariables {
  const path = join(dataDir, 'secrets.json');
  mkdirSync(dataDir, { recursive: true });
  const made: SecretVariables = {
    TOKEN_KEYS: `1:${randomBytes(32).toString('base64url')}`,
    USER_PEPPER: randomBytes(32).toString('base64url'),
    SECRETS_KEY: randomBytes(32).toString('base64'),
  };
  // Linking a complete file is atomic: of processes that start together one wins, and none reads half a file.
  const draft = `${path}.${randomBytes(6).toString('hex')}`;
  writeFileSync(draft, JSON.stringify(made, null, 2), { mode: 0o600 });
  try {
    linkSync(draft, path);
  } catch (err) {
    if ((err as NodeJS.ErrnoException).code !== 'EEXIST') throw err;
  } finally {
    rmSync(draft);
  }
  return parseSecrets(path, readFileSync(path, 'utf8'));
}

/** @throws Error when the file was cut or changed: new secrets would not fit the data */
function parseSecrets(path: string, text: string): SecretVariables {
  const damaged = new Error(`${path} is damaged. Restore it from a backup: the data needs the secrets in it`);
  let found: Partial<SecretVariables> | null;
  try {
    found = JSON.parse(text);
  } catch {
    throw damaged;
  }
  const { TOKEN_KEYS, USER_PEPPER, SECRETS_KEY } = found ?? {};
  if (![TOKEN_KEYS, USER_PEPPER, SECRETS_KEY].every((value) => typeof value === 'string' && value !== ''))
    throw damaged;
  return found as SecretVariables;
}
