import { AppError } from '../../platform/errors.ts';
import { parseUrl } from '../../platform/lib/url.ts';
import { type Problem, problem } from '../../platform/problem.ts';
import type { SecretBox } from '../../platform/security/secret-box.ts';
import { checkUrl } from '../address-guard.ts';
import type { Endpoint } from '../endpoint-store.ts';
import { openHeaders, type SealedHeaders, sealHeaders } from '../signature.ts';
import { refusals, type UrlRules } from '../url-rules.ts';
import { mechanisms } from './kafka/sasl.ts';
import { type DestinationKind, kindOf, networkUrl, pullUrl } from './kinds.ts';

/*
 * A destination is stored in the existing columns of an endpoint. Its settings are encoded in the URL, such as
 * `nats://broker.example:4222/orders`, so that the delivery log, the audit log and endpoint health notice every change.
 * Its secrets are encrypted like custom headers, under names that no header can have.
 */

/** Settings of a destination by name, without its secrets. */
export type Settings = Readonly<Record<string, string | boolean>>;

/** Destination kind that uses each secret, by the name of the secret. */
export const secretNames = ['password', 'token', 'credentials', 'secret_access_key'] as const;
type SecretName = (typeof secretNames)[number];

type Format = readonly [pattern: RegExp, refusal: Problem];

const ascii = (max: number): Format => [new RegExp(`^[\\x21-\\x7e]{1,${max}}$`), problem('destinationAscii', { max })];

