import ipaddr from 'ipaddr.js';

/**
 * What stands for a client where clients are limited: its address; of IPv6 the /64, all of which one customer of a
 * provider holds.
 */
export function clientSubnet(address: string): string {
  if (!ipaddr.isValid(address)) return address;
  const parsed = ipaddr.process(address);
  return parsed.kind() === 'ipv6' ? parsed.toByteArray().slice(0, 8).join(':') : parsed.toString();
}
