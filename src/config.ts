import { join } from 'node:path';
import { ConfigError } from './config/config-error.ts';
import { type EventLogSetting, parseEventLog } from './config/event-log.ts';
import { type ImageStoreSetting, parseImageStore } from './config/image-store.ts';
import type { Net } from './config/nets.ts';
import { type OidcSetting, parseOidc } from './config/oidc.ts';
import {
  type HttpProxy,
  type MailFeedback,
  type MailSetting,
  parseHttpProxy,
  parseMail,
  parseMailFeedback,
  parseSyslog,
  type SyslogSetting,
} from './config/outgoing.ts';
import {
  parseAllowedNets,
  parseDatabaseUrl,
  parsePeppers,
  parseProcesses,
  parsePublicUrl,
  parseReplicaUrl,
  parseRoles,
  parseSecretsKeys,
  parseTokenKeys,
  parseTrustProxy,
  type Role,
  type TokenKey,
} from './config/parse.ts';
import { readVariables } from './config/schema.ts';
import { parseDataFiles, type StorageSetting } from './config/storage.ts';
import { parseTracing, type TracingSetting } from './config/tracing.ts';

export { configSchema } from './config/schema.ts';
export type { EventLogSetting, HttpProxy, ImageStoreSetting, Role, StorageSetting, TokenKey, TracingSetting };

export type Config = {
  roles: readonly Role[];
  /** Number of processes with the role `api` that share this port. */
  processes: number;
  host: string;
  port: number;
  /** Origin of the public URL, without a trailing slash. */
  publicUrl: string;
  trustProxy: boolean | number | string[];
  /** PostgreSQL URL, or null to use the embedded database. */
  databaseUrl: string | null;
  /** URL of a replica for reports, or null to read reports from the primary. */
  reportsUrl: string | null;
  /** Maximum lag of the replica before reports are read from the primary, in milliseconds. */
  reportsMaxLagMs: number;
  databasePoolSize: number;
  /** Memory for publishers that are loaded on first use, in MB. 0 loads all publishers at startup. */
  catalogueMemoryMb: number;
  commitTimeoutMs: number;
  /** Whether the process may start on the database schema of the next release. */
  allowNewerSchema: boolean;
  dataDir: string;
  tokenKeys: readonly TokenKey[];
  userPepper: string;
  /**
   * Earlier peppers. Users stored under an earlier pepper are still found and are then moved to the current one
   * (rotation).
   */
  earlierPeppers: readonly string[];
  /** Current key for encrypting secrets, 32 bytes. */
  secretsKey: Buffer;
  /** Earlier encryption keys, used only to decrypt secrets that were encrypted with them (rotation). */
  earlierSecretsKeys: readonly Buffer[];
  requireTwoFactor: 'none' | 'operators' | 'all';
  /** Mail server settings, or null to send no e-mails. */
  mail: MailSetting | null;
  /** Credentials with which mail providers report bounces, by provider. */
  mailFeedback: MailFeedback;
  /** Syslog server that receives audit log entries as they are written, or null to send none. */
  auditSyslog: SyslogSetting | null;
  /** OpenID Connect settings, or null to disable single sign-on. */
  oidc: OidcSetting | null;
  /** Whether dashboard users may sign in with a password. If false, they must use the OpenID provider. */
  passwordSignIn: boolean;
  logLevel: string;
  webhookAllowNets: readonly Net[];
  webhookAllowHttp: boolean;
  /** HTTP proxy for webhook calls, or null to send them directly. */
  webhookProxy: HttpProxy | null;
  /** Event log settings, or null to store tracking events directly in PostgreSQL. */
  eventLog: EventLogSetting | null;
  /** Access token for the metrics endpoint, or null to disable it. */
  metricsToken: string | null;
  /** Tracing settings, or null to disable tracing. */
  tracing: TracingSetting | null;
  workerConcurrency: number;
  imageCacheMb: number;
  imageCacheDir: string;
  imageCacheDiskMb: number;
  imageStore: ImageStoreSetting;
  /** Storage for data files, or null to export none. */
  dataFiles: StorageSetting | null;
  /** Path of the geolocation database, or null to use the bundled one. */
  geoipDb: string | null;
  retentionRawDays: number;
  retentionRollupDays: number;
  retentionDeliveryDays: number;
  shutdownTimeoutMs: number;
};

/** Secrets that every process requires, by environment variable. */
export type SecretVariables = { TOKEN_KEYS: string; USER_PEPPER: string; SECRETS_KEY: string };

/**
 * Reads and validates the environment variables.
 * @param env environment variables; empty strings count as unset
 * @param embeddedSecrets called only without DATABASE_URL, to supply the secrets that are not set in the environment
 * @throws ConfigError that lists all problems
 */
