import { Resolver, lookup as systemLookup } from 'node:dns/promises';

/** An answer of a name lookup. `family` is 4 or 6. */
export type ResolvedAddress = { address: string; family: number };

/** All addresses of a host name; rejects when it has none. */
export type Lookup = (hostname: string) => Promise<readonly ResolvedAddress[]>;

const timeoutMs = 2000;
const maxAttempts = 2;

/**
 * Looks names up over the network, without a thread: the system's own resolver has four for the whole process, so four
 * names whose servers never answer would delay all the others. What DNS does not know goes to the system, for its hosts
 * file and search domains; names without a dot go there at once.
 */
export function createLookup(): Lookup {
  const resolver = new Resolver({ timeout: timeoutMs, tries: maxAttempts });
  return async (hostname) => {
    if (!hostname.includes('.') || hostname.endsWith('.localhost')) return systemLookup(hostname, { all: true });
    const [v4, v6] = await Promise.allSettled([resolver.resolve4(hostname), resolver.resolve6(hostname)]);
    const found: ResolvedAddress[] = [...addressesOf(v4, 4), ...addressesOf(v6, 6)];
    if (found.length > 0) return found;
    const failed = [v4, v6].find((one) => one.status === 'rejected' && isTemporary(one.reason));
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

/** Whether a lookup got no answer: the resolver is down, or the name's own servers are unreachable. */
export const isTemporary = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && temporaryCodes.has(String(error.code));

/** When no name was answered for so long, our resolver is down, not the servers of one name (milliseconds). */
const silenceMs = 30_000;

/** Tells a resolver that is down from one name whose servers do not answer: other names are answered. */
export function createResolverWatch(now: () => number): { answered: () => void; isDown: () => boolean } {
  let answeredMs: number | null = null;
  return {
    answered: () => {
      answeredMs = now();
    },
    isDown: () => answeredMs === null || now() - answeredMs > silenceMs,
  };
}
