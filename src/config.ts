import { join } from 'node:path';
import { type Static, Type } from '@sinclair/typebox';
import { envSchema } from 'env-schema';
import { type ImageStoreSetting, parseImageStore } from './catalog/images/store-setting.ts';
import { type HttpProxy, parseProxy } from './webhooks/dispatcher/send/proxy.ts';

const roles = ['api', 'worker', 'migrate'] as const;
export type Role = (typeof roles)[number];

/** Every variable the process reads. The README's table and `.env.example` are checked against this object. */
export const configSchema = Type.Object({
  ROLES: Type.String({
    default: 'api,worker',
    description: 'What this process does: api, worker, or both (comma list). migrate: apply migrations and exit.',
  }),
  HOST: Type.String({ default: '127.0.0.1', description: 'Address to listen on. The image sets 0.0.0.0.' }),
  PORT: Type.Integer({ default: 8080, minimum: 1, maximum: 65535, description: 'TCP port to listen on.' }),
  PUBLIC_URL: Type.String({
    default: '',
    description: 'Origin of every URL sent out (never the Host header). Default http://localhost:PORT.',
  }),
  TRUST_PROXY: Type.String({
    default: '',
    description:
      'Who may set X-Forwarded-For: number of proxy hops, or a comma list of addresses or CIDR nets. Empty: nobody.',
  }),
  DATABASE_URL: Type.String({
    default: '',
    description: 'PostgreSQL 14 or newer. Empty: an embedded PostgreSQL with the demo catalogue in DATA_DIR.',
  }),
  DATABASE_POOL_SIZE: Type.Integer({
    default: 12,
    minimum: 4,
    maximum: 200,
    description: 'Connections of one process (count).',
  }),
  DATA_DIR: Type.String({ default: '.data', description: 'Folder of the embedded database and its secrets.' }),
  TOKEN_KEYS: Type.String({
    default: '',
    description:
      'Keys that sign tracking tokens: "id:secret,id:secret", id 0–255, secret of 32 or more characters. The first signs, all verify.',
  }),
  USER_PEPPER: Type.String({
    default: '',
    description:
      'Secret (32 or more characters) that keys the hashes of end-user identifiers. Changing it forgets every user.',
  }),
  SECRETS_KEY: Type.String({
    default: '',
    description: 'Key that encrypts webhook secrets at rest: 32 bytes in base64.',
  }),
  LOG_LEVEL: Type.String({
    default: 'info',
    pattern: '^(fatal|error|warn|info|debug|trace|silent)$',
    description: 'fatal, error, warn, info, debug, trace or silent.',
  }),
  WEBHOOK_ALLOW_NETS: Type.String({
    default: '',
    description:
      'Nets (comma list of CIDRs) that webhooks may call although they are not public. The embedded demo adds loopback.',
  }),
  WEBHOOK_ALLOW_HTTP: Type.Boolean({
    default: false,
    description: 'Allow webhook URLs with http:. The embedded demo allows it.',
  }),
  WEBHOOK_PROXY: Type.String({
    default: '',
    description:
      'HTTP proxy (http://user:password@host:port) that webhooks go through, by CONNECT to the checked address. Empty: none.',
  }),
  METRICS_TOKEN: Type.String({
    default: '',
    description: 'Bearer token (32 or more characters) that opens GET /metrics. Empty: there is no such page.',
  }),
  WORKER_CONCURRENCY: Type.Integer({
    default: 512,
    minimum: 1,
    maximum: 5000,
    description: 'Webhook calls in flight in one worker (count). 60 % are kept for endpoints in good standing.',
  }),
  IMAGE_CACHE_MB: Type.Integer({
    default: 64,
    minimum: 1,
    maximum: 65536,
    description: 'Memory for pictures, originals and resized ones together (MiB).',
  }),
  IMAGE_CACHE_DISK_MB: Type.Integer({
    default: 256,
    minimum: 0,
    maximum: 1_048_576,
    description: 'Disk for resized pictures, below DATA_DIR (MiB). 0: none.',
  }),
  IMAGE_STORE: Type.String({
    default: '',
    description:
      'Where uploaded pictures are kept: empty: in PostgreSQL; the absolute path of a folder that all processes share; or s3://bucket/prefix?endpoint=https://…&region=….',
  }),
  S3_ACCESS_KEY_ID: Type.String({ default: '', description: 'Access key of the bucket that IMAGE_STORE names.' }),
  S3_SECRET_ACCESS_KEY: Type.String({ default: '', description: 'Secret of S3_ACCESS_KEY_ID.' }),
  GEOIP_DB: Type.String({
    default: '',
    description: 'MaxMind database (.mmdb) of countries or cities. Empty: the bundled one of countries.',
  }),
  RETENTION_RAW_DAYS: Type.Integer({
    default: 90,
    minimum: 32,
    maximum: 3650,
    description: 'Days that sessions and events are kept.',
  }),
  RETENTION_ROLLUP_DAYS: Type.Integer({
    default: 400,
    minimum: 32,
    maximum: 3650,
    description: 'Days that sums of reports are kept.',
  }),
  RETENTION_DELIVERY_DAYS: Type.Integer({
    default: 30,
    minimum: 8,
    maximum: 3650,
    description: 'Days that webhook deliveries and their attempts are kept.',
  }),
  SHUTDOWN_TIMEOUT_S: Type.Integer({
    default: 25,
    minimum: 1,
    maximum: 300,
    description: 'Seconds a stopping process may take to finish what is in flight.',
  }),
});

