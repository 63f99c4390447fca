import { domainToASCII, domainToUnicode } from 'node:url';

/**
 * Returns the lower-case spellings of an email address, starting with the one whose domain is in Punycode. New rows use
 * this first spelling; rows of earlier releases use the address as it was sent.
 */
export function spellingsOf(email: string): string[] {
  const at = email.lastIndexOf('@');
  const [name, domain] = [email.slice(0, at).normalize('NFC'), email.slice(at + 1)];
  const ascii = domainToASCII(domain) || domain;
  return [...new Set([`${name}@${ascii}`, `${name}@${domainToUnicode(ascii) || domain}`, email])];
}
