/** The longest code (characters). */
export const maxCodeLength = 200;

/** Whether a text has characters that no code may have: a line break would end it in a file. */
const control = /\p{Cc}/u;

/** Why a text cannot be a code; null: it can. Blanks around it are not part of it. */
export function refuseCode(code: string): string | null {
  if (code === '') return 'must not be blank';
  if (code.length > maxCodeLength) return `has ${code.length} characters; a code may have ${maxCodeLength}`;
  if (/\p{Cf}/u.test(code)) return 'has a zero-width character';
  return control.test(code) || code.includes('\uFFFD') ? 'must be readable text of one line' : null;
}