type RawConfig = Static<typeof configSchema>;

/** A token key: `id` travels inside the token, `secret` signs it. */
export type TokenKey = { id: number; secret: string };

export type Config = {
  roles: readonly Role[];
  host: string;
  port: number;
  /** Origin without a trailing slash. */
  publicUrl: string;
  trustProxy: boolean | number | string[];
  /** null: use the embedded database. */
  databaseUrl: string | null;
  databasePoolSize: number;
  dataDir: string;
  tokenKeys: readonly TokenKey[];
  userPepper: string;
  /** 32 bytes. */
  secretsKey: Buffer;
  logLevel: string;
  webhookAllowNets: string;
  webhookAllowHttp: boolean;
  /** null: calls go out directly. */
  webhookProxy: HttpProxy | null;
  /** null: no metrics are shown. */
  metricsToken: string | null;
  workerConcurrency: number;
  imageCacheMb: number;
  imageCacheDir: string;
  imageCacheDiskMb: number;
  imageStore: ImageStoreSetting;
  /** null: the bundled database. */
  geoipDb: string | null;
  retentionRawDays: number;
  retentionRollupDays: number;
  retentionDeliveryDays: number;
  shutdownTimeoutMs: number;
};

/** The three secrets a process cannot run without, in the spelling of their variables. */
export type SecretVariables = { TOKEN_KEYS: string; USER_PEPPER: string; SECRETS_KEY: string };

/** Thrown when the environment cannot be used; the message lists every problem, one a line. */
export class ConfigError extends Error {
  readonly problems: readonly string[];
  constructor(problems: readonly string[]) {
    super(
      `The configuration has ${problems.length} problem(s):\n${problems.map((problem) => `  - ${problem}`).join('\n')}`,
    );
    this.name = 'ConfigError';
    this.problems = problems;
  }
}

/**
 * Reads and checks the environment.
 * @param env variables as strings; empty ones count as absent
 * @param embeddedSecrets called only without DATABASE_URL, for the secrets the environment leaves out
 * @throws ConfigError naming all problems at once
 */
export function loadConfig(
  env: Record<string, string | undefined>,
  embeddedSecrets: (dataDir: string) => SecretVariables,
): Config {
  const problems: string[] = [];
  const raw = readVariables(env, problems);
  if (raw.DATABASE_URL === '' && !raw.ROLES.includes('migrate')) {
    const made = embeddedSecrets(raw.DATA_DIR);
    for (const name of ['TOKEN_KEYS', 'USER_PEPPER', 'SECRETS_KEY'] as const) raw[name] ||= made[name];
  }
  const config: Config = {
    roles: parseRoles(raw.ROLES, problems),
    host: raw.HOST,
    port: raw.PORT,
    publicUrl: parsePublicUrl(raw, problems),
    trustProxy: parseTrustProxy(raw.TRUST_PROXY, problems),
    databaseUrl: parseDatabaseUrl(raw.DATABASE_URL, problems),
    databasePoolSize: raw.DATABASE_POOL_SIZE,
    dataDir: raw.DATA_DIR,
    tokenKeys: [],
    userPepper: raw.USER_PEPPER,
    secretsKey: Buffer.from(raw.SECRETS_KEY, 'base64'),
    logLevel: raw.LOG_LEVEL,
    webhookAllowNets: raw.WEBHOOK_ALLOW_NETS,
    webhookAllowHttp: raw.WEBHOOK_ALLOW_HTTP,
    webhookProxy: parseWebhookProxy(raw.WEBHOOK_PROXY, problems),
    metricsToken: raw.METRICS_TOKEN === '' ? null : raw.METRICS_TOKEN,
    workerConcurrency: raw.WORKER_CONCURRENCY,
    imageCacheMb: raw.IMAGE_CACHE_MB,
    imageCacheDir: join(raw.DATA_DIR, 'image-cache'),
    imageCacheDiskMb: raw.IMAGE_CACHE_DISK_MB,
    imageStore: parseImageStore(
      { store: raw.IMAGE_STORE, accessKeyId: raw.S3_ACCESS_KEY_ID, secretAccessKey: raw.S3_SECRET_ACCESS_KEY },
      problems,
    ),
    geoipDb: raw.GEOIP_DB === '' ? null : raw.GEOIP_DB,
    retentionRawDays: raw.RETENTION_RAW_DAYS,
    retentionRollupDays: raw.RETENTION_ROLLUP_DAYS,
    retentionDeliveryDays: raw.RETENTION_DELIVERY_DAYS,
    shutdownTimeoutMs: raw.SHUTDOWN_TIMEOUT_S * 1000,
  };
  if (!config.roles.includes('migrate')) {
    config.tokenKeys = parseTokenKeys(raw.TOKEN_KEYS, problems);
    if (raw.USER_PEPPER.length < 32) problems.push('USER_PEPPER must be set, with 32 or more characters');
    if (config.secretsKey.length !== 32)
      problems.push('SECRETS_KEY must be 32 bytes in base64 (openssl rand -base64 32)');
  } else if (config.databaseUrl === null && raw.DATABASE_URL === '')
    problems.push('DATABASE_URL is required for the role migrate');
  if (raw.METRICS_TOKEN !== '' && raw.METRICS_TOKEN.length < 32)
    problems.push('METRICS_TOKEN must have 32 or more characters');
  if (problems.length > 0) throw new ConfigError(problems);
  return config;
}

