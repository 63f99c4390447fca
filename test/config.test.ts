import { availableParallelism } from 'node:os';
import { describe, expect, test } from 'vitest';
import { ConfigError } from '../src/config/config-error.ts';
import { configSchema, loadConfig } from '../src/config.ts';

const databaseUrl = 'postgres://perkwire@localhost:5432/perkwire';
const secretsKey = Buffer.alloc(32, 7).toString('base64');
const baseEnv = {
  DATABASE_URL: databaseUrl,
  PUBLIC_URL: 'https://perks.example.com',
  TOKEN_KEYS: `1:${'a'.repeat(32)}`,
  USER_PEPPER: 'p'.repeat(32),
  SECRETS_KEY: secretsKey,
};

/** Secrets are only generated for the embedded database. */
const noSecrets = (): never => {
  throw new Error('embedded secrets were asked for although there is a DATABASE_URL');
};

function load(env: Record<string, string | undefined> = {}) {
  return loadConfig({ ...baseEnv, ...env }, noSecrets);
}

function problemsOf(env: Record<string, string | undefined>): readonly string[] {
  try {
    load(env);
  } catch (err) {
    if (err instanceof ConfigError) return err.problems;
    throw err;
  }
  return [];
}

/** Returns the names of the variables that the problems start with. */
const namesOf = (problems: readonly string[]) => problems.map((problem) => problem.split(' ', 1)[0]).sort();

describe('defaults', () => {
  test('apply to every variable that is not set', () => {
    expect(load()).toEqual({
      roles: ['api', 'worker'],
      processes: 1,
      host: '127.0.0.1',
      port: 8080,
      publicUrl: 'https://perks.example.com',
      trustProxy: false,
      databaseUrl,
      reportsUrl: null,
      reportsMaxLagMs: 60_000,
      databasePoolSize: 12,
      catalogueMemoryMb: 0,
      commitTimeoutMs: 2000,
      dataDir: '.data',
      tokenKeys: [{ id: 1, secret: 'a'.repeat(32) }],
      userPepper: 'p'.repeat(32),
      earlierPeppers: [],
      secretsKey: Buffer.alloc(32, 7),
      earlierSecretsKeys: [],
      requireTwoFactor: 'none',
      mail: null,
      mailFeedback: {},
      auditSyslog: null,
      oidc: null,
      passwordSignIn: true,
      logLevel: 'info',
      imageCacheDir: '.data/image-cache',
      imageCacheDiskMb: 256,
      imageStore: { kind: 'database' },
      dataFiles: null,
      webhookAllowNets: [],
      webhookAllowHttp: false,
      webhookProxy: null,
      metricsToken: null,
      tracing: null,
      eventLog: null,
      allowNewerSchema: false,
      workerConcurrency: 512,
      imageCacheMb: 64,
      geoipDb: null,
      retentionRawDays: 90,
      retentionRollupDays: 400,
      retentionDeliveryDays: 30,
      shutdownTimeoutMs: 25_000,
    });
  });

  test('apply to empty and blank variables too', () => {
    const names = Object.keys(configSchema.properties).filter((name) => !(name in baseEnv));
    expect(names.length).toBeGreaterThan(10);
    for (const blank of ['', '  ', '\t'])
      expect(load(Object.fromEntries(names.map((name) => [name, blank])))).toEqual(load());
  });

  test('require PUBLIC_URL with a database, or else derive it from the port', () => {
    expect(problemsOf({ PUBLIC_URL: '' })).toEqual([
      'PUBLIC_URL must be set if DATABASE_URL is set, to the origin that clients use',
    ]);
    const { TOKEN_KEYS, USER_PEPPER, SECRETS_KEY } = baseEnv;
    const embedded = loadConfig({ PORT: '9000' }, () => ({ TOKEN_KEYS, USER_PEPPER, SECRETS_KEY }));
    expect(embedded.publicUrl).toBe('http://localhost:9000');
    expect(load({ PORT: '9000', PUBLIC_URL: 'https://perks.example.com/' }).publicUrl).toBe(
      'https://perks.example.com',
    );
  });
});