export function loadConfig(
  env: Record<string, string | undefined>,
  embeddedSecrets: (dataDir: string) => SecretVariables,
): Config {
  const problems: string[] = [];
  const raw = readVariables(env, problems);
  if (raw.DATABASE_URL === '' && !raw.ROLES.includes('migrate')) {
    const generatedSecrets = embeddedSecrets(raw.DATA_DIR);
    for (const name of ['TOKEN_KEYS', 'USER_PEPPER', 'SECRETS_KEY'] as const) raw[name] ||= generatedSecrets[name];
    // Allow loopback addresses, because the webhook receivers of the demo and of local trials run on this machine.
    raw.WEBHOOK_ALLOW_NETS = [raw.WEBHOOK_ALLOW_NETS, '127.0.0.0/8', '::1/128'].filter((nets) => nets !== '').join(',');
    raw.WEBHOOK_ALLOW_HTTP = true;
  }
  const config: Config = {
    roles: parseRoles(raw.ROLES, problems),
    processes: parseProcesses(raw.PROCESSES, problems),
    host: raw.HOST,
    port: raw.PORT,
    publicUrl: parsePublicUrl(raw, problems),
    trustProxy: parseTrustProxy(raw.TRUST_PROXY, problems),
    databaseUrl: parseDatabaseUrl(raw.DATABASE_URL, problems),
    reportsUrl: parseReplicaUrl(raw.DATABASE_REPORTS_URL, problems),
    reportsMaxLagMs: raw.DATABASE_REPORTS_MAX_LAG_S * 1000,
    databasePoolSize: raw.DATABASE_POOL_SIZE,
    catalogueMemoryMb: raw.CATALOGUE_MEMORY_MB,
    commitTimeoutMs: raw.COMMIT_TIMEOUT_MS,
    allowNewerSchema: raw.ALLOW_NEWER_SCHEMA,
    dataDir: raw.DATA_DIR,
    tokenKeys: [],
    userPepper: raw.USER_PEPPER,
    earlierPeppers: [],
    secretsKey: Buffer.alloc(0),
    earlierSecretsKeys: [],
    requireTwoFactor: raw.REQUIRE_TWO_FACTOR as Config['requireTwoFactor'],
    mail: parseMail({ url: raw.SMTP_URL, from: raw.MAIL_FROM }, problems),
    mailFeedback: parseMailFeedback(raw.MAIL_FEEDBACK, problems),
    auditSyslog: parseSyslog(raw.AUDIT_SYSLOG_URL, problems),
    oidc: parseOidc(raw, problems),
    passwordSignIn: raw.PASSWORD_SIGN_IN,
    logLevel: raw.LOG_LEVEL,
    webhookAllowNets: parseAllowedNets(raw.WEBHOOK_ALLOW_NETS, problems),
    webhookAllowHttp: raw.WEBHOOK_ALLOW_HTTP,
    webhookProxy: parseHttpProxy(raw.WEBHOOK_PROXY, problems),
    eventLog: parseEventLog(raw, problems),
    metricsToken: raw.METRICS_TOKEN === '' ? null : raw.METRICS_TOKEN,
    tracing: parseTracing(raw, problems),
    workerConcurrency: raw.WORKER_CONCURRENCY,
    imageCacheMb: raw.IMAGE_CACHE_MB,
    imageCacheDir: join(raw.DATA_DIR, 'image-cache'),
    imageCacheDiskMb: raw.IMAGE_CACHE_DISK_MB,
    imageStore: parseImageStore(
      { store: raw.IMAGE_STORE, accessKeyId: raw.S3_ACCESS_KEY_ID, secretAccessKey: raw.S3_SECRET_ACCESS_KEY },
      problems,
    ),
    dataFiles: parseDataFiles(raw, problems),
    geoipDb: raw.GEOIP_DB === '' ? null : raw.GEOIP_DB,
    retentionRawDays: raw.RETENTION_RAW_DAYS,
    retentionRollupDays: raw.RETENTION_ROLLUP_DAYS,
    retentionDeliveryDays: raw.RETENTION_DELIVERY_DAYS,
    shutdownTimeoutMs: raw.SHUTDOWN_TIMEOUT_S * 1000,
  };
  if (!config.roles.includes('migrate')) {
    config.tokenKeys = parseTokenKeys(raw.TOKEN_KEYS, problems);
    [config.userPepper, ...config.earlierPeppers] = parsePeppers(raw.USER_PEPPER, problems);
    [config.secretsKey, ...config.earlierSecretsKeys] = parseSecretsKeys(raw.SECRETS_KEY, problems);
    if (raw.DATABASE_URL !== '' && raw.PUBLIC_URL === '')
      problems.push('PUBLIC_URL must be set if DATABASE_URL is set, to the origin that clients use');
  } else if (config.databaseUrl === null && raw.DATABASE_URL === '')
    problems.push('DATABASE_URL is required for the role migrate');
  if (raw.METRICS_TOKEN !== '' && raw.METRICS_TOKEN.length < 32)
    problems.push('METRICS_TOKEN must have at least 32 characters');
  if (problems.length > 0) throw new ConfigError(problems);
  return config;
}
