import { promisify } from 'node:util';
import { brotliDecompress } from 'node:zlib';

/** Font tables, keyed by tag (OpenType specification). */
type Tables = ReadonlyMap<string, Buffer>;

const knownTags = (
  'cmap head hhea hmtx maxp name OS/2 post cvt  fpgm glyf loca prep CFF  VORG EBDT EBLC gasp hdmx kern LTSH ' +
  'PCLT VDMX vhea vmtx BASE GDEF GPOS GSUB EBSC JSTF MATH CBDT CBLC COLR CPAL SVG  sbix acnt avar bdat bloc ' +
  'bsln cvar fdsc feat fmtx fvar gvar hsty just lcar mort morx opbd prop trak Zapf Silf Glat Gloc Feat Sill'
).match(/.{4}(?= |$)/g) as string[];

/** Maximum decompressed size, in bytes. Protects against small files that decompress to a huge size. */
const maxUnpackedBytes = 16 * 1024 * 1024;
const unpack = promisify(brotliDecompress);

/**
 * Reads consecutive numbers from a buffer.
 * @throws RangeError at the end of the buffer
 */
class Cursor {
  readonly bytes: Buffer;
  at: number;
  constructor(bytes: Buffer, at: number) {
    this.bytes = bytes;
    this.at = at;
  }
  uint8 = (): number => this.bytes.readUInt8(this.at++);
  tag(): string {
    this.at += 4;
    return this.bytes.toString('latin1', this.at - 4, this.at);
  }
  /** Reads a WOFF2 `UIntBase128`. */
  base128(): number {
    let value = 0;
    for (let count = 0; count < 5; count++) {
      const byte = this.uint8();
      value = value * 128 + (byte & 0x7f);
      if ((byte & 0x80) === 0) return value;
    }
    throw new RangeError('a number without an end');
  }
}

/**
 * Reads the tables of a WOFF2 file.
 * @throws RangeError, or a zlib error with a `code`, if the file is corrupt
 */
export async function readWoff2(file: Buffer): Promise<Tables> {
  if (file.toString('latin1', 0, 4) !== 'wOF2') throw new RangeError('no woff2');
  if (file.toString('latin1', 4, 8) === 'ttcf') throw new RangeError('a collection');
  const count = file.readUInt16BE(12);
  const packedBytes = file.readUInt32BE(20);
  const cursor = new Cursor(file, 48);
  const entries: { tag: string; length: number; isTransformed: boolean }[] = [];
  for (let index = 0; index < count; index++) {
    const flags = cursor.uint8();
    const knownTag = knownTags[flags & 0x3f];
    const tag = knownTag ?? cursor.tag();
    const version = flags >> 6;
    const plain = cursor.base128();
    const isTransformed = tag === 'glyf' || tag === 'loca' ? version !== 3 : version !== 0;
    entries.push({ tag, length: isTransformed ? cursor.base128() : plain, isTransformed });
  }
  const packed = file.subarray(cursor.at, cursor.at + packedBytes);
  const data = await unpack(packed, { maxOutputLength: maxUnpackedBytes });
  const tables = new Map<string, Buffer>();
  let at = 0;
  for (const { tag, length, isTransformed } of entries) {
    // A transformed `hmtx` table starts with a flag byte. The advance widths that follow are unchanged.
    const start = tag === 'hmtx' && isTransformed ? 1 : 0;
    tables.set(tag, data.subarray(at + start, at + length));
    at += length;
  }
  return tables;
}
