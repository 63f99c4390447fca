import { domainToASCII, domainToUnicode } from 'node:url';

/**
 * Returns the lower-case spellings of an e-mail address. The first one has its domain in Punycode, and is used for new
 * rows. Rows from earlier releases use the address as it was sent.
 */
export function spellingsOf(email: string): string[] {
  const at = email.lastIndexOf('@');
  const [name, domain] = [email.slice(0, at).normalize('NFC'), email.slice(at + 1)];
  const ascii = domainToASCII(domain) || domain;
  return [...new Set([`${name}@${ascii}`, `${name}@${domainToUnicode(ascii) || domain}`, email])];
}
