import { crc32 } from 'node:zlib';
import type { ImageType } from './accept.ts';

/**
 * Removes camera and editor metadata such as location, device and author from an image without re-encoding it.
 * Preserves data that affects the display: colours, transparency, animation and rotation (EXIF orientation). Removes
 * any data after the end of the image. The result is deterministic.
 * @param orientation EXIF orientation, 1 to 8
 * @returns null if the file is malformed
 */
export function stripMetadata(bytes: Buffer, type: ImageType, orientation: number): Buffer | null {
  const strip = strippers[type];
  try {
    return strip === undefined ? null : strip(bytes, orientation > 1 && orientation <= 8 ? turn(orientation) : null);
  } catch (err) {
    if (err instanceof RangeError) return null; // a length beyond the end of the file, or too many parts
    throw err;
  }
}

/**
 * Maximum number of segments or chunks in a file, far more than encoders write. Limits how long parsing can block other
 * requests.
 */
const maxParts = 10_000;

/**
 * Validates the number of segments or chunks.
 * @throws RangeError if there are more than `maxParts`
 */
const refuseBeyondParts = (count: number): void => {
  if (count > maxParts) throw new RangeError('too many parts');
};

type Stripper = (bytes: Buffer, turn: Buffer | null) => Buffer | null;

const strippers: Partial<Record<ImageType, Stripper>> = { jpg: stripJpeg, png: stripPng, webp: stripWebp };

/** Builds EXIF data (TIFF, big endian) that contains only the orientation. */
const turn = (orientation: number): Buffer =>
  Buffer.concat([
    Buffer.from('MM\0*\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0', 'latin1'),
    Buffer.from([orientation, 0, 0, 0, 0, 0, 0]),
  ]);

const exifHead = Buffer.from('Exif\0\0', 'latin1');

/** Application segments to preserve because they affect colours: JFIF, ICC profile and Adobe. */
const keptSegments: ReadonlyMap<number, string> = new Map([
  [0xe0, 'JFIF\0'],
  [0xe2, 'ICC_PROFILE\0'],
  [0xee, 'Adobe'],
]);

function stripJpeg(bytes: Buffer, turned: Buffer | null): Buffer | null {
  const retained: Buffer[] = [bytes.subarray(0, 2)];
  const exif = turned === null ? null : segment(0xe1, Buffer.concat([exifHead, turned]));
  let isTurnDue = exif !== null;
  for (let at = 2, parts = 1; ; parts++) {
    refuseBeyondParts(parts);
    if (bytes.readUInt8(at) !== 0xff) return null;
    const marker = bytes.readUInt8(at + 1);
    if (marker === 0xff) {
      at++; // fill byte
      continue;
    }
    if (isTurnDue && marker !== 0xe0) {
      retained.push(exif as Buffer);
      isTurnDue = false;
    }
    if (marker === 0xd9) return Buffer.concat([...retained, bytes.subarray(at, at + 2)]);
    const end = at + 2 + bytes.readUInt16BE(at + 2);
    if (end > bytes.length) return null;
    const isForApplications = (marker & 0xf0) === 0xe0;
    const sign = keptSegments.get(marker);
    const isKept = isForApplications
      ? sign !== undefined && bytes.toString('latin1', at + 4, at + 4 + sign.length) === sign
      : marker !== 0xfe; // a comment
    // Skip the image data, which follows a scan header and ends at the next marker.
    const next = marker === 0xda ? endOfScan(bytes, end) : end;
    if (isKept) retained.push(bytes.subarray(at, next));
    at = next;
  }
}

/** Returns the offset of the marker that ends a scan, skipping stuffed zeros and restart markers. */
function endOfScan(bytes: Buffer, from: number): number {
  for (let at = bytes.indexOf(0xff, from); at !== -1; at = bytes.indexOf(0xff, at + 1)) {
    const marker = bytes.readUInt8(at + 1);
    if (marker !== 0 && marker !== 0xff && (marker < 0xd0 || marker > 0xd7)) return at;
  }
  return bytes.length;
}

function segment(marker: number, content: Buffer): Buffer {
  const head = Buffer.from([0xff, marker, 0, 0]);
  head.writeUInt16BE(content.length + 2, 2);
  return Buffer.concat([head, content]);
}

/** Ancillary chunks to preserve because they affect the display or animation. */
const keptChunks: ReadonlySet<string> = new Set(
  'tRNS gAMA cHRM sRGB iCCP cICP mDCV cLLI sBIT bKGD pHYs acTL fcTL fdAT'.split(' '),
);

function stripPng(bytes: Buffer, turned: Buffer | null): Buffer | null {
  const retained: Buffer[] = [bytes.subarray(0, 8)];
  let isTurnDue = turned !== null;
  for (let at = 8, parts = 1; at < bytes.length; parts++) {
    refuseBeyondParts(parts);
    const name = bytes.toString('latin1', at + 4, at + 8);
    const end = at + 12 + bytes.readUInt32BE(at);
    if (end > bytes.length) return null;
    if (isTurnDue && name === 'IDAT') {
      retained.push(pngChunk('eXIf', turned as Buffer));
      isTurnDue = false;
    }
    if (/^[A-Z]/.test(name) || keptChunks.has(name)) retained.push(bytes.subarray(at, end));
    if (name === 'IEND') return Buffer.concat(retained);
    at = end;
  }
  return null;
}

function pngChunk(name: string, content: Buffer): Buffer {
  const typeAndData = Buffer.concat([Buffer.from(name, 'latin1'), content]);
  const [length, check] = [Buffer.alloc(4), Buffer.alloc(4)];
  length.writeUInt32BE(content.length);
  check.writeUInt32BE(crc32(typeAndData));
  return Buffer.concat([length, typeAndData, check]);
}

const webpChunks: ReadonlySet<string> = new Set(['VP8 ', 'VP8L', 'VP8X', 'ALPH', 'ANIM', 'ANMF', 'ICCP']);
/** Flags for EXIF and XMP data in the first byte of `VP8X`. */
const hasExif = 0x08;
const hasXmp = 0x04;

function stripWebp(bytes: Buffer, turned: Buffer | null): Buffer | null {
  const retained: Buffer[] = [];
  const fileEnd = Math.min(bytes.length, 8 + bytes.readUInt32LE(4));
  for (let at = 12, parts = 1; at + 8 <= fileEnd; parts++) {
    refuseBeyondParts(parts);
    const name = bytes.toString('latin1', at, at + 4);
    const size = bytes.readUInt32LE(at + 4);
    if (at + 8 + size > fileEnd) return null;
    const chunk = Buffer.concat([bytes.subarray(at, at + 8 + size), Buffer.alloc(size % 2)]);
    if (name === 'VP8X') chunk[8] = (chunk.readUInt8(8) & ~(hasExif | hasXmp)) | (turned === null ? 0 : hasExif);
    if (webpChunks.has(name)) retained.push(chunk);
    at += chunk.length;
  }
  if (turned !== null) retained.push(webpChunk('EXIF', turned));
  const body = Buffer.concat([Buffer.from('WEBP'), ...retained]);
  return webpChunk('RIFF', body);
}

function webpChunk(name: string, content: Buffer): Buffer {
  const length = Buffer.alloc(4);
  length.writeUInt32LE(content.length);
  return Buffer.concat([Buffer.from(name, 'latin1'), length, content, Buffer.alloc(content.length % 2)]);
}
