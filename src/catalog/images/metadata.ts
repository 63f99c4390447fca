import { crc32 } from 'node:zlib';
import type { ImageType } from './accept.ts';

/**
 * Takes out of a picture what a camera or an editor wrote beside its pixels – where it was made, with which device, by
 * whom – without encoding it anew. Kept is what it takes to show it: colours, transparency, animation, and the turn
 * (EXIF orientation). What stands behind the picture's end is cut off. The same picture, given again, comes out as the
 * same bytes.
 * @param orientation EXIF, 1 to 8
 * @returns null when the file is not built as its type demands
 */
export function stripMetadata(bytes: Buffer, type: ImageType, orientation: number): Buffer | null {
  const strip = strippers[type];
  try {
    return strip === undefined ? null : strip(bytes, orientation > 1 && orientation <= 8 ? turn(orientation) : null);
  } catch (err) {
    if (err instanceof RangeError) return null; // a length that points behind the end, or too many parts
    throw err;
  }
}

/** Segments or chunks of a picture (count), far beyond what encoders write: other requests wait while they are read. */
const maxParts = 10_000;

/** @throws RangeError beyond so many */
const refuseBeyondParts = (count: number): void => {
  if (count > maxParts) throw new RangeError('too many parts');
};

type Stripper = (bytes: Buffer, turn: Buffer | null) => Buffer | null;

const strippers: Partial<Record<ImageType, Stripper>> = { jpg: stripJpeg, png: stripPng, webp: stripWebp };

/** EXIF data (TIFF, big endian) that holds the orientation and nothing else. */
const turn = (orientation: number): Buffer =>
  Buffer.concat([
    Buffer.from('MM\0*\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0', 'latin1'),
    Buffer.from([orientation, 0, 0, 0, 0, 0, 0]),
  ]);

const exifHead = Buffer.from('Exif\0\0', 'latin1');

/** Segments of applications that say how to read the colours: JFIF, ICC profile, Adobe. */
const keptSegments: ReadonlyMap<number, string> = new Map([
  [0xe0, 'JFIF\0'],
  [0xe2, 'ICC_PROFILE\0'],
  [0xee, 'Adobe'],
]);

function stripJpeg(bytes: Buffer, turned: Buffer | null): Buffer | null {
  const kept: Buffer[] = [bytes.subarray(0, 2)];
  const exif = turned === null ? null : segment(0xe1, Buffer.concat([exifHead, turned]));
  let isTurnDue = exif !== null;
  for (let at = 2, parts = 1; ; parts++) {
    refuseBeyondParts(parts);
    if (bytes.readUInt8(at) !== 0xff) return null;
    const marker = bytes.readUInt8(at + 1);
    if (marker === 0xff) {
      at++; // filling
      continue;
    }
    if (isTurnDue && marker !== 0xe0) {
      kept.push(exif as Buffer);
      isTurnDue = false;
    }
    if (marker === 0xd9) return Buffer.concat([...kept, bytes.subarray(at, at + 2)]);
    const end = at + 2 + bytes.readUInt16BE(at + 2);
    if (end > bytes.length) return null;
    const isForApplications = (marker & 0xf0) === 0xe0;
    const sign = keptSegments.get(marker);
    const isKept = isForApplications
      ? sign !== undefined && bytes.toString('latin1', at + 4, at + 4 + sign.length) === sign
      : marker !== 0xfe; // a comment
    // Behind the head of a scan there are its pixels, up to the next marker.
    const next = marker === 0xda ? endOfScan(bytes, end) : end;
    if (isKept) kept.push(bytes.subarray(at, next));
    at = next;
  }
}

/** Where the marker stands that ends a scan: none of the stuffed zeros and restarts within. */
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

/** Chunks beside the critical ones that change what is seen, and those of animations. */
const keptChunks: ReadonlySet<string> = new Set(
  'tRNS gAMA cHRM sRGB iCCP cICP mDCV cLLI sBIT bKGD pHYs acTL fcTL fdAT'.split(' '),
);

function stripPng(bytes: Buffer, turned: Buffer | null): Buffer | null {
  const kept: Buffer[] = [bytes.subarray(0, 8)];
  let isTurnDue = turned !== null;
  for (let at = 8, parts = 1; at < bytes.length; parts++) {
    refuseBeyondParts(parts);
    const name = bytes.toString('latin1', at + 4, at + 8);
    const end = at + 12 + bytes.readUInt32BE(at);
    if (end > bytes.length) return null;
    if (isTurnDue && name === 'IDAT') {
      kept.push(pngChunk('eXIf', turned as Buffer));
      isTurnDue = false;
    }
    if (/^[A-Z]/.test(name) || keptChunks.has(name)) kept.push(bytes.subarray(at, end));
    if (name === 'IEND') return Buffer.concat(kept);
    at = end;
  }
  return null;
}

function pngChunk(name: string, content: Buffer): Buffer {
  const named = Buffer.concat([Buffer.from(name, 'latin1'), content]);
  const [length, check] = [Buffer.alloc(4), Buffer.alloc(4)];
  length.writeUInt32BE(content.length);
  check.writeUInt32BE(crc32(named));
  return Buffer.concat([length, named, check]);
}

const webpChunks: ReadonlySet<string> = new Set(['VP8 ', 'VP8L', 'VP8X', 'ALPH', 'ANIM', 'ANMF', 'ICCP']);
/** Bits of the first byte of `VP8X`: the file has EXIF data, XMP data. */
const hasExif = 0x08;
const hasXmp = 0x04;

function stripWebp(bytes: Buffer, turned: Buffer | null): Buffer | null {
  const kept: Buffer[] = [];
  const fileEnd = Math.min(bytes.length, 8 + bytes.readUInt32LE(4));
  for (let at = 12, parts = 1; at + 8 <= fileEnd; parts++) {
    refuseBeyondParts(parts);
    const name = bytes.toString('latin1', at, at + 4);
    const size = bytes.readUInt32LE(at + 4);
    if (at + 8 + size > fileEnd) return null;
    const chunk = Buffer.concat([bytes.subarray(at, at + 8 + size), Buffer.alloc(size % 2)]);
    if (name === 'VP8X') chunk[8] = (chunk.readUInt8(8) & ~(hasExif | hasXmp)) | (turned === null ? 0 : hasExif);
    if (webpChunks.has(name)) kept.push(chunk);
    at += chunk.length;
  }
  if (turned !== null) kept.push(webpChunk('EXIF', turned));
  const body = Buffer.concat([Buffer.from('WEBP'), ...kept]);
  return webpChunk('RIFF', body);
}

function webpChunk(name: string, content: Buffer): Buffer {
  const length = Buffer.alloc(4);
  length.writeUInt32LE(content.length);
  return Buffer.concat([Buffer.from(name, 'latin1'), length, content, Buffer.alloc(content.length % 2)]);
}
