/**
 * Returns the edit distance between two strings, which is the number of letters to insert, delete or replace. Returns 9
 * if the strings differ too much.
 */
export function editDistance(a: string, b: string): number {
  if (Math.abs(a.length - b.length) > 8) return 9;
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (const [at, letter] of [...a].entries()) {
    const next = [at + 1];
    for (let index = 0; index < b.length; index++)
      next.push(
        Math.min(
          (next[index] as number) + 1,
          (row[index + 1] as number) + 1,
          (row[index] as number) + (b[index] === letter ? 0 : 1),
        ),
      );
    row = next;
  }
  return row[b.length] as number;
}
