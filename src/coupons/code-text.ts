import { type Problem, problem } from '../platform/problem.ts';

/** Maximum length of a code, in characters. */
export const maxCodeLength = 200;

/** Control characters, which codes can't contain: a line break would end the code in a file. */
const control = /\p{Cc}/u;

/** Reason why a text can't be a code, or null. The text is trimmed already. */
export function refuseCode(code: string): Problem | null {
  if (code === '') return problem('blank');
  if (code.length > maxCodeLength) return problem('codeLong', { length: code.length, max: maxCodeLength });
  if (/\p{Cf}/u.test(code)) return problem('valueZeroWidth');
  return control.test(code) || code.includes('\uFFFD') ? problem('codeUnreadable') : null;
}
