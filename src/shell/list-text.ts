/** Splits a list at commas or lines. Items that contain one of them are quoted. */
export const splitList = (text: string): string[] =>
  [...text.matchAll(/[^\S\n]*"((?:[^"]|"")*)"[^\S\n]*(?=[,\n]|$)|[^,\n]+/g)]
    .map(([whole, quoted]) => (quoted === undefined ? whole.trim() : quoted.replaceAll('""', '"')))
    .filter((item) => item !== '');

/** Joins a list to text that {@link splitList} can read. */
export const joinList = (items: readonly unknown[]): string =>
  items
    .map(String)
    .map((item) => (/[,\n]|^["\s]|\s$/.test(item) ? `"${item.replaceAll('"', '""')}"` : item))
    .join(', ');
