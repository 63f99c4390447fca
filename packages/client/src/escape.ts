/**
 * A JavaScript string literal that can stand anywhere in an HTML script. Whatever could end the script, open a comment
 * in
 * it, look like a placeholder, or depend on the encoding of the page is written as \uXXXX.
 */
export const quote = (text: string): string =>
  JSON.stringify(text).replace(/[<>&'%`]|[^ -~]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
