import type { IncomingMessage } from 'node:http';
import type { Config } from '../../config.ts';

/** Addresses as proxies list them. */
const plainList = /^[0-9A-Za-z:., [\]-]*$/;

/**
 * Reads the address of a client as the framework does, past it: that of the connection, or the one that as many trusted
 * proxies as TRUST_PROXY says have seen. null: proxies are known by their nets, which only the framework looks up.
 */
export function createClientAddress(trustProxy: Config['trustProxy']): (request: IncomingMessage) => string | null {
  return ({ headers, socket }) => {
    const address = socket.remoteAddress ?? null;
    const forwarded = headers['x-forwarded-for'];
    if (trustProxy === false || forwarded === undefined) return address;
    if (typeof trustProxy !== 'number' || typeof forwarded !== 'string' || !plainList.test(forwarded)) return null;
    const seen = forwarded.split(',').map((one) => one.trim());
    const hops = [address, ...seen.filter((one) => one !== '').reverse()];
    return hops[Math.min(trustProxy, hops.length - 1)] ?? null;
  };
}