describe('values', () => {
  test('are converted to the type that the code uses', () => {
    const config = load({ PORT: '9000', WEBHOOK_ALLOW_HTTP: 'true', SHUTDOWN_TIMEOUT_S: '3', ROLES: 'worker' });
    expect(config).toMatchObject({ port: 9000, webhookAllowHttp: true, shutdownTimeoutMs: 3000, roles: ['worker'] });
  });

  test('can be a number from 1 to 64, or auto for one per core, for PROCESSES', () => {
    expect(load({ PROCESSES: '4' }).processes).toBe(4);
    expect(load({ PROCESSES: 'auto' }).processes).toBe(Math.min(availableParallelism(), 64));
    for (const text of ['0', '1000', '65', '-2', '1.5', '2 cores', 'all'])
      expect(problemsOf({ PROCESSES: text }), text).toEqual([
        'PROCESSES must be a number from 1 to 64, or auto for one per core',
      ]);
  });

  test('can be a number of hops or a list of networks for TRUST_PROXY', () => {
    expect(load({ TRUST_PROXY: '2' }).trustProxy).toBe(2);
    expect(load({ TRUST_PROXY: '10.0.0.0/8, ::1' }).trustProxy).toEqual(['10.0.0.0/8', '::1']);
    for (const text of ['everyone', 'loopback', '10.0.0.0/99', '1.2.3.4.5', '::1, 10.0.0.0/33'])
      expect(namesOf(problemsOf({ TRUST_PROXY: text })), text).toEqual(['TRUST_PROXY']);
  });

  test('can be a list of networks for WEBHOOK_ALLOW_NETS', () => {
    expect(load({ WEBHOOK_ALLOW_NETS: '10.0.0.0/8, fd00::/8' }).webhookAllowNets.map(String)).toEqual([
      '10.0.0.0,8',
      'fd00::,8',
    ]);
    for (const text of ['10.0.0.1', '10.0.0.0/33', 'intranet', '10.0.0.0/8;fd00::/8'])
      expect(namesOf(problemsOf({ WEBHOOK_ALLOW_NETS: text })), text).toEqual(['WEBHOOK_ALLOW_NETS']);
  });

  test('can be a folder or a bucket for DATA_FILES_URL', () => {
    const keys = { S3_ACCESS_KEY_ID: 'id', S3_SECRET_ACCESS_KEY: 'secret' };
    expect(load({ DATA_FILES_URL: 'file:///var/data%20files' }).dataFiles).toEqual({
      kind: 'folder',
      path: '/var/data files',
    });
    expect(load({ DATA_FILES_URL: 's3://bucket/a/b?region=eu-central-1', ...keys }).dataFiles).toMatchObject({
      endpoint: 'https://s3.eu-central-1.amazonaws.com',
      prefix: 'a/b/',
    });
    for (const text of ['data', 'https://bucket', 'file://host/data', 'file:///', 's3://B'])
      expect(namesOf(problemsOf({ DATA_FILES_URL: text, ...keys })), text).toEqual(['DATA_FILES_URL']);
    expect(problemsOf({ DATA_FILES_URL: 's3://bucket?regoin=eu-central-1', ...keys })).toEqual([
      'DATA_FILES_URL contains the unknown parameter regoin; use endpoint and region only',
    ]);
    expect(problemsOf({ DATA_FILES_URL: 's3://bucket' })).toEqual([
      'S3_ACCESS_KEY_ID and S3_SECRET_ACCESS_KEY must be set if DATA_FILES_URL is a bucket',
    ]);
  });

  test('cannot combine migrate with other roles in ROLES', () => {
    expect(load({ ROLES: 'migrate' }).roles).toEqual(['migrate']);
    expect(problemsOf({ ROLES: 'api,migrate' })).toEqual([
      'ROLES must not combine migrate with other roles, because it applies migrations and exits',
    ]);
  });
});

describe('WEBHOOK_PROXY', () => {
  test('is a URL with or without credentials', () => {
    expect(load({ WEBHOOK_PROXY: 'https://us%20er:pa%3Ass@proxy.example' }).webhookProxy).toEqual({
      host: 'proxy.example',
      port: 443,
      secure: true,
      authorization: `Basic ${Buffer.from('us er:pa:ss').toString('base64')}`,
    });
    expect(load({ WEBHOOK_PROXY: 'http://[::1]:3128' }).webhookProxy).toEqual({
      host: '::1',
      port: 3128,
      secure: false,
      authorization: null,
    });
  });

  test.each(['proxy:3128', 'ftp://proxy', 'http://proxy/path', 'socks5://proxy:1080', 'http://a:%zz@proxy'])(
    '"%s" is rejected',
    (text) => {
      expect(namesOf(problemsOf({ WEBHOOK_PROXY: text }))).toEqual(['WEBHOOK_PROXY']);
    },
  );
});

describe('AUDIT_SYSLOG_URL', () => {
  test('specifies transport, host and port, with a default port for each transport', () => {
    const syslogOf = (url: string) => load({ AUDIT_SYSLOG_URL: url }).auditSyslog;
    expect(syslogOf('tls://logs.example.com')).toEqual({ transport: 'tls', host: 'logs.example.com', port: 6514 });
    expect(syslogOf('tcp://logs.example.com')).toEqual({ transport: 'tcp', host: 'logs.example.com', port: 601 });
    expect(syslogOf('udp://[::1]:5140')).toEqual({ transport: 'udp', host: '::1', port: 5140 });
  });

  test('is rejected if it does not specify a receiver', () => {
    for (const url of ['logs.example.com', 'http://logs', 'tls://', 'tcp://logs:0', 'udp://logs:70000', 'tcp://logs/a'])
      expect(namesOf(problemsOf({ AUDIT_SYSLOG_URL: url })), url).toEqual(['AUDIT_SYSLOG_URL']);
  });
});

