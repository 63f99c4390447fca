/**
 * A JavaScript string literal for any place in an HTML script. Characters that could end the script, open a comment,
 * form a placeholder or depend on the page's encoding are written as \uXXXX.
 */
export const quote = (text: string): string =>
  JSON.stringify(text).replace(/[<>&'%`]|[^ -~]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
