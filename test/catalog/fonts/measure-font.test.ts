import { brotliCompressSync, constants } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { measureFont } from '../../../src/catalog-admin/fonts/measure-font.ts';
import { woff2Of } from '../../support/font.ts';

const font = { family: 'Brand Sans', ascent: 930, descent: 250, lineGap: 20, advances: { e: 700, ' ': 300 } };

describe('a font file', () => {
  test('is measured for name, weight, heights and the average width of English letters', async () => {
    // 33 letters of width 500, 4 letters "e" of 700, 6 spaces of 300.
    const width = Math.round((33 * 500 + 4 * 700 + 6 * 300) / 43);
    expect(await measureFont(woff2Of(font))).toEqual({
      family: 'Brand Sans',
      weights: '400',
      ascent: 930,
      descent: 250,
      line_gap: 20,
      width,
    });
    expect(await measureFont(woff2Of({ ...font, style: 'Bold' }))).toMatchObject({ weights: '700' });
  });

  test('is rejected without side effects if it is truncated, modified or not a font', async () => {
    const file = woff2Of(font);
    for (let length = 0; length < file.length; length += 7)
      expect(await measureFont(file.subarray(0, length))).toBeNull();
    for (let at = 0; at < file.length; at += 5) {
      const changed = Buffer.from(file);
      changed.writeUInt8((changed[at] ?? 0) ^ 0xff, at);
      const measures = await measureFont(changed);
      if (measures !== null) expect(measures.width).toBeGreaterThan(0);
    }
    expect(await measureFont(Buffer.from('<!doctype html>'))).toBeNull();
  });

  test('is rejected if it decompresses to far more than a normal font', async () => {
    const bomb = Buffer.concat([woff2Of(font).subarray(0, 48), Buffer.from([0x3f, ...Buffer.from('glyf'), 1])]);
    const packed = brotliCompressSync(Buffer.alloc(17 * 1024 * 1024), {
      params: { [constants.BROTLI_PARAM_QUALITY]: 1 },
    });
    bomb.writeUInt16BE(1, 12);
    bomb.writeUInt32BE(packed.length, 20);
    expect(packed.length).toBeLessThan(10_000);
    expect(await measureFont(Buffer.concat([bomb, packed]))).toBeNull();
  });
});
