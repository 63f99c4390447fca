import type { AdEventPayloads } from '../../../packages/client/src/sdk.ts';
import { canKeepAlive, queryText, timeLimit } from './compat.ts';
import { SdkError } from './errors.ts';
import { toJson } from './json.ts';
import { callError } from './policy.ts';
import { tryCall } from './try-call.ts';

/** Timeout for a call, including reading the response body, in milliseconds. */
export const callTimeoutMs = 10_000;

/**
 * Session state. `selected` contains campaign IDs. Once the session is wrapped, `campaigns` contains the campaigns with
 * coupon codes.
 */
export type SessionView = { status: string } & AdEventPayloads['usp_confirmed'];

/** Selection change, as campaign IDs. */
export type SelectionChange = { selected: number[]; unselected: number[] };

export type Api = {
  fetchOffers: (query: Record<string, unknown>, body: unknown) => Promise<unknown>;
  select: (sessionId: string, campaignId: number, selected: boolean, pubUserId: string) => Promise<unknown>;
  updateSelection: (sessionId: string, change: SelectionChange, pubUserId: string) => Promise<unknown>;
  session: (sessionId: string, pubUserId: string) => Promise<SessionView>;
  /** Wraps a session. `change` is a selection change to apply first. */
  wrap: (sessionId: string, pubUserId: string, change?: SelectionChange) => Promise<SessionView>;
};

/**
 * Creates the API client (docs/reference/fetch-offers.md#request,
 * docs/reference/perks-and-wallet.md#user-selected-perks). Its methods reject with SdkError server_error,
 * connection_error or invalid_parameter.
 */
export function createApi(base: string, accountId: string): Api {
  const url = (path: string, query: Record<string, unknown> = {}): string => {
    const parameters = Object.entries({ ...query, api_key: accountId }).filter(
      ([, value]) => value !== undefined && value !== '',
    );
    return `${base}${path}?${queryText(parameters)}`;
  };
  const usp = (path: string): string => `/sdk/v4/usp/${path}.json`;
  const session = (id: string, pubUserId: string): string =>
    url(usp(`session/${encodeURIComponent(id)}`), { pub_user_id: pubUserId });

  return {
    fetchOffers: (query, body) => callJson('POST', url('/native/v4/offers.json', query), body),
    select: (id, campaignId, selected, pubUserId) =>
      callJson(
        'POST',
        url(usp(`${encodeURIComponent(id)}/${campaignId}/${selected ? 'select' : 'unselect'}`), {
          pub_user_id: pubUserId,
        }),
      ),
    updateSelection: (id, change, pubUserId) => callJson('PUT', session(id, pubUserId), change),
    session: async (id, pubUserId) => viewOf(await callJson('GET', session(id, pubUserId))),
    wrap: async (id, pubUserId, change) =>
      viewOf(await callJson('POST', session(id, pubUserId), { action: 'wrap', ...change })),
  };
}

/**
 * Sends a request that continues even if the page is unloaded.
 * @throws SdkError
 */
export async function callJson(method: string, url: string, body?: unknown): Promise<unknown> {
  const text = body === undefined ? null : bodyText(body);
  const init: RequestInit = {
    method,
    credentials: 'omit',
    cache: 'no-store',
    keepalive: canKeepAlive && (text?.length ?? 0) < 30_000,
    ...timeLimit(callTimeoutMs),
  };
  if (text !== null) Object.assign(init, { body: text, headers: { 'content-type': 'application/json' } });
  const { status, ok, content } = await exchange(url, init);
  if (ok && content !== undefined) return content;
  const reason = ok ? ' without JSON' : reasonOf(content);
  throw new SdkError('server_error', `The service responded with ${status}${reason}.`, status);
}

/** Sends a request and reads the response. `content` is the parsed body, or undefined if it is not JSON. */
async function exchange(url: string, init: RequestInit): Promise<{ status: number; ok: boolean; content: unknown }> {
  try {
    const response = await fetch(url, init);
    const text = await response.text();
    return { status: response.status, ok: response.ok, content: tryCall(() => JSON.parse(text)) };
  } catch (err) {
    const timedOut = err instanceof DOMException && /^(Timeout|Abort)Error$/.test(err.name);
    if (timedOut) throw new SdkError('connection_error', 'The service did not respond in time.');
    throw await callError(url, 'connection_error', 'The service is unreachable.');
  }
}

function bodyText(body: unknown): string {
  try {
    return toJson(body);
  } catch {
    throw new SdkError('invalid_parameter', 'The user payload cannot be written as JSON.');
  }
}

function reasonOf(content: unknown): string {
  const code = (content as { error?: { code?: unknown } } | undefined)?.error?.code;
  return typeof code === 'string' ? ` (${code})` : '';
}

function viewOf(content: unknown): SessionView {
  const data = (content as { data?: Partial<Record<keyof SessionView, unknown>> }).data ?? {};
  const selected = Array.isArray(data.selected) ? data.selected.filter((id) => typeof id === 'number') : [];
  const codes = Array.isArray(data.campaigns) ? { campaigns: data.campaigns } : {};
  return { status: String(data.status), selected, ...codes };
}
