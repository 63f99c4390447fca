/** Maximum length of a code, in characters. */
export const maxCodeLength = 200;

/** Control characters, which codes can't contain: a line break would end the code in a file. */
const control = /\p{Cc}/u;

/** Reason why a text can't be a code, or null. The text is trimmed already. */
export function refuseCode(code: string): string | null {
  if (code === '') return 'must not be blank';
  if (code.length > maxCodeLength) return `has ${code.length} characters; a code may have ${maxCodeLength}`;
  if (/\p{Cf}/u.test(code)) return 'has a zero-width character';
  return control.test(code) || code.includes('\uFFFD') ? 'must be readable text of one line' : null;
}
