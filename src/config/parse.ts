import { availableParallelism } from 'node:os';
import proxyAddr from '@fastify/proxy-addr';
import { type Net, parseNets } from './nets.ts';
import { parseServerList } from './server-list.ts';

const roles = ['api', 'worker', 'migrate'] as const;
export type Role = (typeof roles)[number];

/** Key for signing tokens. `id` identifies the key in the token, and `secret` signs it. */
export type TokenKey = { id: number; secret: string };

export function parseRoles(text: string, problems: string[]): Role[] {
  const parsed: Role[] = [];
  for (const name of text.split(',').map((part) => part.trim())) {
    const role = roles.find((candidate) => candidate === name);
    if (role === undefined) problems.push(`ROLES contains "${name}"; allowed values are ${roles.join(', ')}`);
    else parsed.push(role);
  }
  if (parsed.includes('migrate') && parsed.length > 1)
    problems.push('ROLES must not combine migrate with other roles, because it applies migrations and exits');
  return parsed;
}

const maxProcesses = 64;

/**
 * Parses PROCESSES.
 * @returns the number of processes with the role `api`
 */
export function parseProcesses(text: string, problems: string[]): number {
  if (text === 'auto') return Math.min(availableParallelism(), maxProcesses);
  const count = /^\d{1,9}$/.test(text) ? Number(text) : 0;
  if (count >= 1 && count <= maxProcesses) return count;
  problems.push(`PROCESSES must be a number from 1 to ${maxProcesses}, or auto for one per core`);
  return 1;
}

export function parsePublicUrl(raw: { PUBLIC_URL: string; PORT: number }, problems: string[]): string {
  if (raw.PUBLIC_URL === '') return `http://localhost:${raw.PORT}`;
  const url = URL.canParse(raw.PUBLIC_URL) ? new URL(raw.PUBLIC_URL) : null;
  if (
    url === null ||
    !/^https?:$/.test(url.protocol) ||
    url.pathname !== '/' ||
    url.search !== '' ||
    url.hash !== '' ||
    url.username !== ''
  )
    problems.push('PUBLIC_URL must be an origin such as https://perks.example.com, without a path');
  return url?.origin ?? '';
}

export function parseDatabaseUrl(text: string, problems: string[]): string | null {
  if (text === '') return null;
  try {
    parseServerList(text);
  } catch (err) {
    problems.push((err as Error).message);
  }
  return text;
}

/** Parses DATABASE_REPORTS_URL. Only one host is allowed, because its lag is measured. */
export function parseReplicaUrl(text: string, problems: string[]): string | null {
  if (text === '') return null;
  try {
    if (parseServerList(text).length > 1) problems.push('DATABASE_REPORTS_URL must have a single host');
  } catch (err) {
    problems.push((err as Error).message.replace('DATABASE_URL', 'DATABASE_REPORTS_URL'));
  }
  return text;
}

export function parseTrustProxy(text: string, problems: string[]): boolean | number | string[] {
  if (text === '') return false;
  if (/^\d+$/.test(text)) return Number(text);
  const nets = text.split(',').map((net) => net.trim());
  for (const net of nets)
    if (!isNet(net)) problems.push(`TRUST_PROXY contains "${net}", which is not an address or CIDR range`);
  return nets;
}

function isNet(text: string): boolean {
  try {
    proxyAddr.compile([text]);
    return /^[0-9a-fA-F.:/]+$/.test(text); // it also accepts names of ranges
  } catch {
    return false;
  }
}

export const parseAllowedNets = (text: string, problems: string[]): Net[] =>
  parseNets(text, (entry) =>
    problems.push(`WEBHOOK_ALLOW_NETS contains "${entry}", which is not a CIDR range such as 10.0.0.0/8`),
  );

/**
 * Parses USER_PEPPER. Returns the pepper that hashes user identifiers, followed by earlier peppers that are only used
 * to look up existing users.
 */
export function parsePeppers(text: string, problems: string[]): [string, ...string[]] {
  const [first = '', ...earlier] = text.split(',').map((part) => part.trim());
  const peppers: [string, ...string[]] = [first, ...earlier];
  if (peppers.some((pepper) => pepper.length < 32))
    problems.push(
      peppers.length === 1
        ? 'USER_PEPPER must be set, with at least 32 characters'
        : 'USER_PEPPER must be a comma-separated list of secrets with at least 32 characters each',
    );
  else if (new Set(peppers).size !== peppers.length) problems.push('USER_PEPPER contains the same secret twice');
  return peppers;
}

/**
 * Parses SECRETS_KEY. Returns the key with which secrets are encrypted, followed by earlier keys that are used only for
 * decryption.
 */
export function parseSecretsKeys(text: string, problems: string[]): [Buffer, ...Buffer[]] {
  const [first = '', ...earlier] = text.split(',').map((part) => part.trim());
  const keys: [Buffer, ...Buffer[]] = [
    Buffer.from(first, 'base64'),
    ...earlier.map((part) => Buffer.from(part, 'base64')),
  ];
  if (keys.some((key) => key.length !== 32))
    problems.push(
      keys.length === 1
        ? 'SECRETS_KEY must be 32 bytes in base64 (openssl rand -base64 32)'
        : 'SECRETS_KEY must be a comma-separated list of keys of 32 bytes in base64',
    );
  else if (keys.some((key, index) => keys.findIndex((other) => other.equals(key)) !== index))
    problems.push('SECRETS_KEY contains the same key twice');
  return keys;
}

export function parseTokenKeys(text: string, problems: string[]): TokenKey[] {
  if (text === '') {
    problems.push('TOKEN_KEYS must be set to "1:" and a secret of at least 32 characters');
    return [];
  }
  const keys: TokenKey[] = [];
  for (const part of text.split(',').map((entry) => entry.trim())) {
    const match = /^(\d{1,3}):([^:]{32,})$/.exec(part);
    const id = Number(match?.[1]);
    if (match?.[2] === undefined || id > 255)
      problems.push(
        'TOKEN_KEYS entries must have the form "1:secret", with an ID of 0–255 and a secret of at least 32 characters',
      );
    else if (keys.some((key) => key.id === id)) problems.push(`TOKEN_KEYS contains the id ${id} twice`);
    else keys.push({ id, secret: match[2] });
  }
  return keys;
}