describe('SMTP_URL', () => {
  test('specifies server, port, TLS and credentials, which may be percent-encoded', () => {
    const from = 'Perkwire <perkwire@example.com>';
    const mailOf = (url: string) => load({ SMTP_URL: url, MAIL_FROM: from }).mail;
    expect(mailOf('smtp://me%40example.com:p%3Aw@mail.example.com')).toEqual({
      host: 'mail.example.com',
      port: 587,
      secure: false,
      credentials: { user: 'me@example.com', password: 'p:w' },
      from,
    });
    expect(mailOf('smtps://mail.example.com')).toMatchObject({ port: 465, secure: true, credentials: null });
    for (const url of ['http://mail.example.com', 'smtp://us%er:x@mail.example.com', 'smtp://me:%zz@mail.example.com'])
      expect(namesOf(problemsOf({ SMTP_URL: url, MAIL_FROM: from })), url).toEqual(['SMTP_URL']);
    for (const sender of ['', 'nobody', 'a@example.com\r\nbcc: b@example.com'])
      expect(namesOf(problemsOf({ SMTP_URL: 'smtp://mail', MAIL_FROM: sender })), sender).toEqual(['MAIL_FROM']);
  });
});

describe('OIDC_ISSUER', () => {
  const needed = {
    OIDC_ISSUER: 'https://login.example.com',
    OIDC_CLIENT_ID: 'perkwire',
    OIDC_ALLOWED_DOMAINS: 'Example.com',
  };

  test('needs a client and allowed domains, and accepts role values with separators', () => {
    const OIDC_ROLES = 'CN=ops,OU=perks=operator; shop=manager:12; help=role/First line: day:12';
    const { oidc } = load({ ...needed, OIDC_ROLE_CLAIM: 'groups', OIDC_ROLES, PASSWORD_SIGN_IN: 'false' });
    expect(oidc).toMatchObject({ allowedDomains: ['example.com'], clientSecret: null, defaultGrant: null });
    expect(oidc?.grants).toEqual([
      { value: 'CN=ops,OU=perks', grant: { role: 'operator', publisherId: null } },
      { value: 'shop', grant: { role: 'manager', publisherId: 12 } },
      { value: 'help', grant: { role: { customRole: 'First line: day' }, publisherId: 12 } },
    ]);
    expect(namesOf(problemsOf({ OIDC_ISSUER: needed.OIDC_ISSUER }))).toEqual([
      'OIDC_ALLOWED_DOMAINS',
      'OIDC_CLIENT_ID',
    ]);
  });

  test.each([
    ['OIDC_ISSUER', { OIDC_ISSUER: 'http://login.example.com' }],
    ['OIDC_ISSUER', { OIDC_ISSUER: 'login.example.com' }],
    ['OIDC_SCOPES', { OIDC_SCOPES: 'email' }],
    ['OIDC_ALLOWED_DOMAINS', { OIDC_ALLOWED_DOMAINS: 'example.com, *' }],
    ['OIDC_ROLES', { OIDC_ROLE_CLAIM: 'groups', OIDC_ROLES: 'ops=operator; shop=manager' }],
    ['OIDC_ROLES', { OIDC_ROLE_CLAIM: 'groups' }],
    ['OIDC_DEFAULT_ROLE', { OIDC_DEFAULT_ROLE: 'operator:12' }],
  ])('reports an error in %s', (name, env) => {
    expect(namesOf(problemsOf({ ...needed, ...env }))).toEqual([name]);
  });

  test('is required if passwords are disabled', () => {
    expect(namesOf(problemsOf({ PASSWORD_SIGN_IN: 'false' }))).toEqual(['PASSWORD_SIGN_IN']);
  });
});

