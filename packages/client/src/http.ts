import { ConnectionError, InvalidParameterError } from './errors.ts';

/** Subset of the `fetch` signature that the client needs, so that any implementation can be used. */
export type FetchLike = (url: string, init: FetchInit) => Promise<{ status: number; text: () => Promise<string> }>;

export type FetchInit = {
  method: 'GET' | 'POST';
  headers: Record<string, string>;
  body?: string;
  redirect: 'follow' | 'manual';
  signal: AbortSignal;
};

export type TransportOptions = {
  /** Timeout for the whole exchange, from connecting to reading the body, in milliseconds. Default: 10,000. */
  timeoutMs?: number;
  /** `fetch` implementation. Defaults to the platform's `fetch`. */
  fetch?: FetchLike;
};

const defaultTimeoutMs = 10_000;

/** Maximum delay that JavaScript timers support, in milliseconds. */
const maxTimeoutMs = 2 ** 31 - 1;

/**
 * Sends a request and reads the response, within a timeout.
 * @throws InvalidParameterError for an invalid `timeoutMs`; ConnectionError if the exchange did not complete
 */
export async function exchange(
  url: string,
  init: Omit<FetchInit, 'signal'>,
  { timeoutMs = defaultTimeoutMs, fetch = platformFetch }: TransportOptions,
): Promise<{ status: number; text: string }> {
  if (!(timeoutMs > 0 && timeoutMs <= maxTimeoutMs))
    throw new InvalidParameterError('timeoutMs', 'must be a positive number of milliseconds');
  const controller = new AbortController();
  const exchanged = async () => {
    const response = await fetch(url, { ...init, signal: controller.signal });
    return { status: response.status, text: await response.text() };
  };
  let timer: ReturnType<typeof setTimeout> | undefined;
  const timedOut = new Promise<never>((_, reject) => {
    // Reject here as well, because not every fetch implementation honours the abort signal.
    timer = setTimeout(() => {
      reject(new Error(`No complete response within ${timeoutMs} ms.`));
      controller.abort();
    }, timeoutMs);
  });
  try {
    return await Promise.race([exchanged(), timedOut]);
  } catch (cause) {
    throw new ConnectionError('The request failed to complete.', cause);
  } finally {
    clearTimeout(timer);
  }
}

const platformFetch: FetchLike = (url, init) => globalThis.fetch(url, init);

/**
 * Returns the `User-Agent` header. Returns no headers in browsers, which either ignore this header or send a preflight
 * request because of it. Characters that are not allowed in a header are replaced with "?". The request body contains
 * the original value.
 */
export function userAgentHeader(userAgent: string | undefined): Record<string, string> {
  const value = userAgent?.replace(/[^\x20-\x7e]/g, '?').trim() ?? '';
  return value === '' || 'document' in globalThis ? {} : { 'user-agent': value };
}
