/** A run of letters, digits and marks. */
const wordPattern = /[\p{L}\p{N}\p{M}_]+/gu;
const lastOfWord = /[\p{L}\p{N}\p{M}_]$/u;
const firstOfWord = /^[\p{L}\p{N}\p{M}_]/u;

/** Scripts that do not separate words by blanks. Blocked words in them match anywhere in a text. */
const unspaced = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}]/u;

/**
 * Normalises a name or text for comparison: ignores case and Unicode variants, collapses blanks, and removes invisible
 * characters such as soft hyphens.
 */
export const plainText = (text: string): string =>
  text
    .normalize('NFKC')
    .toLowerCase()
    .normalize('NFKC')
    .replace(/\p{Default_Ignorable_Code_Point}/gu, '')
    .replace(/\s+/gu, ' ')
    .trim();

type Entry = { word: string; plain: string /** Offset of the first word in `plain`. */; at: number };

/**
 * Returns a function that finds whole words and phrases in a text, ignoring case. Its time depends on the length of the
 * text, not on the number of words, because entries are looked up by their first word.
 * @returns the first match, spelled as in `words`, or null
 */
export function wordFinder(words: readonly string[]): (text: string) => string | null {
  const byFirst = new Map<string, Entry[]>();
  const anywhere: Entry[] = [];
  for (const word of words) {
    const plain = plainText(word);
    const first = plain.match(wordPattern)?.[0];
    if (plain === '') continue;
    if (first === undefined || unspaced.test(plain)) {
      anywhere.push({ word, plain, at: 0 });
      continue;
    }
    const entries = byFirst.get(first);
    const entry = { word, plain, at: plain.indexOf(first) };
    if (entries === undefined) byFirst.set(first, [entry]);
    else entries.push(entry);
  }
  return (input) => {
    const text = plainText(input);
    for (const { index, 0: first } of text.matchAll(wordPattern)) {
      const match = byFirst.get(first)?.find((entry) => standsAt(text, entry, index - entry.at));
      if (match !== undefined) return match.word;
    }
    return anywhere.find(({ plain }) => text.includes(plain))?.word ?? null;
  };
}

function standsAt(text: string, { plain }: Entry, start: number): boolean {
  if (start < 0 || !text.startsWith(plain, start)) return false;
  return !(lastOfWord.test(plain) && firstOfWord.test(text.slice(start + plain.length, start + plain.length + 2)));
}
