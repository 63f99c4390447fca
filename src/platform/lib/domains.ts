/**
 * Loads the public suffix list on first use, because loading it takes longer than the rest of startup (about 0.2 s).
 */
const suffixList = () => import('tldts');
const parseOptions = { extractHostname: false, validateHostname: false };

/**
 * Returns the registrable domain of a host name according to the public suffix list, such as `shop.co.uk` for
 * `www.shop.co.uk`. Private suffixes such as `github.io` count as well, because each name below them has a different
 * owner.
 * @returns the host itself if it has no registrable domain, for example because it is an IP address or a name without a
 * dot
 */
export async function registeredDomain(host: string): Promise<string> {
  const { getDomain } = await suffixList();
  const name = host.toLowerCase().replace(/\.$/, '');
  return getDomain(name, { ...parseOptions, allowPrivateDomains: true }) ?? name;
}

/**
 * Returns a function that checks whether a host is a public suffix, such as `com` or `co.uk`, below which anyone can
 * register names. Hosts must be lower-case ASCII.
 */
export async function publicSuffixes(): Promise<(host: string) => boolean> {
  const { parse } = await suffixList();
  return (host) => {
    const { isIcann, publicSuffix } = parse(host, parseOptions);
    return isIcann === true && publicSuffix === host;
  };
}
