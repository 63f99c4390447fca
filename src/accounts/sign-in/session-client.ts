import bowser from 'bowser';
import ipaddr from 'ipaddr.js';
import type { Geo } from '../../platform/geo.ts';

/** Browser that started a session, for the session list. Its full IP address is not stored. */
export type SessionClient = {
  /** Browser and operating system, such as "Firefox on Linux". */
  device: string;
  /** The client's /24 network (IPv4) or /48 network (IPv6). Empty if unknown. */
  network: string;
  /** ISO 3166-1 alpha-2 country code, or null if unknown. */
  country: string | null;
};

/** Maximum length of a parsed user agent, and of a stored device name, in characters. */
const maxUserAgentLength = 512;
const maxDeviceLength = 80;

export const unknownBrowser = 'Unknown browser';

export const describeClient = (userAgent: string, address: string, geo: Geo): SessionClient => ({
  device: deviceOf(userAgent),
  network: networkOf(address),
  country: geo(address).country,
});

function deviceOf(userAgent: string): string {
  if (userAgent === '') return unknownBrowser;
  const { browser, os } = bowser.parse(userAgent.slice(0, maxUserAgentLength));
  const name = browser.name || unknownBrowser;
  return (os.name ? `${name} on ${os.name}` : name).replaceAll('\0', '').slice(0, maxDeviceLength);
}

function networkOf(address: string): string {
  if (!ipaddr.isValid(address)) return '';
  const parsed = ipaddr.process(address);
  const bits = parsed.kind() === 'ipv6' ? 48 : 24;
  const net = parsed.kind() === 'ipv6' ? ipaddr.IPv6 : ipaddr.IPv4;
  return `${net.networkAddressFromCIDR(`${parsed}/${bits}`)}/${bits}`;
}
