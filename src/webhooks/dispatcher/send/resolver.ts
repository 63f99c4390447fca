import { Resolver, lookup as systemLookup } from 'node:dns/promises';

/** An answer of a name lookup. `family` is 4 or 6. */
export type ResolvedAddress = { address: string; family: number };

/** Resolves all addresses of a host name; rejects if there are none. */
export type Lookup = (hostname: string) => Promise<readonly ResolvedAddress[]>;

const timeoutMs = 2000;
const maxAttempts = 2;

/**
 * Creates a lookup over the network without threads: the system resolver has four for the whole process, so that four
 * names with unresponsive servers would delay all others. Names that DNS does not know go to the system resolver, for
 * its hosts file and search domains; names without a dot go there at once.
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

/** Whether a lookup got no answer, because the resolver or the name's servers are unreachable. */
export const isTemporary = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && temporaryCodes.has(String(error.code));

/**
 * After this time without any answer (milliseconds), our resolver counts as down, rather than the servers of one name.
 */
const silenceMs = 30_000;

/** Distinguishes a resolver that is down from one name whose servers don't answer, while other names resolve. */
export function createResolverWatch(now: () => number): { answered: () => void; isDown: () => boolean } {
  let answeredMs: number | null = null;
  return {
    answered: () => {
      answeredMs = now();
    },
    isDown: () => answeredMs === null || now() - answeredMs > silenceMs,
  };
}
