import { type Static, Type } from '@sinclair/typebox';
import { envSchema } from 'env-schema';

/**
 * All environment variables that the process reads. Tests check that `docs/configuration.md` and `.env.example` agree
 * with this schema.
 */
export const configSchema = Type.Object({
  ROLES: Type.String({
    default: 'api,worker',
    description:
      'Roles of this process, comma-separated: api and worker. The role migrate applies the migrations and exits.',
  }),
  PROCESSES: Type.String({
    default: '1',
    description: 'Number of api processes that share PORT: 1 to 64, or auto for one per core.',
  }),
  HOST: Type.String({ default: '127.0.0.1', description: 'Address to listen on. The container image sets 0.0.0.0.' }),
  PORT: Type.Integer({ default: 8080, minimum: 1, maximum: 65535, description: 'TCP port to listen on.' }),
  PUBLIC_URL: Type.String({
    default: '',
    description: 'Origin of all URLs in responses, such as https://perks.example.com. Required with DATABASE_URL.',
  }),
  TRUST_PROXY: Type.String({
    default: '',
    description: 'Proxies trusted to set X-Forwarded-For: their number, addresses or CIDR ranges. Empty trusts none.',
  }),
  DATABASE_URL: Type.String({
    default: '',
    description: 'Connection URL of PostgreSQL 14 or newer. Empty starts an embedded demo database.',
  }),
  DATABASE_REPORTS_URL: Type.String({
    default: '',
    description: 'Connection URL of a replica from which reports are read. Empty reads them from DATABASE_URL.',
  }),
  DATABASE_REPORTS_MAX_LAG_S: Type.Integer({
    default: 60,
    minimum: 5,
    maximum: 86_400,
    description: 'Maximum lag of the replica before reports are read from DATABASE_URL, in seconds.',
  }),
  DATABASE_POOL_SIZE: Type.Integer({
    default: 12,
    minimum: 4,
    maximum: 200,
    description: 'Connection pool size for requests, per process.',
  }),
  CATALOGUE_MEMORY_MB: Type.Integer({
    default: 0,
    minimum: 0,
    maximum: 1_048_576,
    description: 'Memory for publishers that are loaded on first use, in MB per process. 0 loads all at startup.',
  }),
  COMMIT_TIMEOUT_MS: Type.Integer({
    default: 2000,
    minimum: 500,
    maximum: 60_000,
    description: 'Time without a commit before requests get 503, in milliseconds.',
  }),
  ALLOW_NEWER_SCHEMA: Type.Boolean({
    default: false,
    description: 'Whether to start with the schema of the next release, to roll back one release after an upgrade.',
  }),
  DATA_DIR: Type.String({
    default: '.data',
    description: 'Directory of the embedded database, its generated secrets and the image cache.',
  }),
  TOKEN_KEYS: Type.String({
    default: '',
    description: 'Keys for signing tracking tokens: "id:secret,id:secret". The first key signs, all keys verify.',
  }),
  USER_PEPPER: Type.String({
    default: '',
    description: 'Secrets for hashing user identifiers, comma-separated. The first hashes new data.',
  }),
  SECRETS_KEY: Type.String({
    default: '',
    description: 'Keys that encrypt secrets at rest, comma-separated. The first key encrypts, all keys decrypt.',
  }),
  REQUIRE_TWO_FACTOR: Type.String({
    default: 'none',
    pattern: '^(none|operators|all)$',
    description: 'Dashboard users who must set up two-factor authentication: none, operators or all.',
  }),
  SMTP_URL: Type.String({
    default: '',
    description: 'Mail server, such as smtp://user:password@host:587 or smtps://host. Empty sends no mail.',
  }),
  MAIL_FROM: Type.String({
    default: '',
    description: 'Sender address, such as Perkwire <perkwire@example.com>. Required with SMTP_URL.',
  }),
  MAIL_FEEDBACK: Type.String({
    default: '',
    description:
      'Credentials for bounce and complaint reports: sendgrid=KEY mailgun=KEY postmark=PASSWORD ses=TOPIC_ARN.',
  }),
  OIDC_ISSUER: Type.String({
    default: '',
    description: 'Issuer URL (https) of the OpenID Connect provider. Empty disables single sign-on.',
  }),
  OIDC_CLIENT_ID: Type.String({ default: '', description: 'Client ID at the provider.' }),
  OIDC_CLIENT_SECRET: Type.String({
    default: '',
    description: 'Client secret at the provider. Empty for a public client.',
  }),
  OIDC_SCOPES: Type.String({ default: 'openid email profile', description: 'Requested scopes, separated by spaces.' }),
  OIDC_ALLOWED_DOMAINS: Type.String({
    default: '',
    description: 'E-mail domains of users who may use single sign-on, comma-separated. Required with OIDC_ISSUER.',
  }),
  OIDC_EMAIL_VERIFIED_CLAIM: Type.String({
    default: 'email_verified',
    description: 'Claim that states whether the e-mail address is verified.',
  }),
  OIDC_ROLE_CLAIM: Type.String({
    default: '',
    description: 'Claim that determines roles, such as groups. If empty, roles are managed in the dashboard.',
  }),
  OIDC_ROLES: Type.String({
    default: '',
    description:
      'Roles by claim value, such as "perks-ops=operator; shop-team=manager:12", where 12 is a publisher ID.',
  }),
  OIDC_DEFAULT_ROLE: Type.String({
    default: '',
    description: 'Role for users without a matching claim value, such as analyst:12. Empty rejects them.',
  }),
  PASSWORD_SIGN_IN: Type.Boolean({
    default: true,
    description: 'Whether dashboard users can sign in with a password. Can be false only with OIDC_ISSUER.',
  }),
  AUDIT_SYSLOG_URL: Type.String({
    default: '',
    description:
      'Syslog server (RFC 5424) for audit log entries: tls://host:6514, tcp://host or udp://host. Empty sends none.',
  }),
  LOG_LEVEL: Type.String({
    default: 'info',
    pattern: '^(fatal|error|warn|info|debug|trace|silent)$',
    description: 'Minimum log level: fatal, error, warn, info, debug, trace or silent.',
  }),
  WEBHOOK_ALLOW_NETS: Type.String({
    default: '',
    description:
      'Private networks that webhooks may call, as comma-separated CIDR ranges. The embedded demo adds loopback.',
  }),
  WEBHOOK_ALLOW_HTTP: Type.Boolean({
    default: false,
    description: 'Whether webhook URLs may use http:. The embedded demo allows it.',
  }),
  WEBHOOK_PROXY: Type.String({
    default: '',
    description: 'HTTP CONNECT proxy for webhooks, such as http://user:password@host:3128. Empty connects directly.',
  }),
  EVENT_LOG_URL: Type.String({
    default: '',
    description: 'NATS JetStream servers, such as nats://a:4222,b:4222 or tls://a:4222. Empty disables the event log.',
  }),
  EVENT_LOG_STREAM: Type.String({
    default: 'PERKWIRE_EVENTS',
    pattern: '^[A-Za-z0-9_-]{1,64}$',
    description: 'Stream name, created at the first start. Each installation needs its own stream.',
  }),
  EVENT_LOG_REPLICAS: Type.Integer({
    default: 0,
    minimum: 0,
    maximum: 5,
    description: 'Replicas of each message. 0 means 3 with at least three servers, otherwise 1.',
  }),
  METRICS_TOKEN: Type.String({
    default: '',
    description: 'Bearer token for GET /metrics, at least 32 characters. Empty disables the route.',
  }),
  OTEL_EXPORTER_OTLP_ENDPOINT: Type.String({
    default: '',
    description: 'OTLP/HTTP collector that receives traces, such as http://localhost:4318. Empty disables tracing.',
  }),
  OTEL_EXPORTER_OTLP_HEADERS: Type.String({
    default: '',
    description: 'HTTP headers for the collector: name=value,name=value.',
  }),
  OTEL_SERVICE_NAME: Type.String({ default: 'perkwire', description: 'Service name in traces.' }),
  OTEL_TRACES_SAMPLER: Type.String({
    default: 'parentbased_always_on',
    description: 'OpenTelemetry sampler, such as parentbased_traceidratio.',
  }),
  OTEL_TRACES_SAMPLER_ARG: Type.String({
    default: '1',
    description: 'Sampling ratio for the traceidratio samplers, from 0 to 1.',
  }),
  WORKER_CONCURRENCY: Type.Integer({
    default: 512,
    minimum: 1,
    maximum: 5000,
    description: 'Maximum number of concurrent webhook calls per worker. 60% are reserved for healthy endpoints.',
  }),
  IMAGE_CACHE_MB: Type.Integer({
    default: 64,
    minimum: 1,
    maximum: 65536,
    description: 'Memory cache for original and resized images, in MiB.',
  }),
  IMAGE_CACHE_DISK_MB: Type.Integer({
    default: 256,
    minimum: 0,
    maximum: 1_048_576,
    description: 'Disk cache for resized images in DATA_DIR, in MiB. 0 disables it.',
  }),
  IMAGE_STORE: Type.String({
    default: '',
    description:
      'Image storage: an absolute path, or s3://bucket/prefix?endpoint=https://…&region=…. Empty uses PostgreSQL.',
  }),
  S3_ACCESS_KEY_ID: Type.String({ default: '', description: 'Access key of the S3 buckets.' }),
  S3_SECRET_ACCESS_KEY: Type.String({ default: '', description: 'Secret access key of the S3 buckets.' }),
  DATA_FILES_URL: Type.String({
    default: '',
    description:
      'Folder or bucket for hourly data files: file:///path or s3://bucket/prefix?endpoint=https://…. Empty: none.',
  }),
  GEOIP_DB: Type.String({
    default: '',
    description: 'MaxMind country or city database (.mmdb). Empty uses the bundled country database.',
  }),
  RETENTION_RAW_DAYS: Type.Integer({
    default: 90,
    minimum: 32,
    maximum: 3650,
    description: 'Retention of sessions and events, in days.',
  }),
  RETENTION_ROLLUP_DAYS: Type.Integer({
    default: 400,
    minimum: 32,
    maximum: 3650,
    description: 'Retention of report rollups, in days.',
  }),
  RETENTION_DELIVERY_DAYS: Type.Integer({
    default: 30,
    minimum: 8,
    maximum: 3650,
    description: 'Retention of webhook deliveries and their attempts, in days.',
  }),
  SHUTDOWN_TIMEOUT_S: Type.Integer({
    default: 25,
    minimum: 1,
    maximum: 300,
    description: 'Maximum shutdown time, including requests and webhook calls in flight, in seconds.',
  }),
});

export type Variables = Static<typeof configSchema>;

/**
 * Reads the environment variables with the types and defaults of the schema. An invalid variable is reported and
 * replaced with its default, so that later checks still run.
 */
export function readVariables(env: Record<string, string | undefined>, problems: string[]): Variables {
  const data: Record<string, string> = {};
  for (const name of Object.keys(configSchema.properties)) {
    const value = env[name]?.trim();
    if (value !== undefined && value !== '') data[name] = value;
  }
  try {
    return envSchema<Variables>({ schema: configSchema, data: { ...data }, env: false });
  } catch (err) {
    const { errors } = err as { errors?: { instancePath: string; message?: string }[] };
    if (errors === undefined) throw err;
    for (const { instancePath, message } of errors) {
      problems.push(`${instancePath.slice(1)} ${message ?? 'is invalid'}`);
      delete data[instancePath.slice(1)];
    }
    return envSchema<Variables>({ schema: configSchema, data, env: false });
  }
}
