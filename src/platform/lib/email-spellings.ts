import { domainToASCII, domainToUnicode } from 'node:url';

/**
 * Spellings of one address in lower case, with the domain in Punycode first. New rows are kept by that one, those of
 * earlier releases by what was sent.
 */
export function spellingsOf(email: string): string[] {
  const at = email.lastIndexOf('@');
  const [name, domain] = [email.slice(0, at).normalize('NFC'), email.slice(at + 1)];
  const ascii = domainToASCII(domain) || domain;
  return [...new Set([`${name}@${ascii}`, `${name}@${domainToUnicode(ascii) || domain}`, email])];
}
