import { expect, test } from 'vitest';
import { openCodeFile } from '../../src/coupons/loading/code-file.ts';
import { linesOf } from '../../src/coupons/loading/lines.ts';
import { partsOf } from '../../src/coupons/loading/parts.ts';

async function* toAsync<Item>(items: Iterable<Item>): AsyncGenerator<Item> {
  yield* items;
}

async function codesIn(part: Buffer): Promise<string[]> {
  const { lines } = await openCodeFile(part, { header: 'present', column: null });
  const codes: string[] = [];
  for await (const line of lines) if (line !== null) codes.push(line.bytes.toString('utf8', line.start, line.end));
  return codes;
}

test.each([0, 1, 5, 6, 7, 29, 30, 31])(
  'files of a large upload contain all of %i codes once, in order',
  async (count) => {
    const codes = Array.from({ length: count }, (_, index) => (index % 3 === 0 ? `A"${index};,` : `CODE-${index}`));
    const parts: string[][] = [];
    for await (const part of partsOf(toAsync(linesOf(codes)), 60, 3)) parts.push(await codesIn(part));
    expect(parts.flat()).toEqual(codes);
    expect(parts.every((part) => part.length > 0)).toBe(true);
    expect(parts.length).toBeGreaterThanOrEqual(Math.floor(count / 9));
  },
);
