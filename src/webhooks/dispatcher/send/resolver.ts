import { Resolver, lookup as systemLookup } from 'node:dns/promises';

/** Result of a DNS lookup. `family` is 4 or 6. */
export type ResolvedAddress = { address: string; family: number };

/** Resolves all addresses of a host name. Rejects if none exists. */
export type Lookup = (hostname: string) => Promise<readonly ResolvedAddress[]>;

const timeoutMs = 2000;
const maxAttempts = 2;

/**
 * Creates a lookup that sends DNS queries without using threads. The system resolver has only four threads per process,
 * so four names whose servers do not respond would delay all other lookups. It is used only for names without a dot and
 * for names that DNS does not know, because they may be in the hosts file or depend on search domains.
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
 * Time without any DNS response after which our resolver counts as down, in milliseconds. Before that, a failed lookup
 * is attributed to the name servers of the host.
 */
const silenceMs = 30_000;

/**
 * Creates a watch that detects whether the resolver itself is down, or only the name servers of a single host do not
 * respond.
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
