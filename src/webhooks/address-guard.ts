import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';
import { type Address, type Net, parseNets, within } from '../config/nets.ts';
import { parseUrl } from '../platform/lib/url.ts';
import { isTemporary, type Lookup, type ResolvedAddress } from './dispatcher/send/resolver.ts';

export type BlockReason =
  | 'invalid_url'
  | 'scheme_not_allowed'
  | 'https_required'
  | 'credentials_in_url'
  | 'port_not_allowed'
  | 'blocked_address'
  | 'local_name';

export type UrlCheck = { ok: true; url: URL } | { ok: false; reason: BlockReason };

/**
 * Result of the private address guard. The message for a refusal does not contain the addresses, because the author of
 * the URL sees it and might be probing a private network.
 */
export type Resolution =
  | { ok: true; addresses: ResolvedAddress[] }
  | { ok: false; reason: 'blocked_address' }
  /** `unanswered` means that the resolver returned no response at all, not even that the name does not exist. */
  | { ok: false; reason: 'dns_error'; message: string; unanswered: boolean };

/**
 * Non-public IPv4 ranges from the IANA special-purpose registry. They include the registry's globally reachable ranges
 * AS112 and AMT, which contain no webhook receivers. Azure's platform address, which looks public, is added.
 */
const refusedV4 = parseNets(
  `0.0.0.0/8, 10.0.0.0/8, 100.64.0.0/10, 127.0.0.0/8, 168.63.129.16/32, 169.254.0.0/16, 172.16.0.0/12, 192.0.0.0/24,
   192.0.2.0/24, 192.31.196.0/24, 192.52.193.0/24, 192.88.99.0/24, 192.168.0.0/16, 192.175.48.0/24, 198.18.0.0/15,
   198.51.100.0/24, 203.0.113.0/24, 224.0.0.0/4, 240.0.0.0/4`,
);

/**
 * The only IPv6 range for global unicast. It does not contain `::`, `::1`, or IPv4-compatible, IPv4-mapped, NAT64, ULA,
 * link-local and multicast addresses.
 */
const globalV6 = parseNets('2000::/3');

/**
 * Special-purpose ranges within the global unicast range: protocol assignments (Teredo, ORCHID, benchmarking),
 * documentation, 6to4 and AS112.
 */
const refusedV6 = parseNets('2001::/23, 2001:db8::/32, 2002::/16, 2620:4f:8000::/48, 3fff::/20');

/**
 * Whether the operator has allowed an address. An IPv4-mapped address is treated as the IPv4 address that it contains.
 */
const isOpened = (address: Address, allowNets: readonly Net[]): boolean =>
  within(address, allowNets) ||
  (address instanceof ipaddr.IPv6 && address.isIPv4MappedAddress() && within(address.toIPv4Address(), allowNets));

/**
 * Returns the IPv4 address embedded in an ISATAP interface identifier (RFC 5214, 6.1), or null if none exists. ISATAP
 * identifiers can follow any prefix, and ipaddr.js does not detect them.
 */
function isatapV4({ parts }: ipaddr.IPv6): ipaddr.IPv4 | null {
  const [, , , , high = 0, marker = 0, upper = 0, lower = 0] = parts;
  if ((high & ~0x0200) !== 0 || marker !== 0x5efe) return null;
  return new ipaddr.IPv4([upper >> 8, upper & 0xff, lower >> 8, lower & 0xff]);
}

function isGlobal(address: Address): boolean {
  if (address instanceof ipaddr.IPv4) return !within(address, refusedV4);
  const inner = isatapV4(address);
  return within(address, globalV6) && !within(address, refusedV6) && (inner === null || isGlobal(inner));
}

/**
 * Whether the private address guard allows calls to an address. The address must be a plain global unicast address or
 * be within `allowNets`. IPv6 addresses that embed an IPv4 address, for a translator or tunnel, are refused. The only
 * exception is an IPv4-mapped address whose IPv4 address is within `allowNets`.
 * @param ip address in standard notation (four decimals, or IPv6); any other notation, or an IPv6 zone, is refused
 */
export function isAllowedAddress(ip: string, allowNets: readonly Net[]): boolean {
  if (isIP(ip) === 0 || ip.includes('%')) return false;
  const address = ipaddr.parse(ip);
  return isOpened(address, allowNets) || isGlobal(address);
}