/** Format of the values of each setting, with the error that states it. */
const formats: Readonly<Record<string, Format>> = {
  subject: [/^(?!\$)[^\s.*>?#/\\%]+(\.[^\s.*>?#/\\%]+)*$/, problem('destinationSubject')],
  user: ascii(200),
  bus: [/^[A-Za-z0-9._-]{1,256}$/, problem('destinationName', { max: 256 })],
  bucket: [/^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/, problem('destinationBucket')],
  prefix: [/^(?!\/)(?!.*\.\.)[\w./=-]{1,200}$/, problem('destinationPrefix')],
  region: [/^[a-z0-9-]{1,40}$/, problem('destinationRegion')],
  access_key_id: ascii(128),
  topic: [/^(?!\.{1,2}$)[\w.-]{1,249}$/, problem('destinationName', { max: 249 })],
  client_id: ascii(100),
};

type Kind = {
  /** Required settings, not including the secrets. */
  required: readonly string[];
  optional: readonly string[];
  secrets: readonly SecretName[];
  /** Whether one of the secrets must be set. */
  needsSecret: boolean | 'with user';
};

/** Settings with a fixed set of values, of which the first is the default. */
export const choices = { mechanism: mechanisms, message_key: ['session', 'publisher'] } as const;
const hasChoices = (name: string): name is keyof typeof choices => Object.hasOwn(choices, name);

const kinds: Readonly<Record<DestinationKind, Kind>> = {
  pull: { required: [], optional: [], secrets: [], needsSecret: false },
  nats: {
    required: ['address', 'subject'],
    optional: ['tls', 'user'],
    secrets: ['password', 'token', 'credentials'],
    needsSecret: false,
  },
  kafka: {
    required: ['brokers', 'topic'],
    optional: ['tls', 'user', 'mechanism', 'message_key', 'client_id'],
    secrets: ['password'],
    needsSecret: 'with user',
  },
  sqs: {
    required: ['queue_url', 'region', 'access_key_id'],
    optional: [],
    secrets: ['secret_access_key'],
    needsSecret: true,
  },
  eventbridge: {
    required: ['bus', 'region', 'access_key_id'],
    optional: ['service_url'],
    secrets: ['secret_access_key'],
    needsSecret: true,
  },
  s3: {
    required: ['bucket', 'region', 'access_key_id'],
    optional: ['prefix', 'service_url'],
    secrets: ['secret_access_key'],
    needsSecret: true,
  },
};

/** Names of the settings and secrets of a kind, in the order of the form. */
export const settingsOfKind = (kind: DestinationKind): readonly string[] => [
  ...kinds[kind].required,
  ...kinds[kind].optional,
];
export const secretsOfKind = (kind: DestinationKind): readonly SecretName[] => kinds[kind].secrets;
export const isRequired = (kind: DestinationKind, name: string): boolean => kinds[kind].required.includes(name);

/** Returns the settings of a destination from its URL. */
export function settingsOf(text: string): Settings {
  const kind = kindOf(text);
  if (kind === 'http' || kind === 'pull') return {};
  const url = new URL(text);
  const path = decodeURIComponent(url.pathname.slice(1));
  const { tls, brokers, ...query } = Object.fromEntries(url.searchParams);
  const base = networkUrl(url).origin;
  switch (kind) {
    case 'nats':
      return { address: url.host, subject: path, tls: tls !== 'false', ...query };
    case 'kafka':
      return {
        brokers: [url.host, ...(brokers ? [brokers] : [])].join(','),
        topic: path,
        tls: tls !== 'false',
        ...query,
      };
    case 'sqs':
      return { queue_url: `${base}/${path}`, ...query };
    case 'eventbridge':
      return { bus: path, service_url: base, ...query };
    case 's3': {
      const [bucket = '', ...prefix] = path.split('/');
      return { bucket, prefix: prefix.join('/'), service_url: base, ...query };
    }
  }
}

/** Destination in a request body. */
export type DestinationInput = { kind: DestinationKind | 'http' } & {
  [name: string]: string | boolean | null | undefined;
};

/**
 * Reads a destination in a request body. Omitted or null secrets keep their stored value, unless the server or the user
 * changes. Otherwise, someone could change the server to one of their own and receive the secrets.
 * @throws AppError `invalid_endpoint` with the invalid settings
 */
export function readDestination(
  input: DestinationInput,
  { box, stored, rules }: { box: SecretBox; stored: Endpoint | null; rules: UrlRules },
): { url: string; headers: SealedHeaders } {
  const { kind } = input;
  if (kind === 'http' || (stored !== null && kindOf(stored.url) !== kind)) throw invalid('kind', problem('otherKind'));
  const url = urlOf(kind, input, rules);
  const isSameServer = stored !== null && identityOf(stored.url) === identityOf(url);
  const storedSecrets = isSameServer ? destinationSecrets(openHeaders(box, stored.headers)) : {};
  const secrets = readSecrets(kind, input, storedSecrets, new URL(url).searchParams.has('user'));
  return { url, headers: sealHeaders(box, headersOf(secrets)) };
}

/** Server and user of a destination. Stored secrets may be sent only to this server, for this user. */
function identityOf(text: string): string {
  const url = new URL(text);
  const { searchParams: query } = url;
  const names = ['brokers', 'tls', 'user', 'access_key_id'];
  return [url.protocol, url.host, ...names.map((name) => query.get(name))].join(' ');
}

/** Maximum length of a destination's URL, which contains its settings. */
const maxUrlLength = 2000;
/** Maximum number of bootstrap servers. */
const maxBrokers = 10;
/** Maximum length of a secret, in characters. A NATS credentials file has about 1,000. */
const maxSecretLength = 4000;

function readSecrets(
  kind: DestinationKind,
  input: DestinationInput,
  stored: Readonly<Record<string, string>>,
  hasUser: boolean,
): Record<string, string> {
  const { secrets: names, needsSecret } = kinds[kind];
  const secrets: Record<string, string> = {};
  for (const name of names) {
    const value = input[name] ?? stored[name];
    if (value === undefined || value === '') continue;
    const isUsable = typeof value === 'string' && value.length <= maxSecretLength && /^[\x20-\x7e\r\n]+$/.test(value);
    if (!isUsable) throw invalid(name);
    secrets[name] = value;
  }
  const [first] = names;
  const isMissing = first !== undefined && Object.keys(secrets).length === 0;
  if (isMissing && (needsSecret === 'with user' ? hasUser : needsSecret))
    throw invalid(first, problem('destinationSecret'));
  if (needsSecret === 'with user' && !hasUser && !isMissing) throw invalid('user', problem('destinationMissing'));
  return secrets;
}

/** Builds the URL of a destination from its settings, and checks its server like that of a webhook URL. */
function urlOf(kind: DestinationKind, input: DestinationInput, rules: UrlRules): string {
  const { required, optional, secrets } = kinds[kind];
  const knownNames = new Set<string>(['kind', ...required, ...optional, ...secrets]);
  for (const [name, value] of Object.entries(input))
    if (!knownNames.has(name) && value !== undefined) throw invalid(name, problem('destinationUnknown', { kind }));
  if (kind === 'pull') return pullUrl;
  const text = (name: string): string => {
    const value = input[name];
    const trimmed = typeof value === 'string' ? value.trim() : '';
    if (trimmed === '' && required.includes(name)) throw invalid(name, problem('destinationMissing'));
    const [pattern, refusal] = formats[name] ?? [];
    if (trimmed !== '' && pattern?.test(trimmed) === false) throw invalid(name, refusal);
    if (!hasChoices(name)) return trimmed;
    const options: readonly string[] = choices[name];
    if (trimmed !== '' && !options.includes(trimmed)) throw invalid(name);
    return trimmed || String(options[0]);
  };
  const { name, bases, path } = serverOf(kind, input, text);
  const hosts = bases.map((base) => {
    const checked = checkUrl(base, rules);
    if (!checked.ok) throw invalid(name, refusals[checked.reason]);
    return `${checked.url.hostname}${/:\d+$/.exec(hostIn(base))?.[0] ?? ''}`;
  });
  const [host, ...otherHosts] = hosts;
  const url = new URL(`${kind}://${host}/`);
  url.pathname = path.split('/').map(encodeURIComponent).join('/');
  if (otherHosts.length > 0) url.searchParams.set('brokers', otherHosts.join(','));
  for (const parameter of ['user', 'mechanism', 'message_key', 'client_id', 'region', 'access_key_id']) {
    if (!knownNames.has(parameter) || (parameter === 'mechanism' && text('user') === '')) continue;
    if (text(parameter) !== '') url.searchParams.set(parameter, text(parameter));
  }
  if (bases[0]?.startsWith('http:')) url.searchParams.set('tls', 'false');
  if (url.href.length > maxUrlLength) throw invalid(name);
  return url.href;
}

/** Returns the servers of a destination as HTTP URLs, the path, and the name of the setting that has the servers. */
function serverOf(kind: Exclude<DestinationKind, 'pull'>, input: DestinationInput, text: (name: string) => string) {
  const bare = (name: string, value: string): string => {
    const url = parseUrl(value);
    if (url === null || url.pathname !== '/' || url.search !== '' || url.hash !== '')
      throw invalid(name, problem('destinationServer'));
    return value;
  };
  const broker = (name: string, value: string, port: number): string => {
    const server = value.replace(/^(nats|tls|kafka):\/\//, '');
    const base = bare(name, `${input.tls === false ? 'http' : 'https'}://${server}`);
    return /:\d+$/.test(server) ? base : `${base}:${port}`;
  };
  const service = (name: string): string => bare('service_url', text('service_url') || `https://${name}/`);
  switch (kind) {
    case 'nats':
      return { name: 'address', bases: [broker('address', text('address'), 4222)], path: text('subject') };
    case 'kafka': {
      const servers = text('brokers')
        .split(',')
        .map((server) => server.trim());
      if (servers.length > maxBrokers) throw invalid('brokers');
      const bases = [...new Set(servers)].map((server) => broker('brokers', server, 9092));
      return { name: 'brokers', bases, path: text('topic') };
    }
    case 'sqs': {
      const url = parseUrl(text('queue_url'));
      const path = /^\/([\w-]+(?:\/[\w-]+)*(?:\.fifo)?)$/.exec(url?.pathname ?? '')?.[1];
      if (url === null || path === undefined || url.search !== '') throw invalid('queue_url', problem('queueUrl'));
      return { name: 'queue_url', bases: [text('queue_url')], path };
    }
    case 'eventbridge':
      return { name: 'service_url', bases: [service(`events.${text('region')}.amazonaws.com`)], path: text('bus') };
    case 's3': {
      const prefix = text('prefix').replace(/\/+$/, '');
      const path = prefix === '' ? text('bucket') : `${text('bucket')}/${prefix}`;
      return { name: 'service_url', bases: [service(`s3.${text('region')}.amazonaws.com`)], path };
    }
  }
}

/** Returns the host and port of an HTTP URL. Keeps an explicit default port, which `URL` would drop. */
const hostIn = (base: string): string => /^https?:\/\/([^/?#]+)/.exec(base)?.[1] ?? '';

const invalid = (name: string, message: Problem = problem('destinationValue')): AppError =>
  new AppError('invalid_endpoint', { details: [{ path: `/destination/${name}`, message }] });

const secretPrefix = ':';

const headersOf = (secrets: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(Object.entries(secrets).map(([name, value]) => [secretPrefix + name, value]));

/** Returns the secrets among the decrypted headers of an endpoint. */
export const destinationSecrets = (headers: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) =>
      name.startsWith(secretPrefix) ? [[name.slice(secretPrefix.length), value]] : [],
    ),
  );

/** Whether a stored header is a custom header rather than a destination secret. */
export const isCustomHeader = (name: string): boolean => !name.startsWith(secretPrefix);

/** Returns the destination of an endpoint in API format. Secrets are null if they are set, and omitted otherwise. */
export function destinationView({ url, headers }: Endpoint) {
  const secrets = secretNames.filter((name) => Object.hasOwn(headers, secretPrefix + name));
  return { kind: kindOf(url), ...settingsOf(url), ...Object.fromEntries(secrets.map((name) => [name, null])) };
}
