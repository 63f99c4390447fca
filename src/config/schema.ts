import { type Static, Type } from '@sinclair/typebox';
import { envSchema } from 'env-schema';

/** Every variable the process reads. The README's table and `.env.example` are checked against this object. */
export const configSchema = Type.Object({
  ROLES: Type.String({
    default: 'api,worker',
    description: 'What this process does: api, worker, or both (comma list). migrate: apply migrations and exit.',
  }),
  PROCESSES: Type.String({
    default: '1',
    description:
      'Processes that answer requests on PORT: 1 to 64, or auto (one for each core). From 2 on, the role worker has ' +
      'one of its own, and all are supervised.',
  }),
  HOST: Type.String({ default: '127.0.0.1', description: 'Address to listen on. The image sets 0.0.0.0.' }),
  PORT: Type.Integer({ default: 8080, minimum: 1, maximum: 65535, description: 'TCP port to listen on.' }),
  PUBLIC_URL: Type.String({
    default: '',
    description:
      'Origin of every URL sent out (never the Host header). Required with DATABASE_URL, else http://localhost:PORT.',
  }),
  TRUST_PROXY: Type.String({
    default: '',
    description:
      'Who may set X-Forwarded-For: number of proxy hops, or a comma list of addresses or CIDR nets. Empty: none.',
  }),
  DATABASE_URL: Type.String({
    default: '',
    description:
      'PostgreSQL 14 or newer; of several hosts (postgres://a:5432,b:5432/db) the writable one. Empty: an embedded ' +
      'one with the demo catalogue in DATA_DIR.',
  }),
  DATABASE_POOL_SIZE: Type.Integer({
    default: 12,
    minimum: 4,
    maximum: 200,
    description: 'Connections of one process (count).',
  }),
  COMMIT_TIMEOUT_MS: Type.Integer({
    default: 2000,
    minimum: 500,
    maximum: 60_000,
    description:
      'Milliseconds without a commit after which the database is unavailable (503) and a write ends its connection.',
  }),
  ALLOW_NEWER_SCHEMA: Type.Boolean({
    default: false,
    description: 'Whether to start on the schema of the next release, to go back by one release after an upgrade.',
  }),
  DATA_DIR: Type.String({ default: '.data', description: 'Folder of the embedded database and its secrets.' }),
  TOKEN_KEYS: Type.String({
    default: '',
    description:
      'Keys that sign tracking tokens: "id:secret,id:secret", id 0–255, secret of 32 or more ' +
      'characters. The first signs, all verify.',
  }),
  USER_PEPPER: Type.String({
    default: '',
    description:
      'Secrets (32 or more characters each, without a comma) that key the hashes of end-user identifiers, "new,old" ' +
      'during a rotation. Users are stored under the first, and found under all.',
  }),
  SECRETS_KEY: Type.String({
    default: '',
    description:
      'Keys that encrypt secrets at rest: 32 bytes in base64 each, "new,old" during a rotation. The first encrypts, ' +
      'all decrypt.',
  }),
  REQUIRE_TWO_FACTOR: Type.String({
    default: 'none',
    pattern: '^(none|operators|all)$',
    description: 'Dashboard users who must set up two-factor authentication: none, operators or all.',
  }),
  SMTP_URL: Type.String({
    default: '',
    description:
      'Server (smtp://user:password@host:587 or smtps:) that mails invitations and password resets. Empty: links are ' +
      'handed on by hand.',
  }),
  MAIL_FROM: Type.String({
    default: '',
    description: 'Sender of mails, such as Perkwire <perkwire@example.com>; required with SMTP_URL.',
  }),
  MAIL_FEEDBACK: Type.String({
    default: '',
    description:
      'Who reports bounces and complaints, with what shows that it is them: sendgrid=KEY mailgun=KEY ' +
      'postmark=PASSWORD ses=TOPIC_ARN, separated by spaces.',
  }),
  OIDC_ISSUER: Type.String({
    default: '',
    description: 'OpenID provider for single sign-on, by its issuer URL (https). Empty: none.',
  }),
  OIDC_CLIENT_ID: Type.String({ default: '', description: 'Client id at the provider.' }),
  OIDC_CLIENT_SECRET: Type.String({
    default: '',
    description: 'Client secret at the provider. Empty: a public client.',
  }),
  OIDC_SCOPES: Type.String({ default: 'openid email profile', description: 'Scopes asked for, separated by spaces.' }),
  OIDC_ALLOWED_DOMAINS: Type.String({
    default: '',
    description:
      'Domains (comma list) of e-mail addresses that may sign in at the provider; required with OIDC_ISSUER.',
  }),
  OIDC_EMAIL_VERIFIED_CLAIM: Type.String({
    default: 'email_verified',
    description: 'Claim that says that the e-mail address was verified.',
  }),
  OIDC_ROLE_CLAIM: Type.String({
    default: '',
    description: 'Claim that decides about roles, such as groups. Empty: roles are managed in the dashboard.',
  }),
  OIDC_ROLES: Type.String({
    default: '',
    description:
      'Values of that claim and their roles: "perks-ops=operator; shop-team=manager:12; help=role/Support:12", 12 ' +
      'being a publisher id. For each publisher the first match counts.',
  }),
  OIDC_DEFAULT_ROLE: Type.String({
    default: '',
    description: 'Role, such as analyst:12, of users without such a value. Empty: they are refused.',
  }),
  PASSWORD_SIGN_IN: Type.Boolean({
    default: true,
    description: 'Whether dashboard users can sign in with passwords; false only with OIDC_ISSUER.',
  }),
  AUDIT_SYSLOG_URL: Type.String({
    default: '',
    description:
      'Syslog receiver (tls://host:6514, tcp: or udp:, RFC 5424) that gets every entry of the audit log. Empty: none.',
  }),
  LOG_LEVEL: Type.String({
    default: 'info',
    pattern: '^(fatal|error|warn|info|debug|trace|silent)$',
    description: 'fatal, error, warn, info, debug, trace or silent.',
  }),
  WEBHOOK_ALLOW_NETS: Type.String({
    default: '',
    description: 'Private networks (comma list of CIDRs) that webhooks may call. The embedded demo adds loopback.',
  }),
  WEBHOOK_ALLOW_HTTP: Type.Boolean({
    default: false,
    description: 'Allow webhook URLs with http:. The embedded demo allows it.',
  }),
  WEBHOOK_PROXY: Type.String({
    default: '',
    description:
      'HTTP proxy (http://user:password@host:port) that webhooks go through, by CONNECT to the checked ' +
      'address. Empty: none.',
  }),
  EVENT_LOG_URL: Type.String({
    default: '',
    description:
      'Servers of a NATS JetStream (nats://user:password@a:4222,b:4222, or tls:) that take beacons and clicks before ' +
      'PostgreSQL.',
  }),
  EVENT_LOG_STREAM: Type.String({
    default: 'PERKWIRE_EVENTS',
    pattern: '^[A-Za-z0-9_-]{1,64}$',
    description: 'Stream of the event log; made at the first start. Each installation has its own.',
  }),
  EVENT_LOG_REPLICAS: Type.Integer({
    default: 0,
    minimum: 0,
    maximum: 5,
    description:
      'Servers that keep each message of the event log (count). 0: three of three servers or more, else one.',
  }),
  METRICS_TOKEN: Type.String({
    default: '',
    description: 'Bearer token (32 or more characters) for GET /metrics. Empty: no such route.',
  }),
  OTEL_EXPORTER_OTLP_ENDPOINT: Type.String({
    default: '',
    description: 'Collector (OTLP over HTTP, such as http://localhost:4318) that traces are sent to. Empty: no traces.',
  }),
  OTEL_EXPORTER_OTLP_HEADERS: Type.String({
    default: '',
    description: 'Headers for the collector: name=value,name=value.',
  }),
  OTEL_SERVICE_NAME: Type.String({ default: 'perkwire', description: 'Name of this service in traces.' }),
  OTEL_TRACES_SAMPLER: Type.String({
    default: 'parentbased_always_on',
    description: 'Which requests are traced, by the standard names, such as parentbased_traceidratio.',
  }),
  OTEL_TRACES_SAMPLER_ARG: Type.String({
    default: '1',
    description: 'Share of the requests that a traceidratio sampler takes, 0 to 1.',
  }),
  WORKER_CONCURRENCY: Type.Integer({
    default: 512,
    minimum: 1,
    maximum: 5000,
    description: 'Webhook calls in flight in one worker (count). 60 % are reserved for healthy endpoints.',
  }),
  IMAGE_CACHE_MB: Type.Integer({
    default: 64,
    minimum: 1,
    maximum: 65536,
    description: 'Memory cache of images, originals and resized together (MiB).',
  }),
  IMAGE_CACHE_DISK_MB: Type.Integer({
    default: 256,
    minimum: 0,
    maximum: 1_048_576,
    description: 'Disk cache of resized images, below DATA_DIR (MiB). 0: none.',
  }),
  IMAGE_STORE: Type.String({
    default: '',
    description:
      'Storage of uploaded images. Empty: PostgreSQL; or the absolute path of a folder that all ' +
      'processes share; or s3://bucket/prefix?endpoint=https://…&region=….',
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
    description: 'Days that report rollups are kept.',
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

export type Variables = Static<typeof configSchema>;

/**
 * Variables with the schema's types and defaults; one that breaks its schema is reported and read as its default, so
 * that later checks still run.
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
