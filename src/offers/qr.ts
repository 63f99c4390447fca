import { crc32, deflateSync } from 'node:zlib';
import { LRUCache } from 'lru-cache';
import encodeQR from 'qr';

/** Width and height of the QR code image, in pixels (docs/reference/fetch-offers.md#offer-object). */
const qrPixels = 228;
/** Width of the quiet zone around the code, in QR code modules. */
const quietModules = 4;

/** Number of bytes per image row: one byte for the filter type, then one byte for every eight pixels. */
const rowBytes = 1 + Math.ceil(qrPixels / 8);

/**
 * Memory settings for the compression of a code. With the default settings, zlib clears 256 KB for each call. In a
 * thread of the pool, the call would take 120 µs of CPU time instead of 35 µs.
 */
const compression = { windowBits: 12, memLevel: 4 };

/**
 * Renders a 1-bit black-and-white PNG of 228×228 pixels, with whole pixels per module and a quiet zone. An image
 * library would take ten times as long.
 */
function renderQrPng(text: string): Buffer {
  const modules = encodeQR(text, 'raw', { ecc: 'low', border: quietModules });
  const scale = Math.floor(qrPixels / modules.length);
  if (scale < 2) throw new Error('the URL is too long for a readable QR code');
  const offset = Math.floor((qrPixels - modules.length * scale) / 2);
  const pixels = Buffer.alloc(rowBytes * qrPixels, 255);
  for (let y = 0; y < qrPixels; y += 1) pixels[y * rowBytes] = 0;
  for (let line = 0; line < modules.length; line += 1) {
    const first = (offset + line * scale) * rowBytes;
    drawRow(modules[line] as readonly boolean[], { pixels, first, offset, scale });
    for (let below = 1; below < scale; below += 1) pixels.copyWithin(first + below * rowBytes, first, first + rowBytes);
  }
  const header = Buffer.alloc(13);
  header.writeUInt32BE(qrPixels, 0);
  header.writeUInt32BE(qrPixels, 4);
  header[8] = 1; // one bit per pixel; the other bytes are 0: grey, deflate, no interlacing
  return Buffer.concat([
    signature,
    chunk('IHDR', header),
    chunk('IDAT', deflateSync(pixels, compression)),
    chunk('IEND', Buffer.alloc(0)),
  ]);
}

type PixelRow = { pixels: Buffer; first: number; offset: number; scale: number };

/** Draws the dark modules of one pixel row. */
function drawRow(modules: readonly boolean[], { pixels, first, offset, scale }: PixelRow): void {
  for (let x = 0; x < modules.length; x += 1) {
    if (modules[x] !== true) continue;
    for (let at = offset + x * scale; at < offset + (x + 1) * scale; at += 1) {
      const byte = first + 1 + (at >> 3);
      pixels[byte] = (pixels[byte] as number) & ~(128 >> (at & 7));
    }
  }
}

const signature = Buffer.from('89504e470d0a1a0a', 'hex');

function chunk(type: string, data: Buffer): Buffer {
  const bytes = Buffer.alloc(12 + data.length);
  bytes.writeUInt32BE(data.length, 0);
  bytes.write(type, 4, 'latin1');
  data.copy(bytes, 8);
  bytes.writeUInt32BE(crc32(bytes.subarray(4, 8 + data.length)), 8 + data.length);
  return bytes;
}

/** Returns the QR code for a URL as a data URI. */
export type QrCodes = (url: string) => string;

/** Maximum number of cached codes. Each takes about 1 KB. */
const maxCodes = 20_000;

/** Creates a cache of QR codes. A new code takes 100 to 160 µs, so most are rendered in advance (offer-renderer.ts). */
export function createQrCodes(): QrCodes {
  const cache = new LRUCache<string, string>({ max: maxCodes });
  return (url) => {
    const cached = cache.get(url);
    if (cached !== undefined) return cached;
    const code = `data:image/png;base64,${renderQrPng(url).toString('base64')}`;
    cache.set(url, code);
    return code;
  };
}
