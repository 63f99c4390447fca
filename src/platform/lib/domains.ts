/** Loaded when the first domain is looked at: it takes longer than all else at a start (about 0.2 s). */
const suffixList = () => import('tldts');
const asGiven = { extractHostname: false, validateHostname: false };

/**
 * The part of a host's name that its owner has registered, by the public suffix list: `shop.co.uk` of
 * `www.shop.co.uk`. Below suffixes of companies, such as `github.io`, each name has an owner of its own.
 * @returns the host itself where it has no such part: an address, a name without a dot
 */
export async function registeredDomain(host: string): Promise<string> {
  const { getDomain } = await suffixList();
  const name = host.toLowerCase().replace(/\.$/, '');
  return getDomain(name, { ...asGiven, allowPrivateDomains: true }) ?? name;
}

/** Says of hosts, in lower case and ASCII, whether anyone registers names below them, as below `com` and `co.uk`. */
export async function publicSuffixes(): Promise<(host: string) => boolean> {
  const { parse } = await suffixList();
  return (host) => {
    const { isIcann, publicSuffix } = parse(host, asGiven);
    return isIcann === true && publicSuffix === host;
  };
}
