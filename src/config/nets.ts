import { isIP, isIPv4 } from 'node:net';
import ipaddr from 'ipaddr.js';

export type Address = ipaddr.IPv4 | ipaddr.IPv6;

/** A network in CIDR form: an address and the prefix length in bits. */
export type Net = readonly [Address, number];

/**
 * Reads a comma-separated list of CIDRs, such as `127.0.0.0/8,::1/128`. Blanks around entries and empty entries are
 * ignored.
 * @param refuse receives an entry that is not `address/bits`; by default it throws an error that names the entry
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

/** null if the text is not `address/bits` */
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

/** Whether the first network is contained in one of the others. */
export const isInside = ([address, bits]: Net, nets: readonly Net[]): boolean =>
  within(
    address,
    nets.filter(([, otherBits]) => otherBits <= bits),
  );
