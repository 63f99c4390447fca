import type { Executor } from '../db/pool.ts';
import { AppError } from '../errors.ts';
import type { SecretBox } from '../security/secret-box.ts';
import { type BlockReason, checkUrl, type Net } from './dispatcher/address-guard.ts';
import type { Method } from './dispatcher/compose.ts';
import { holdDisabled } from './dispatcher/hold.ts';
import { createEndpointSecret, type SealedSecrets } from './endpoint-secrets.ts';

/** What publishers can be told of. */
export const webhookEvents = ['usp.selection'] as const;
export type WebhookEvent = (typeof webhookEvents)[number];

export const isWebhookEvent = (name: string): name is WebhookEvent => (webhookEvents as readonly string[]).includes(name);

/** Where a publisher is told of an event. One for each event. */
export type Endpoint = {
  event: WebhookEvent;
  url: string;
  method: Method;
  enabled: boolean;
  /** `gone`: the receiver answered 410. null while it is enabled, and when it was disabled by hand. */
  disabledReason: string | null;
  createdAt: Date;
  updatedAt: Date;
  secrets: SealedSecrets;
  deadlineMs: number;
};

export type EndpointInput = {
  publisherId: number;
  event: WebhookEvent;
  url: string;
  method: Method;
  enabled: boolean;
  nowMs: number;
};

type Row = {
  event: WebhookEvent;
  url: string;
  method: Method;
  enabled: boolean;
  disabled_reason: string | null;
  created_at: Date;
  updated_at: Date;
  secret_sealed: Buffer;
  previous_secret_sealed: Buffer | null;
  deadline_ms: number;
};

const columns = `event, url, method, enabled, disabled_reason, created_at, updated_at, secret_sealed, deadline_ms,
  case when previous_secret_until > now() then previous_secret_sealed end as previous_secret_sealed`;

const endpointOf = (row: Row): Endpoint => ({
  event: row.event,
  url: row.url,
  method: row.method,
  enabled: row.enabled,
  disabledReason: row.disabled_reason,
  createdAt: row.created_at,
  updatedAt: row.updated_at,
  secrets: { current: row.secret_sealed, previous: row.previous_secret_sealed },
  deadlineMs: row.deadline_ms,
});

/**
 * Creates a publisher's endpoint for an event, or changes it; a changed one keeps its secret. Enabling it clears the
 * reason why it was disabled; disabling it holds its waiting deliveries, which stay held.
 * @returns `secret` (`whsec_…`) only when it was created: it is shown this once
 */
export async function saveEndpoint(
  executor: Executor,
  box: SecretBox,
  { publisherId, event, url, method, enabled, nowMs }: EndpointInput,
): Promise<{ endpoint: Endpoint; secret: string | null }> {
  const { secret, sealed } = createEndpointSecret(box);
  const { rows } = await executor.query<Row & { created: boolean }>(
    `insert into webhook_endpoints as e (publisher_id, event, url, method, enabled, secret_sealed, created_at, updated_at)
    values ($1, $2, $3, $4, $5, $6, $7, $7)
    on conflict (publisher_id, event) do update set url = excluded.url, method = excluded.method, enabled = excluded.enabled,
      disabled_reason = case when not excluded.enabled then e.disabled_reason end, updated_at = excluded.updated_at
    returning ${columns}, e.xmax = 0 as created`,
    [publisherId, event, url, method, enabled, sealed, new Date(nowMs)],
  );
  const row = rows[0] as (typeof rows)[number];
  if (!enabled) await holdDisabled(executor);
  return { endpoint: endpointOf(row), secret: row.created ? secret : null };
}

/** A publisher's endpoint for an event; null when there is none. */
export async function findEndpoint(executor: Executor, publisherId: number, event: WebhookEvent): Promise<Endpoint | null> {
  const { rows } = await executor.query<Row>(`select ${columns} from webhook_endpoints where publisher_id = $1 and event = $2`, [
    publisherId,
    event,
  ]);
  return rows[0] === undefined ? null : endpointOf(rows[0]);
}

export type UrlRules = { allowHttp: boolean; allowNets: readonly Net[] };

/** The longest URL of an endpoint (characters). */
export const maxUrlLength = 2000;

const refusals: Record<BlockReason, string> = {
  invalid_url: 'must be an absolute URL, percent-encoded, without blanks',
  scheme_not_allowed: 'must begin with https://',
  https_required: 'must begin with https://',
  credentials_in_url: 'must not hold a user name or password',
  port_not_allowed: 'must use port 80, 443 or one from 1024',
  blocked_address: 'must not name an address that is not public',
};

/**
 * What can be said of an endpoint's URL before it is called.
 * @throws AppError `invalid_endpoint`, with what is wrong
 */
export function requireUsableUrl(url: string, rules: UrlRules): void {
  const checked = checkUrl(url, rules);
  if (!checked.ok) throw invalidUrl(refusals[checked.reason]);
  // The URL parser forgives blanks and other spellings of the scheme; what is stored is what will be called.
  if (!/^https?:\/\/\S+$/.test(url)) throw invalidUrl(refusals.invalid_url);
  if (url.length > maxUrlLength) throw invalidUrl(`must be at most ${maxUrlLength} characters long`);
}

const invalidUrl = (message: string): AppError => new AppError('invalid_endpoint', { details: [{ path: '/url', message }] });
