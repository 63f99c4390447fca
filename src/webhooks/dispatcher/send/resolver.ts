import { Resolver, lookup as systemLookup } from 'node:dns/promises';
import type { Lookup, ResolvedAddress } from './address-guard.ts';

const timeoutMs = 2000;
const tries = 2;

/**
 * Looks names up over the network, without a thread: the system's own resolver has four for the whole process, so four
 * names
 * whose servers never answer would hold up all the others. What DNS does not know goes to the system, for its hosts
 * file and
 * search domains; names without a dot go there at once.
 */
export function createLookup(): Lookup {
  const resolver = new Resolver({ timeout: timeoutMs, tries });
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

/** Whether a look-up failed without an answer: the resolver is away, or it could not reach the name's own servers. */
export const isTemporary = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && temporaryCodes.has(String(error.code));

/** No name was answered for that long: it is our resolver that is away, not one name's servers (milliseconds). */
const silenceMs = 30_000;

/** Tells whose fault it is when a name gets no answer, by whether other names do. */
export function createResolverWatch(now: () => number): { answered: () => void; isAway: () => boolean } {
  let answeredMs: number | null = null;
  return {
    answered: () => {
      answeredMs = now();
    },
    isAway: () => answeredMs === null || now() - answeredMs > silenceMs,
  };
}