/**
 * Variables with the schema's types and defaults; one that breaks its schema is reported and read as its default, so
 * that later checks still run.
 */
function readVariables(env: Record<string, string | undefined>, problems: string[]): RawConfig {
  const data: Record<string, string> = {};
  for (const name of Object.keys(configSchema.properties)) {
    const value = env[name]?.trim();
    if (value !== undefined && value !== '') data[name] = value;
  }
  try {
    return envSchema<RawConfig>({ schema: configSchema, data: { ...data }, env: false });
  } catch (err) {
    const { errors } = err as { errors?: { instancePath: string; message?: string }[] };
    if (errors === undefined) throw err;
    for (const { instancePath, message } of errors) {
      problems.push(`${instancePath.slice(1)} ${message ?? 'is invalid'}`);
      delete data[instancePath.slice(1)];
    }
    return envSchema<RawConfig>({ schema: configSchema, data, env: false });
  }
}

function parseRoles(text: string, problems: string[]): Role[] {
  const found: Role[] = [];
  for (const name of text.split(',').map((part) => part.trim())) {
    const role = roles.find((known) => known === name);
    if (role === undefined) problems.push(`ROLES has "${name}"; known are ${roles.join(', ')}`);
    else found.push(role);
  }
  return found;
}

function parsePublicUrl(raw: RawConfig, problems: string[]): string {
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

function parseDatabaseUrl(text: string, problems: string[]): string | null {
  if (text === '') return null;
  if (!URL.canParse(text) || !/^postgres(ql)?:$/.test(new URL(text).protocol))
    problems.push('DATABASE_URL must begin with postgres:// or postgresql://');
  return text;
}

function parseWebhookProxy(text: string, problems: string[]): HttpProxy | null {
  if (text === '') return null;
  try {
    return parseProxy(text);
  } catch (err) {
    problems.push(`WEBHOOK_PROXY: ${(err as Error).message}`);
    return null;
  }
}

function parseTrustProxy(text: string, problems: string[]): boolean | number | string[] {
  if (text === '') return false;
  if (/^\d+$/.test(text)) return Number(text);
  const nets = text.split(',').map((net) => net.trim());
  for (const net of nets)
    if (!/^[0-9a-fA-F.:]+(\/\d{1,3})?$/.test(net))
      problems.push(`TRUST_PROXY has "${net}", which is no address or CIDR net`);
  return nets;
}

function parseTokenKeys(text: string, problems: string[]): TokenKey[] {
  if (text === '') {
    problems.push('TOKEN_KEYS must be set ("1:" and a secret of 32 or more characters)');
    return [];
  }
  const keys: TokenKey[] = [];
  for (const part of text.split(',').map((entry) => entry.trim())) {
    const match = /^(\d{1,3}):([^:]{32,})$/.exec(part);
    const id = Number(match?.[1]);
    if (match?.[2] === undefined || id > 255)
      problems.push('TOKEN_KEYS entries must look like "1:secret" with id 0–255 and a secret of 32 or more characters');
    else if (keys.some((key) => key.id === id)) problems.push(`TOKEN_KEYS has the id ${id} twice`);
    else keys.push({ id, secret: match[2] });
  }
  return keys;
}
