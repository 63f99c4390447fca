/** Loaded on first use, because it takes longer than the rest of a start (about 0.2 s). */
const suffixList = () => import('tldts');
const asGiven = { extractHostname: false, validateHostname: false };

/**
 * Registered part of a host name by the public suffix list: `shop.co.uk` for `www.shop.co.uk`. Below suffixes of
 * companies, such as `github.io`, each name has its own owner.
 * @returns the host itself if it has no registered part: an address, or a name without a dot
 */
export async function registeredDomain(host: string): Promise<string> {
  const { getDomain } = await suffixList();
  const name = host.toLowerCase().replace(/\.$/, '');
  return getDomain(name, { ...asGiven, allowPrivateDomains: true }) ?? name;
}

/**
 * Returns a function that tells whether anyone can register names below a host, as below `com` and `co.uk`. Hosts must
 * be in lower case and ASCII.
 */
export async function publicSuffixes(): Promise<(host: string) => boolean> {
  const { parse } = await suffixList();
  return (host) => {
    const { isIcann, publicSuffix } = parse(host, asGiven);
    return isIcann === true && publicSuffix === host;
  };
}