/**
 * Returns the host of a URL if it is an IP address, or null otherwise. The URL parser has already converted decimal,
 * octal, hex and short IPv4 notations to the standard notation with four decimals.
 */
function literalOf(url: URL): string | null {
  const host = hostOf(url);
  return isIP(host) === 0 ? null : host;
}

/** Returns the host name of a URL, or its IP address without IPv6 brackets. */
export const hostOf = ({ hostname }: URL): string => (hostname.startsWith('[') ? hostname.slice(1, -1) : hostname);

/**
 * Host names that public DNS never resolves: names for the local machine or network, and reserved names (RFC 6761,
 * 8375, 9476).
 */
const localSuffix = /(^|\.)(localhost|localdomain|local|lan|internal|intranet|private|home\.arpa|onion|alt|invalid)$/;

function isLocalName(hostname: string): boolean {
  const name = hostname.replace(/\.$/, '');
  return !name.includes('.') || localSuffix.test(name);
}

/**
 * Ports below 1024 are assigned to other protocols, such as mail, SSH and DNS. The only exceptions are the web ports 80
 * and 443.
 */
const isWebPort = (port: string): boolean => port === '' || port === '80' || port === '443' || Number(port) >= 1024;

/**
 * Checks a webhook URL without a DNS lookup. Runs when the URL is saved and before each call:
 * - `http:` requires `allowHttp`.
 * - Names of the local network require `allowNets`.
 * - Allowed ports are 80, 443, and 1024 and above. If the host is an address within `allowNets`, any port is allowed.
 */
export function checkUrl(
  text: string,
  { allowHttp, allowNets }: { allowHttp: boolean; allowNets: readonly Net[] },
): UrlCheck {
  const url = parseUrl(text);
  if (url === null) return { ok: false, reason: 'invalid_url' };
  if (url.protocol !== 'https:' && url.protocol !== 'http:') return { ok: false, reason: 'scheme_not_allowed' };
  if (url.protocol === 'http:' && !allowHttp) return { ok: false, reason: 'https_required' };
  if (url.username !== '' || url.password !== '') return { ok: false, reason: 'credentials_in_url' };
  const literal = literalOf(url);
  if (literal !== null && !isAllowedAddress(literal, allowNets)) return { ok: false, reason: 'blocked_address' };
  if (literal === null && allowNets.length === 0 && isLocalName(url.hostname))
    return { ok: false, reason: 'local_name' };
  const anyPort = literal !== null && isOpened(ipaddr.parse(literal), allowNets);
  if (!isWebPort(url.port) && !anyPort) return { ok: false, reason: 'port_not_allowed' };
  return { ok: true, url };
}

/**
 * Resolves a URL to the addresses to connect to, as protection against server-side request forgery (SSRF). The name is
 * looked up once, and a single forbidden address blocks the URL. The caller must connect to these addresses without
 * another lookup, which could return different addresses (DNS rebinding).
 */
export async function resolveTarget(
  url: URL,
  options: { lookup: Lookup; allowNets: readonly Net[] },
): Promise<Resolution> {
  const literal = literalOf(url);
  const answers =
    literal === null ? await lookUp(url.hostname, options.lookup) : [{ address: literal, family: isIP(literal) }];
  if ('message' in answers) return { ok: false, reason: 'dns_error', ...answers };
  const allAllowed = answers.every(({ address }) => isAllowedAddress(address, options.allowNets));
  if (!allAllowed) return { ok: false, reason: 'blocked_address' };
  return { ok: true, addresses: answers.map(({ address }) => ({ address, family: isIP(address) })) };
}

/**
 * Looks up the addresses of a host name.
 * @returns the addresses, or the reason why the lookup failed
 */
async function lookUp(
  hostname: string,
  lookup: Lookup,
): Promise<readonly ResolvedAddress[] | { message: string; unanswered: boolean }> {
  try {
    const answers = await lookup(hostname);
    return answers.length > 0 ? answers : { message: 'the host name has no address', unanswered: false };
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? ` (${String(error.code)})` : '';
    return { message: `the host name could not be resolved${code}`, unanswered: isTemporary(error) };
  }
}
