import type { Line } from './lines.ts';

/**
 * Writes codes to files of slightly more than `minBytes`, with a single column and a header. Only the last file can be
 * smaller.
 */
export async function* partsOf(
  lines: AsyncIterable<Line | null>,
  minBytes: number,
  codesPerChunk = 10_000,
): AsyncGenerator<Buffer, void> {
  let chunks: Buffer[] = [];
  let length = 0;
  let codes = ['code'];
  const close = (): void => {
    const chunk = Buffer.from(`${codes.join('\n')}\n`);
    chunks.push(chunk);
    length += chunk.length;
    codes = [];
  };
  for await (const line of lines) {
    if (line === null) continue;
    const code = line.bytes.toString();
    codes.push(/[",;\t]/.test(code) ? `"${code.replaceAll('"', '""')}"` : code);
    if (codes.length < codesPerChunk) continue;
    close();
    if (length < minBytes) continue;
    yield Buffer.concat(chunks);
    [chunks, length, codes] = [[], 0, ['code']];
  }
  if (codes.length > (chunks.length === 0 ? 1 : 0)) close();
  if (chunks.length > 0) yield Buffer.concat(chunks);
}
