import { ConnectionError, InvalidParameterError } from './errors.ts';

/** As much of `fetch` as is used, so that any implementation fits. */
export type FetchLike = (url: string, init: FetchInit) => Promise<{ status: number; text: () => Promise<string> }>;

export type FetchInit = {
  method: 'GET' | 'POST';
  headers: Record<string, string>;
  body?: string;
  redirect: 'follow' | 'manual';
  signal: AbortSignal;
};

export type TransportOptions = {
  /** Milliseconds for the whole exchange, connecting and body included. Default 10,000. */
  timeoutMs?: number;
  /** Default: the platform's `fetch`. */
  fetch?: FetchLike;
};

export const defaultTimeoutMs = 10_000;

/** More does not fit into a timer. */
const maxTimeoutMs = 2 ** 31 - 1;

/**
 * One exchange, with a deadline over all of it.
 * @throws InvalidParameterError for a time-out that is none, ConnectionError when no whole answer came
 */
export async function exchange(
  url: string,
  init: Omit<FetchInit, 'signal'>,
  { timeoutMs = defaultTimeoutMs, fetch = platformFetch }: TransportOptions,
): Promise<{ status: number; text: string }> {
  if (!(timeoutMs > 0 && timeoutMs <= maxTimeoutMs))
    throw new InvalidParameterError('timeoutMs', 'must be a positive number of milliseconds');
  const controller = new AbortController();
  const answered = async () => {
    const response = await fetch(url, { ...init, signal: controller.signal });
    return { status: response.status, text: await response.text() };
  };
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, reject) => {
    // Rejects by itself too: not every fetch heeds the signal.
    timer = setTimeout(() => {
      reject(new Error(`No whole answer within ${timeoutMs} ms.`));
      controller.abort();
    }, timeoutMs);
  });
  try {
    return await Promise.race([answered(), late]);
  } catch (cause) {
    throw new ConnectionError('The request failed to complete.', cause);
  } finally {
    clearTimeout(timer);
  }
}

const platformFetch: FetchLike = (url, init) => globalThis.fetch(url, init);

/**
 * The `User-Agent` header, where one can be set. Pages leave it out: browsers ignore it or, worse, ask the server for
 * leave first. What a header cannot carry is sent as "?"; the body holds the value as it is.
 */
export function userAgentHeader(userAgent: string | undefined): Record<string, string> {
  const value = userAgent?.replace(/[^\x20-\x7e]/g, '?').trim() ?? '';
  return value === '' || 'document' in globalThis ? {} : { 'user-agent': value };
}
