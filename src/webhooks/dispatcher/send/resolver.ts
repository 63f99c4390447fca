import { Resolver, lookup as systemLookup } from 'node:dns/promises';

/** Result of a DNS lookup. `family` is 4 or 6. */
export type ResolvedAddress = { address: string; family: number };

/** Resolves all addresses of a host name. Rejects if there are none. */
export type Lookup = (hostname: string) => Promise<readonly ResolvedAddress[]>;

const timeoutMs = 2000;
const maxAttempts = 2;

/**
 * Creates a DNS lookup over the network that uses no threads. The system resolver has only four threads per process, so
 * four names with unresponsive servers would delay all other lookups. The system resolver is used only for names
 * unknown to DNS, because of its hosts file and search domains, and for names without a dot.
 */
export function createLookup(): Lookup {
  const resolver = new Resolver({ timeout: timeoutMs, tries: maxAttempts });
  return async (hostname) => {
    if (!hostname.includes('.') || hostname.endsWith('.localhost')) return systemLookup(hostname, { all: true });
    const [v4, v6] = await Promise.allSettled([resolver.resolve4(hostname), resolver.resolve6(hostname)]);
    const addresses: ResolvedAddress[] = [...addressesOf(v4, 4), ...addressesOf(v6, 6)];
    if (addresses.length > 0) return addresses;
    const failed = [v4, v6].find((answer) => answer.status === 'rejected' && isTemporary(answer.reason));
    if (failed?.status === 'rejected') throw failed.reason;
    return systemLookup(hostname, { all: true });
  };
}

const addressesOf = (answer: PromiseSettledResult<string[]>, family: 4 | 6): ResolvedAddress[] =>
  answer.status === 'fulfilled' ? answer.value.map((address) => ({ address, family })) : [];

const temporaryCodes = new Set([
  'EAI_AGAIN',
  'EAI_MEMORY',
  'EAI_SYSTEM',
  'ECONNREFUSED',
  'ECANCELLED',
  'EMFILE',
  'ENFILE',
  'ENOBUFS',
  'ENOMEM',
  'EREFUSED',
  'ESERVFAIL',
  'ETIMEOUT',
]);

/** Whether a lookup failed temporarily, because the resolver or the name servers could not be reached. */
export const isTemporary = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && temporaryCodes.has(String(error.code));

/**
 * Time without any DNS response, in milliseconds, after which our resolver counts as down. Before that, a lookup
 * failure is attributed to the servers of the name.
 */
const silenceMs = 30_000;

/**
 * Creates a watch that distinguishes a resolver outage from a name whose servers do not respond while other names
 * resolve.
 */
export function createResolverWatch(now: () => number): { answered: () => void; isDown: () => boolean } {
  let answeredMs: number | null = null;
  return {
    answered: () => {
      answeredMs = now();
    },
    isDown: () => answeredMs === null || now() - answeredMs > silenceMs,
  };
}
