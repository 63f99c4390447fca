import { brotliCompressSync } from 'node:zlib';

/**
 * A font in which each glyph is a box. `advances` contains letter widths in thousandths of the font size; the default
 * is 500.
 */
export type BoxFont = {
  family: string;
  style?: 'Regular' | 'Bold';
  advances?: Readonly<Record<string, number>>;
  ascent: number;
  descent: number;
  lineGap?: number;
};

const first = 32;
const last = 126;
const letters = Array.from({ length: last - first + 1 }, (_, index) => String.fromCharCode(first + index));

const u16 = (...values: number[]): Buffer => {
  const bytes = Buffer.alloc(values.length * 2);
  for (const [index, value] of values.entries()) bytes.writeUInt16BE(value & 0xffff, index * 2);
  return bytes;
};
const u32 = (...values: number[]): Buffer => {
  const bytes = Buffer.alloc(values.length * 4);
  for (const [index, value] of values.entries()) bytes.writeUInt32BE(value >>> 0, index * 4);
  return bytes;
};

const padded = (bytes: Buffer): Buffer => Buffer.concat([bytes, Buffer.alloc(-bytes.length & 3)]);

function checksum(bytes: Buffer): number {
  let sum = 0;
  const full = padded(bytes);
  for (let at = 0; at < full.length; at += 4) sum = (sum + full.readUInt32BE(at)) >>> 0;
  return sum;
}

/** Returns the OpenType tables, ordered by tag. */
function tablesOf({ family, style = 'Regular', advances = {}, ascent, descent, lineGap = 0 }: BoxFont) {
  const isBold = style === 'Bold';
  const widths = [500, ...letters.map((letter) => advances[letter] ?? 500)];
  /** Returns a glyph with one contour of four points, whose coordinates are two-byte deltas. */
  const box = (width: number): Buffer => {
    const wide = Math.max(width - 100, 10);
    const points = Buffer.concat([u16(3, 0), Buffer.from([1, 1, 1, 1]), u16(50, 0, wide, 0), u16(0, 600, 0, -600)]);
    return Buffer.concat([u16(1, 50, 0, 50 + wide, 600), points]);
  };
  const glyphs = widths.map((width) => padded(box(width)));
  const offsets = [0];
  for (const glyph of glyphs) offsets.push((offsets.at(-1) ?? 0) + glyph.length);
  const names: [number, string][] = [
    [1, family],
    [2, style],
    [4, isBold ? `${family} Bold` : family],
    [6, `${family}-${style}`.replaceAll(' ', '')],
  ];
  const texts = names.map(([, text]) => Buffer.from(text, 'utf16le').swap16());
  let nameAt = 0;
  const records = names.map(([id], index) => {
    const record = u16(3, 1, 0x409, id, texts[index]?.length ?? 0, nameAt);
    nameAt += texts[index]?.length ?? 0;
    return record;
  });
  const segments = Buffer.concat([
    ...[u16(4, 32, 0, 4, 4, 1, 0), u16(last, 0xffff), u16(0), u16(first, 0xffff), u16(1 - first, 1), u16(0, 0)],
  ]);
  const os2 = Buffer.alloc(96);
  u16(4, 500, isBold ? 700 : 400, 5, 0).copy(os2, 0);
  u16(isBold ? 0x20 : 0x40, first, last, ascent, -descent, lineGap, ascent, descent).copy(os2, 62);
  const head = Buffer.concat([
    ...[u32(0x10000, 0x10000, 0, 0x5f0f3cf5), u16(3, 1000), Buffer.alloc(16), u16(0, 0, 1000, 1000)],
    u16(isBold ? 1 : 0, 8, 2, 1, 0),
  ]);
  return {
    'OS/2': os2,
    cmap: Buffer.concat([u16(0, 1, 3, 1), u32(12), segments]),
    glyf: Buffer.concat(glyphs),
    head,
    hhea: u16(1, 0, ascent, -descent, lineGap, 1000, 0, 0, 1000, 1, 0, 0, 0, 0, 0, 0, 0, widths.length),
    hmtx: u16(...widths.flatMap((width) => [width, 50])),
    loca: u32(...offsets),
    maxp: Buffer.concat([u32(0x10000), u16(widths.length, 4, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0)]),
    name: Buffer.concat([u16(0, names.length, 6 + 12 * names.length), ...records, ...texts]),
    post: Buffer.concat([u32(0x30000, 0), u16(-100, 50), u32(0, 0, 0, 0, 0)]),
  };
}

/** Returns the font as a TTF file, like an installed font. */
export function ttfOf(font: BoxFont): Buffer {
  const tables = Object.entries(tablesOf(font));
  let at = 12 + 16 * tables.length;
  const directory = tables.map(([tag, bytes]) => {
    const entry = Buffer.concat([Buffer.from(tag), u32(checksum(bytes), at, bytes.length)]);
    at += padded(bytes).length;
    return entry;
  });
  const file = Buffer.concat([
    ...[u32(0x10000), u16(tables.length, 128, 3, tables.length * 16 - 128)],
    ...[...directory, ...tables.map(([, bytes]) => padded(bytes))],
  ]);
  const headAt = 12 + 16 * tables.findIndex(([tag]) => tag === 'head') + 8;
  file.writeUInt32BE((0xb1b0afba - checksum(file)) >>> 0, file.readUInt32BE(headAt) + 8);
  return file;
}

/** Returns the font as a WOFF2 file, like a web font. Tables are not transformed. */
export function woff2Of(font: BoxFont): Buffer {
  const tables = Object.entries(tablesOf(font));
  const base128 = (value: number): Buffer =>
    value < 128 ? Buffer.from([value]) : Buffer.from([0x80 | (value >> 14), 0x80 | ((value >> 7) & 127), value & 127]);
  const directory = tables.map(([tag, bytes]) => {
    const isPlain = tag === 'glyf' || tag === 'loca' ? 0xc0 : 0;
    const size = base128(bytes.length);
    const canonical = size.length === 3 && size[0] === 0x80 ? size.subarray(1) : size;
    return Buffer.concat([Buffer.from([isPlain | 63]), Buffer.from(tag), canonical]);
  });
  const packed = brotliCompressSync(Buffer.concat(tables.map(([, bytes]) => bytes)));
  const unpackedSize = 12 + 16 * tables.length + tables.reduce((sum, [, bytes]) => sum + padded(bytes).length, 0);
  const rest = padded(Buffer.concat([...directory, packed]));
  const head = Buffer.concat([
    ...[Buffer.from('wOF2'), u32(0x10000, 48 + rest.length), u16(tables.length, 0), u32(unpackedSize, packed.length)],
    ...[u16(1, 0), u32(0, 0, 0, 0, 0)],
  ]);
  return Buffer.concat([head, rest]);
}
