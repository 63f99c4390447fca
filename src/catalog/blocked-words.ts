/** A letter, digit or mark: what a word is made of. */
const wordPattern = /[\p{L}\p{N}\p{M}_]+/gu;
const lastOfWord = /[\p{L}\p{N}\p{M}_]$/u;
const firstOfWord = /^[\p{L}\p{N}\p{M}_]/u;

/** Scripts without blanks between words: there a blocked word is looked for anywhere. */
const unspaced = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}]/u;

/**
 * The form in which names and texts are compared: of one case and one way to write a character, single blanks, and
 * nothing that cannot be seen, such as a soft hyphen.
 */
export const plainText = (text: string): string =>
  text
    .normalize('NFKC')
    .toLowerCase()
    .normalize('NFKC')
    .replace(/\p{Default_Ignorable_Code_Point}/gu, '')
    .replace(/\s+/gu, ' ')
    .trim();

type Entry = { word: string; plain: string /** Where its first word begins in it. */; at: number };

/**
 * Finds whole words and phrases in texts, whatever their case. It takes time by the length of the text, not by the
 * number of words: entries are looked up by their first word.
 * @returns the first of `words` that a text holds, as it was given; null: none
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
  return (given) => {
    const text = plainText(given);
    for (const { index, 0: first } of text.matchAll(wordPattern)) {
      const found = byFirst.get(first)?.find((entry) => standsAt(text, entry, index - entry.at));
      if (found !== undefined) return found.word;
    }
    return anywhere.find(({ plain }) => text.includes(plain))?.word ?? null;
  };
}

function standsAt(text: string, { plain }: Entry, start: number): boolean {
  if (start < 0 || !text.startsWith(plain, start)) return false;
  return !(lastOfWord.test(plain) && firstOfWord.test(text.slice(start + plain.length, start + plain.length + 2)));
}
