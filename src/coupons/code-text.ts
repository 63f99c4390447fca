import { type Problem, problem } from '../platform/problem.ts';

/** Maximum length of a coupon code, in characters. */
export const maxCodeLength = 200;

/** Control characters, which codes must not contain. A line break, for example, would split a code in a file. */
const control = /\p{Cc}/u;

/**
 * Returns the reason why a string is not a valid code, or null if it is valid. The caller must trim the string first.
 */
export function refuseCode(code: string): Problem | null {
  if (code === '') return problem('blank');
  if (code.length > maxCodeLength) return problem('codeLong', { length: code.length, max: maxCodeLength });
  if (/\p{Cf}/u.test(code)) return problem('valueZeroWidth');
  return control.test(code) || code.includes('\uFFFD') ? problem('codeUnreadable') : null;
}
