import type { Executor } from '../platform/db/pool.ts';
import { t } from '../platform/i18n/messages.ts';
import { dayOfUuid7 } from '../platform/lib/uuid7.ts';
import { problem, wordProblem } from '../platform/problem.ts';
import { type DestinationKind, kindOf } from './destinations/kinds.ts';
import { endpointData, isoTime } from './raise-events.ts';

/** Key of an attempt in the delivery log. */
export type AttemptKey = { publisherId: number; deliveryId: string; generation: number };

/** Attempt that failed, or whose response disabled the endpoint. */
export type FailedAttempt = {
  deliveryId: string;
  at: Date;
  /** HTTP status of the response, or null if there was no response. */
  status: number | null;
  error: { class: string; message: string } | null;
  /** First line of the response body, without markup, control characters and secrets. Null if there is no text. */
  firstLine: string | null;
};

/** Maximum number of bytes of a response body in which its first line is searched. */
const maxReadBytes = 4096;
const maxLineLength = 200;

const keyOf = (deliveryId: string, generation: number): string => `${deliveryId} ${generation}`;

type FailedRow = {
  delivery_id: string;
  generation: number;
  at: Date;
  status_code: number | null;
  error_class: string | null;
  error_message: string | null;
  body: Buffer | null;
};

/**
 * Reads attempts from the delivery log. The log is the only place that stores responses, so a response whose delivery
 * was erased or has expired is not found.
 * @returns a function that returns the attempt of a key, or null if it is no longer stored
 */
export async function readFailedAttempts(
  executor: Executor,
  keys: readonly AttemptKey[],
): Promise<(key: AttemptKey | null) => FailedAttempt | null> {
  if (keys.length === 0) return () => null;
  const { rows } = await executor.query<FailedRow>({
    name: 'read_failed_attempts',
    text: `select a.delivery_id, a.generation, coalesce(a.finished_at, a.started_at) as at, a.status_code,
      a.error_class, a.error_message, substring(a.response_body from 1 for ${maxReadBytes}) as body
    from unnest($1::date[], $2::uuid[], $3::integer[], $4::integer[]) as k (day, delivery_id, generation, publisher_id)
    cross join lateral (
      select * from delivery_attempts a
      where a.day = k.day and a.delivery_id = k.delivery_id and a.generation = k.generation
        and a.publisher_id = k.publisher_id
      limit 1
    ) a`,
    values: [
      keys.map(({ deliveryId }) => dayOfUuid7(deliveryId)),
      keys.map(({ deliveryId }) => deliveryId),
      keys.map(({ generation }) => generation),
      keys.map(({ publisherId }) => publisherId),
    ],
  });
  const attempts = new Map(rows.map((row) => [keyOf(row.delivery_id, row.generation), attemptOf(row)]));
  return (key) => (key === null ? null : (attempts.get(keyOf(key.deliveryId, key.generation)) ?? null));
}

const attemptOf = (row: FailedRow): FailedAttempt => ({
  deliveryId: row.delivery_id,
  at: row.at,
  status: row.status_code,
  error: row.error_class === null ? null : { class: row.error_class, message: row.error_message ?? '' },
  firstLine: row.body === null ? null : firstLineOf(row.body),
});

/** Last failure of an endpoint, with the length of its outage. */
export type Outage = { key: AttemptKey | null; failures: number; since: Date | null };

/** Returns the outages of endpoints by endpoint ID. */
export async function readOutages(executor: Executor, endpointIds: readonly number[]): Promise<Map<number, Outage>> {
  const { rows } = await executor.query<{
    id: number;
    publisher_id: number;
    delivery_id: string | null;
    generation: number | null;
    failures: number;
    since: Date | null;
  }>(
    `select e.id, e.publisher_id, h.last_failed_delivery_id as delivery_id, h.last_failed_generation as generation,
      h.failures, h.first_failure_at as since
    from webhook_endpoints e join endpoint_health h on h.endpoint_id = e.id where e.id = any($1::integer[])`,
    [endpointIds],
  );
  return new Map(
    rows.map(({ id, publisher_id: publisherId, delivery_id: deliveryId, generation, failures, since }) => [
      id,
      { key: deliveryId === null ? null : { publisherId, deliveryId, generation: generation ?? 0 }, failures, since },
    ]),
  );
}

