/** Headers of the transport, of proxies and of the message itself: a publisher cannot set them. */
const ownNames = new Set(
  `accept-encoding connection content-encoding content-length content-type expect forwarded host http2-settings keep-alive proxy-authenticate
   proxy-authorization proxy-connection te trailer transfer-encoding upgrade user-agent via`.split(/\s+/),
);
const ownPrefixes = /^(webhook|perkwire|proxy|sec|x-forwarded)-/;
const maxHeaders = 20;
/** Of one value (characters). */
const maxValueLength = 1024;
const namePattern = /^[a-z0-9!#$%&'*+.^_`|~-]{1,100}$/;
/** Visible ASCII, with blanks and tabs inside. */
const valuePattern = /^[\x21-\x7e]([\x20-\x7e\t]*[\x21-\x7e])?$/;

/**
 * What is wrong with a publisher's own headers (name → value).
 * @returns the name at fault, and why; null when all can be sent
 */
export function findHeaderProblem(headers: Record<string, string>): { name: string; message: string } | null {
  const entries = Object.entries(headers);
  if (entries.length > maxHeaders) return { name: '', message: `at most ${maxHeaders} headers can be set` };
  const names = new Set<string>();
  for (const [name, value] of entries) {
    const lower = name.toLowerCase();
    if (!namePattern.test(lower)) return { name, message: 'is no header name' };
    if (isOwn(lower)) return { name, message: 'cannot be set' };
    if (names.has(lower)) return { name, message: 'is there twice' };
    if (value.length > maxValueLength || !valuePattern.test(value)) {
      return { name, message: `must be visible ASCII of at most ${maxValueLength} characters` };
    }
    names.add(lower);
  }
  return null;
}

/** The headers that may be sent, with lower-case names; whatever cannot be sent is left out. */
export function usableHeaders(headers: Record<string, string>): Record<string, string> {
  const usable = Object.entries(headers).filter(([name, value]) => findHeaderProblem({ [name]: value }) === null);
  return Object.fromEntries(usable.slice(0, maxHeaders).map(([name, value]) => [name.toLowerCase(), value]));
}

const isOwn = (lowerName: string): boolean => ownNames.has(lowerName) || ownPrefixes.test(lowerName);
