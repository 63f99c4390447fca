/** The items of a list separated by commas or lines; an item that holds one of them stands in quotes. */
export const splitList = (text: string): string[] =>
  [...text.matchAll(/[^\S\n]*"((?:[^"]|"")*)"[^\S\n]*(?=[,\n]|$)|[^,\n]+/g)]
    .map(([whole, quoted]) => (quoted === undefined ? whole.trim() : quoted.replaceAll('""', '"')))
    .filter((item) => item !== '');

/** A list as text that {@link splitList} reads. */
export const joinList = (items: readonly unknown[]): string =>
  items
    .map(String)
    .map((item) => (/[,\n]|^["\s]|\s$/.test(item) ? `"${item.replaceAll('"', '""')}"` : item))
    .join(', ');