/** Endpoint whose transformation fails. `since` is an ISO 8601 time, and `data` describes the endpoint in an alert. */
export type FailedTransformation = {
  publisherId: number;
  endpointId: number;
  since: string;
  data: Readonly<Record<string, unknown>>;
};

/** Returns the enabled endpoints whose transformation fails. */
export async function readFailedTransformations(executor: Executor): Promise<FailedTransformation[]> {
  const { rows } = await executor.query<FailedTransformation>(
    `select publisher_id as "publisherId", endpoint_id as "endpointId", since, ${endpointData} || jsonb_build_object(
        'failing_since', since, 'failed_delivery_id', transformation_failed_delivery_id,
        'failed_generation', transformation_failed_generation
      ) as data
    from (
      select *, to_char(transformation_failed_at at time zone 'UTC', '${isoTime}') as since from endpoint_health
      where transformation_failed_at is not null
    ) h join webhook_endpoints e on e.id = h.endpoint_id
    where e.enabled and e.paused_at is null and e.deleted_at is null`,
  );
  return rows;
}

/** Credentials in a text: tokens of an authentication scheme, secrets, and values of fields such as `api_key`. */
const secretPatterns = [
  /\b([Bb]earer|[Bb]asic|[Dd]igest|[Tt]oken|BEARER|BASIC)\s+(?=[\w.~+/=-]*(?:[\d=]|[a-z][A-Z]))[\w.~+/=-]{6,}/g,
  /\b(whsec_|whsk_|pk_|sk_)[\w+/=-]{6,}/gi,
  /((?:authorization|api[-_]?key|passw(?:or)?d|secret|token|cookie)["']?\s*[:=]\s*["']?)[^\s"',;&}]*\d[^\s"',;&}]*/gi,
];

/** Hides credentials in a text of a receiver, which may echo the request. */
const withoutSecrets = (text: string): string =>
  secretPatterns.reduce(
    (masked, pattern) =>
      masked.replaceAll(pattern, (_, prefix: string) => `${prefix}${/[a-z]$/i.test(prefix) ? ' ' : ''}[…]`),
    text,
  );

/** Removes control characters, invisible characters and those that change the direction of text. */
const withoutControls = (text: string): string =>
  text
    .replaceAll(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ')
    .replaceAll(/\p{C}+/gu, '')
    .replaceAll(/\s+/g, ' ')
    .trim();

/** Returns the title of an HTML document, or its text if it has no title. */
const textOfHtml = (html: string): string =>
  /<title[^>]*>([^<]*)/i.exec(html)?.[1] ??
  html.replaceAll(/<(script|style)\b[^<]*/gi, ' ').replaceAll(/<[^>]*>?/g, '\n');

/** Matches e-mail addresses. They are hidden, because e-mails and chat messages remain after an erasure. */
const emailAddresses = /[^\s@<>"',;:()]{1,64}@[^\s@<>"',;:()]{1,255}/g;

/**
 * Returns the first human-readable line of a response body. For HTML, this is the title. JSON that spans several lines
 * is joined. The result has no markup, control characters, credentials or e-mail addresses, and at most 200 characters.
 * @returns null if the body contains no text
 */
export function firstLineOf(body: Buffer): string | null {
  const text = new TextDecoder().decode(body.subarray(0, maxReadBytes));
  const unreadable = text.match(/[\0\ufffd]/g)?.length ?? 0;
  if (unreadable > 1 && unreadable > text.length / 50) return null;
  const isHtml = /^\s*<(?:!doctype|html|head|body|\?xml)/i.test(text);
  const plain = isHtml ? textOfHtml(text) : text;
  const lines = plain.split(/[\n\r\u0085\u2028\u2029]/).map(withoutControls);
  const first = lines.find((line) => line !== '') ?? '';
  const line = withoutSecrets(first.length < 3 ? withoutControls(plain) : first).replaceAll(emailAddresses, '[…]');
  const characters = [...line];
  if (characters.length === 0) return null;
  return characters.length > maxLineLength ? `${characters.slice(0, maxLineLength).join('')}…` : line;
}

/**
 * Returns the text for the error of an attempt. Error messages are stored in English. Errors that their status and
 * class fully describe are translated to the reader's language.
 */
function attemptError(error: { class: string; message: string }, status: number | null): string {
  if (status !== null)
    return wordProblem(error.class === 'redirect' ? problem('redirected') : problem('answerWas', { status }));
  if (error.class === 'dns') return wordProblem(problem('hostUnresolved'));
  return error.message === 'blocked_address' ? wordProblem(problem('addressNotPublic')) : error.message;
}

/** Returns the error of an attempt with its class, unless the message begins with the class. */
export function classifiedError(error: { class: string; message: string }, status: number | null): string {
  const text = attemptError(error, status);
  return text.startsWith(`${error.class} `) ? text : `${error.class}: ${text}`;
}

/** Returns a sentence about the response or error of a failed attempt. */
export function answerText({ status, error, firstLine }: FailedAttempt): string {
  if (status === null) return t('webhooks.lastError', { error: error === null ? '' : attemptError(error, null) });
  return firstLine === null
    ? t('webhooks.lastStatus', { status })
    : t('webhooks.lastStatusAndLine', { status, line: firstLine });
}

type FixKind =
  | 'transformation'
  | 'destination'
  | 'url'
  | 'redirect'
  | 'method'
  | 'headers'
  | 'timeout'
  | 'rate'
  | 'certificate'
  | 'server'
  | 'other';

/** Fields of the endpoint form, by the kind of problem that they solve. Other problems are solved by the receiver. */
const fields: Partial<Record<FixKind, string>> = {
  transformation: 'transformation-body',
  url: 'url',
  redirect: 'url',
  method: 'method',
  headers: 'headers',
  timeout: 'deadline_s',
  rate: 'rate_limit_per_s',
};

const kindsByStatus: Readonly<Record<number, FixKind>> = {
  401: 'headers',
  403: 'headers',
  404: 'url',
  405: 'method',
  408: 'timeout',
  410: 'url',
  429: 'rate',
  504: 'timeout',
};

const kindsByClass: Readonly<Record<string, FixKind>> = {
  timeout: 'timeout',
  tls: 'certificate',
  dns: 'url',
  connect: 'url',
  blocked: 'url',
  transformation: 'transformation',
};

/** First fields of the destinations in the endpoint form. Pull endpoints have none. */
const destinationFields: Partial<Record<DestinationKind | 'http', string>> = {
  nats: 'nats-address',
  kafka: 'kafka-brokers',
  sqs: 'sqs-queue_url',
  eventbridge: 'eventbridge-bus',
  s3: 's3-bucket',
};

/** Problems whose cause is in the address or the login of a destination other than HTTP. */
const destinationProblems: ReadonlySet<FixKind> = new Set(['url', 'redirect', 'method', 'headers']);

function fixKindOf(url: string, failure: FailedAttempt): FixKind {
  const kind = answerKindOf(failure);
  return kindOf(url) !== 'http' && destinationProblems.has(kind) ? 'destination' : kind;
}

function answerKindOf({ status, error }: FailedAttempt): FixKind {
  if (status === null) return kindsByClass[error?.class ?? ''] ?? 'other';
  if (status >= 300 && status < 400) return 'redirect';
  return kindsByStatus[status] ?? (status >= 500 ? 'server' : 'other');
}

/**
 * Advice on how to fix an endpoint. `path` is that of the form field or the delivery to look at, relative to the
 * publisher's pages, and `link` is its label.
 */
export type Fix = { text: string; link: string; path: string };

/** @param endpoint ID and URL of the endpoint; the URL may be without its query string */
export function fixOf({ id, url }: { id: number; url: string }, failure: FailedAttempt): Fix {
  const kind = fixKindOf(url, failure);
  const field = kind === 'destination' ? destinationFields[kindOf(url)] : fields[kind];
  const label = kind === 'transformation' || kind === 'destination' ? kind : field;
  return {
    text: t('webhooks.fixText', { kind }),
    link: t('webhooks.fixLink', { field: field === undefined ? 'other' : (label ?? 'other') }),
    path: field === undefined ? `/deliveries/${failure.deliveryId}` : `/settings/webhooks/${id}#f-${field}`,
  };
}
