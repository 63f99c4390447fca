import { ConnectionError, InvalidParameterError } from './errors.ts';

/** The used subset of `fetch`, so that any implementation fits. */
export type FetchLike = (url: string, init: FetchInit) => Promise<{ status: number; text: () => Promise<string> }>;

export type FetchInit = {
  method: 'GET' | 'POST';
  headers: Record<string, string>;
  body?: string;
  redirect: 'follow' | 'manual';
  signal: AbortSignal;
};

export type TransportOptions = {
  /** Deadline of the whole exchange, including connection and body, in milliseconds. Default 10,000. */
  timeoutMs?: number;
  /** `fetch` implementation. Default: that of the platform. */
  fetch?: FetchLike;
};

const defaultTimeoutMs = 10_000;

/** Maximum duration of a timer, in milliseconds. */
const maxTimeoutMs = 2 ** 31 - 1;

/**
 * Makes one exchange with a deadline.
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
    // Also rejects itself, because not every fetch implementation honours the signal.
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
 * Returns the `User-Agent` header; none in browsers, which ignore it or send a preflight request first. Characters that
 * a header can't contain are sent as "?"; the body has the value unchanged.
 */
export function userAgentHeader(userAgent: string | undefined): Record<string, string> {
  const value = userAgent?.replace(/[^\x20-\x7e]/g, '?').trim() ?? '';
  return value === '' || 'document' in globalThis ? {} : { 'user-agent': value };
}
