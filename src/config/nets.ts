import { isIP, isIPv4 } from 'node:net';
import ipaddr from 'ipaddr.js';

export type Address = ipaddr.IPv4 | ipaddr.IPv6;

/** Network in CIDR notation: its address, and its prefix length in bits. */
export type Net = readonly [Address, number];

/**
 * Parses a comma-separated list of CIDR blocks, such as `127.0.0.0/8,::1/128`. Empty entries and surrounding whitespace
 * are ignored.
 * @param refuse called with each entry that is not `address/bits`; by default it throws an error with the entry
 */
export function parseNets(list: string, refuse: (entry: string) => void = refuseNet): Net[] {
  const entries = list.split(',').map((entry) => entry.trim());
  return entries
    .filter((entry) => entry !== '')
    .flatMap((entry) => {
      const net = readNet(entry);
      if (net === null) refuse(entry);
      return net === null ? [] : [net];
    });
}

function refuseNet(entry: string): never {
  throw new Error(`"${entry}" is not a CIDR range, such as 10.0.0.0/8 or ::1/128`);
}

/** Parses a network in CIDR notation. Returns null if the text is not `address/bits`. */
export function readNet(entry: string): Net | null {
  const [address = '', bits = '', ...rest] = entry.split('/');
  const maxBits = isIPv4(address) ? 32 : 128;
  if (
    isIP(address) === 0 ||
    address.includes('%') ||
    !/^\d{1,3}$/.test(bits) ||
    Number(bits) > maxBits ||
    rest.length > 0
  )
    return null;
  return [ipaddr.parse(address), Number(bits)];
}

export const within = (address: Address, nets: readonly Net[]): boolean =>
  nets.some(([net, bits]) => net.kind() === address.kind() && address.match(net, bits));

/** Whether the first network is contained in any of the other networks. */
export const isInside = ([address, bits]: Net, nets: readonly Net[]): boolean =>
  within(
    address,
    nets.filter(([, otherBits]) => otherBits <= bits),
  );
