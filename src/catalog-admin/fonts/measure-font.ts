import type { WebFont } from '@perkwire/client';
import { averageText } from '../../catalog/themes.ts';
import { readWoff2 } from './read-woff2.ts';

/**
 * Family, weights and metrics of a font file. Metrics are in thousandths of the font size
 * (docs/reference/themes-and-rendering.md#web-fonts).
 */
export type FontMeasures = Pick<WebFont, 'family' | 'weights' | 'ascent' | 'descent' | 'line_gap' | 'width'>;

/**
 * Measures a font.
 * @returns the measurements, or null unless the file is a complete WOFF2 font that contains the English letters
 */
export async function measureFont(file: Buffer): Promise<FontMeasures | null> {
  try {
    return measured(await readWoff2(file));
  } catch (err) {
    if (err instanceof RangeError || (err as { code?: unknown }).code !== undefined) return null;
    throw err;
  }
}

function measured(tables: ReadonlyMap<string, Buffer>): FontMeasures | null {
  const table = (tag: string): Buffer => {
    const bytes = tables.get(tag);
    if (bytes === undefined) throw new RangeError(`no ${tag}`);
    return bytes;
  };
  const hhea = table('hhea');
  const unitsPerEm = table('head').readUInt16BE(18);
  const inThousandths = (units: number): number => Math.round((units * 1000) / unitsPerEm);
  const glyphs = [...averageText].map(glyphsOf(table('cmap')));
  const metrics = hhea.readUInt16BE(34);
  const advance = (glyph: number): number => table('hmtx').readUInt16BE(Math.min(glyph, metrics - 1) * 4);
  const total = glyphs.map(advance).reduce((sum, units) => sum + units, 0);
  const fontMeasures: FontMeasures = {
    family: familyOf(table('name')),
    weights: weightsOf(tables.get('fvar'), tables.get('OS/2')),
    ascent: inThousandths(hhea.readInt16BE(4)),
    descent: inThousandths(Math.abs(hhea.readInt16BE(6))),
    line_gap: inThousandths(hhea.readInt16BE(8)),
    width: inThousandths(total / glyphs.length),
  };
  const measures = [fontMeasures.ascent, fontMeasures.descent, fontMeasures.line_gap, fontMeasures.width];
  const isUsable = unitsPerEm > 0 && measures.every((value) => value >= 0 && value <= 4000);
  return isUsable && !glyphs.includes(0) && fontMeasures.ascent > 0 && fontMeasures.width > 0 ? fontMeasures : null;
}

/**
 * Returns a function that maps a letter to its glyph ID, or to 0 if the font has no glyph for it. Supports the two cmap
 * formats that web fonts use.
 */
function glyphsOf(cmap: Buffer): (letter: string) => number {
  const offsets = Array.from({ length: cmap.readUInt16BE(2) }, (_, index) => cmap.readUInt32BE(8 + index * 8));
  const byFormat = new Map(offsets.map((at) => [cmap.readUInt16BE(at), cmap.subarray(at)]));
  const [segments, groups] = [byFormat.get(4), byFormat.get(12)];
  if (segments !== undefined) return (letter) => glyphInSegments(segments, letter.charCodeAt(0));
  if (groups !== undefined) return (letter) => glyphInGroups(groups, letter.charCodeAt(0));
  throw new RangeError('no table of letters');
}

function glyphInSegments(table: Buffer, code: number): number {
  const doubled = table.readUInt16BE(6);
  for (let at = 0; at < doubled; at += 2) {
    if (code > table.readUInt16BE(14 + at)) continue;
    const start = table.readUInt16BE(16 + doubled + at);
    if (code < start) return 0;
    const delta = table.readUInt16BE(16 + 2 * doubled + at);
    const rangeAt = 16 + 3 * doubled + at;
    const range = table.readUInt16BE(rangeAt);
    if (range === 0) return (code + delta) & 0xffff;
    const glyph = table.readUInt16BE(rangeAt + range + (code - start) * 2);
    return glyph === 0 ? 0 : (glyph + delta) & 0xffff;
  }
  return 0;
}

function glyphInGroups(table: Buffer, code: number): number {
  const count = table.readUInt32BE(12);
  // Groups are sorted and contain at least one code each, so at most `code + 1` groups start at or before `code`.
  for (let index = 0; index < Math.min(count, code + 1); index++) {
    const at = 16 + index * 12;
    const start = table.readUInt32BE(at);
    if (code < start) return 0;
    if (code <= table.readUInt32BE(at + 4)) return table.readUInt32BE(at + 8) + code - start;
  }
  return 0;
}

/**
 * Returns the family name from the Windows name records, preferably the typographic family. Empty if the font has no
 * name.
 */
function familyOf(name: Buffer): string {
  const texts = name.readUInt16BE(4);
  const familyNames = new Map<number, string>();
  for (let index = 0; index < name.readUInt16BE(2); index++) {
    const at = 6 + index * 12;
    const id = name.readUInt16BE(at + 6);
    if (name.readUInt16BE(at) !== 3 || (id !== 1 && id !== 16) || familyNames.has(id)) continue;
    const start = texts + name.readUInt16BE(at + 10);
    const bytes = Buffer.from(name.subarray(start, start + (name.readUInt16BE(at + 8) & ~1)));
    familyNames.set(id, bytes.swap16().toString('utf16le'));
  }
  return (familyNames.get(16) ?? familyNames.get(1) ?? '')
    .replaceAll(/[^\p{L}\p{N} _.-]/gu, '')
    .trim()
    .slice(0, 60);
}

/** Returns the font weight, or the weight range of a variable font. */
function weightsOf(fvar: Buffer | undefined, os2: Buffer | undefined): string {
  const clamp = (weight: number): number => Math.min(Math.max(Math.round(weight), 1), 1000);
  if (fvar !== undefined) {
    const [offset, count, size] = [fvar.readUInt16BE(4), fvar.readUInt16BE(8), fvar.readUInt16BE(10)];
    for (let at = offset; size >= 20 && at < offset + count * size; at += size) {
      if (fvar.toString('latin1', at, at + 4) !== 'wght') continue;
      return [fvar.readInt32BE(at + 4), fvar.readInt32BE(at + 12)].map((fixed) => clamp(fixed / 65_536)).join(' ');
    }
  }
  return String(clamp(os2?.readUInt16BE(4) ?? 400));
}
