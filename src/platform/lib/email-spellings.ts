import { domainToASCII, domainToUnicode } from 'node:url';

/**
 * Spellings of an address in lower case, with the domain in Punycode first. New rows use the first one; rows of earlier
 * releases use the address as sent.
 */
export function spellingsOf(email: string): string[] {
  const at = email.lastIndexOf('@');
  const [name, domain] = [email.slice(0, at).normalize('NFC'), email.slice(at + 1)];
  const ascii = domainToASCII(domain) || domain;
  return [...new Set([`${name}@${ascii}`, `${name}@${domainToUnicode(ascii) || domain}`, email])];
}