describe('configuration errors', () => {
  test('are all reported together in one error', () => {
    const problems = problemsOf({
      ROLES: 'api,cook',
      PORT: '70000',
      PUBLIC_URL: 'https://perks.example.com/shop',
      TRUST_PROXY: 'everyone',
      DATABASE_URL: 'mysql://localhost/perkwire',
      LOG_LEVEL: 'loud',
      TOKEN_KEYS: 'short',
      USER_PEPPER: 'short',
      SECRETS_KEY: 'short',
      WORKER_CONCURRENCY: 'many',
    });
    expect(namesOf(problems)).toEqual([
      'DATABASE_URL',
      'LOG_LEVEL',
      'PORT',
      'PUBLIC_URL',
      'ROLES',
      'SECRETS_KEY',
      'TOKEN_KEYS',
      'TRUST_PROXY',
      'USER_PEPPER',
      'WORKER_CONCURRENCY',
    ]);
  });

  test('are counted in the message and listed one per line', () => {
    const error = new ConfigError(['PORT must be <= 65535', 'LOG_LEVEL is unknown']);
    expect(error.message).toBe(
      'The configuration has 2 problems:\n  - PORT must be <= 65535\n  - LOG_LEVEL is unknown',
    );
  });

  test('do not contain secrets', () => {
    const secret = 'hunter2-hunter2';
    expect(problemsOf({ TOKEN_KEYS: secret, USER_PEPPER: secret, SECRETS_KEY: secret }).join('\n')).not.toContain(
      secret,
    );
  });
});

describe('secrets', () => {
  test('are required if DATABASE_URL is set', () => {
    expect(namesOf(problemsOf({ TOKEN_KEYS: undefined, USER_PEPPER: '', SECRETS_KEY: ' ' }))).toEqual([
      'SECRETS_KEY',
      'TOKEN_KEYS',
      'USER_PEPPER',
    ]);
  });

  test('are generated for the embedded database if they are not set', () => {
    const folders: string[] = [];
    const config = loadConfig({ DATA_DIR: '/tmp/somewhere', USER_PEPPER: 'g'.repeat(32) }, (dataDir) => {
      folders.push(dataDir);
      return { TOKEN_KEYS: `7:${'m'.repeat(32)}`, USER_PEPPER: 'm'.repeat(32), SECRETS_KEY: secretsKey };
    });
    expect(folders).toEqual(['/tmp/somewhere']);
    expect(config).toMatchObject({
      databaseUrl: null,
      userPepper: 'g'.repeat(32),
      tokenKeys: [{ id: 7, secret: 'm'.repeat(32) }],
    });
  });

  test('are not required for migrations, but a database is', () => {
    expect(loadConfig({ ROLES: 'migrate', DATABASE_URL: databaseUrl }, noSecrets).roles).toEqual(['migrate']);
    expect(() => loadConfig({ ROLES: 'migrate' }, noSecrets)).toThrow('DATABASE_URL is required for the role migrate');
  });
});

describe('traces', () => {
  const endpoint = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector:4318/' };

  test('are enabled by a collector endpoint, with headers and sampler in the standard variables', () => {
    const otelVariables = {
      OTEL_EXPORTER_OTLP_HEADERS: 'authorization=Bearer%20x, x-tenant=a',
      OTEL_TRACES_SAMPLER_ARG: '0.01',
    };
    expect(load({ ...endpoint, ...otelVariables, OTEL_TRACES_SAMPLER: 'parentbased_traceidratio' }).tracing).toEqual({
      endpoint: 'http://collector:4318',
      headers: { authorization: 'Bearer x', 'x-tenant': 'a' },
      serviceName: 'perkwire',
      sampler: 'parentbased_traceidratio',
      ratio: 0.01,
    });
  });

  test.each([
    ['OTEL_EXPORTER_OTLP_ENDPOINT', 'collector:4318'],
    ['OTEL_EXPORTER_OTLP_HEADERS', 'no pair'],
    ['OTEL_EXPORTER_OTLP_HEADERS', 'x=%'],
    ['OTEL_TRACES_SAMPLER', 'sometimes'],
    ['OTEL_TRACES_SAMPLER_ARG', '1 %'],
  ])('%s=%s is rejected', (name, value) => {
    expect(namesOf(problemsOf({ ...endpoint, [name]: value }))).toEqual([name]);
  });
});

describe('token keys', () => {
  const key = (letter: string) => letter.repeat(32);

  test('keep their order, so that the first signs and the others verify', () => {
    expect(load({ TOKEN_KEYS: `12:${key('n')}, 3:${key('o')}` }).tokenKeys).toEqual([
      { id: 12, secret: key('n') },
      { id: 3, secret: key('o') },
    ]);
  });

  test.each([
    ['an id above 255', `256:${key('a')}`],
    ['an id that is not a number', `x:${key('a')}`],
    ['a secret of 31 characters', `1:${'a'.repeat(31)}`],
    ['no id', key('a')],
    ['a trailing comma', `1:${key('a')},`],
    ['a duplicate id', `1:${key('a')},1:${key('b')}`],
  ])('with %s are rejected', (_, text) => {
    expect(namesOf(problemsOf({ TOKEN_KEYS: text }))).toEqual(['TOKEN_KEYS']);
  });

  test('may have the IDs 0 and 255', () => {
    expect(load({ TOKEN_KEYS: `0:${key('a')},255:${key('b')}` }).tokenKeys.map(({ id }) => id)).toEqual([0, 255]);
  });
});
