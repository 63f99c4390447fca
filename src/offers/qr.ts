import { LRUCache } from 'lru-cache';
import encodeQR from 'qr';
import sharp from 'sharp';

/** Edge of the picture in pixels (specification 2.3). */
export const qrPixels = 228;
const quietModules = 4;

/** A 1-bit-deep PNG, 228×228, black on white: whole pixels per module, quiet zone around, centred. */
export async function renderQrPng(text: string): Promise<Buffer> {
  const modules = encodeQR(text, 'raw', { ecc: 'low', border: quietModules });
  const scale = Math.floor(qrPixels / modules.length);
  if (scale < 2) throw new Error('the URL is too long for a readable QR code');
  const offset = Math.floor((qrPixels - modules.length * scale) / 2);
  const pixels = Buffer.alloc(qrPixels * qrPixels, 255);
  modules.forEach((row, y) => {
    row.forEach((dark, x) => {
      if (!dark) return;
      for (let dy = 0; dy < scale; dy++) {
        const start = (offset + y * scale + dy) * qrPixels + offset + x * scale;
        pixels.fill(0, start, start + scale);
      }
    });
  });
  return sharp(pixels, { raw: { width: qrPixels, height: qrPixels, channels: 1 } })
    .png({ palette: true, colours: 2, compressionLevel: 9 })
    .toBuffer();
}

/** QR codes as data URIs, made once for each URL. */
export type QrCodes = {
  /** The code if it is at hand. */
  get: (url: string) => string | undefined;
  /** Makes the code, off the event loop. Parallel calls for one URL share the work. */
  make: (url: string) => Promise<string>;
};

/** About 1 KB each. */
const maxCodes = 20_000;

export function createQrCodes(): QrCodes {
  const made = new LRUCache<string, string>({ max: maxCodes });
  const underWay = new Map<string, Promise<string>>();

  async function render(url: string): Promise<string> {
    const code = `data:image/png;base64,${(await renderQrPng(url)).toString('base64')}`;
    made.set(url, code);
    return code;
  }

  return {
    get: (url) => made.get(url),
    make: (url) => {
      const known = made.get(url);
      if (known !== undefined) return Promise.resolve(known);
      let work = underWay.get(url);
      if (work === undefined) {
        work = render(url).finally(() => underWay.delete(url));
        underWay.set(url, work);
      }
      return work;
    },
  };
}
