import sharp from 'sharp';
import { describe, expect, test } from 'vitest';
import { stripMetadata } from '../../../src/catalog-admin/images/metadata.ts';
import { readUpload } from '../../../src/catalog-admin/images.ts';
import { drawStripes } from './image-fixtures.ts';

const types = { jpg: 'jpeg', png: 'png', webp: 'webp' } as const;
type Type = keyof typeof types;

/** Creates a rotated image like a phone photo, with location, device and comments in its metadata. */
async function snap(type: Type, orientation = 6): Promise<Buffer> {
  return sharp(await drawStripes(60, 30))
    .toFormat(types[type])
    .withExif({
      IFD0: { Make: 'A telephone', ImageDescription: 'At home' },
      IFD3: { GPSLatitudeRef: 'N', GPSLatitude: '52/1 31/1 12/1' },
    })
    .withXmp(
      '<x:xmpmeta xmlns:x="adobe:ns:meta/">' +
        '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"/></x:xmpmeta>',
    )
    .withMetadata({ orientation })
    .withIccProfile('p3')
    .toBuffer();
}

const pixels = (bytes: Buffer): Promise<Buffer> => sharp(bytes).autoOrient().raw().toBuffer();

describe.each(Object.keys(types) as Type[])('an uploaded %s', (type) => {
  test('loses location, device and comments, and keeps its pixels, colours and rotation', async () => {
    const photo = await snap(type);
    const before = await sharp(photo).metadata();
    expect(photo.includes('A telephone') && before.exif !== undefined && before.xmp !== undefined).toBe(true);
    const { bytes, size } = await readUpload(photo, `image/${types[type]}`);
    const after = await sharp(bytes).metadata();
    for (const secret of ['A telephone', 'At home', 'xmpmeta']) expect(bytes.includes(secret), secret).toBe(false);
    expect(after.xmp).toBeUndefined();
    expect(after.exif?.length ?? 0).toBeLessThan(40);
    expect({ orientation: after.orientation, size }).toEqual({ orientation: 6, size: { width: 30, height: 60 } });
    expect(after.icc?.equals(before.icc as Buffer)).toBe(true);
    expect((await pixels(bytes)).equals(await pixels(photo))).toBe(true);
  });

  test('is the same image when it is uploaded again', async () => {
    const { bytes } = await readUpload(await snap(type), '');
    expect((await readUpload(bytes, '')).bytes.equals(bytes)).toBe(true);
  });

  test('has no rotation metadata if it is upright', async () => {
    const { bytes } = await readUpload(await snap(type, 1), '');
    expect((await sharp(bytes).metadata()).exif).toBeUndefined();
  });

  test('loses data after the end of the image', async () => {
    const { bytes } = await readUpload(Buffer.concat([await snap(type), Buffer.from('GPS 52.52 13.40')]), '');
    expect(bytes.includes('GPS 52.52')).toBe(false);
  });

  test('is rejected with a reason if it is truncated at any point', async () => {
    const photo = await snap(type);
    for (let length = 12; length < photo.length; length += 97) {
      const part = photo.subarray(0, length);
      expect(() => stripMetadata(part, type, 1)).not.toThrow();
      await expect(readUpload(part, '')).rejects.toMatchObject({ code: 'invalid_picture' });
    }
  });
});

/** An empty metadata segment for each image type, and the position where it may be inserted. */
const emptyParts: Record<Type, { part: Buffer; at: (bytes: Buffer) => number }> = {
  jpg: { part: Buffer.from([0xff, 0xc4, 0, 2]), at: () => 2 },
  png: {
    part: Buffer.from('\0\0\0\0pHYs\0\0\0\0', 'latin1'),
    at: (bytes) => bytes.indexOf('IDAT') - 4,
  },
  webp: { part: Buffer.from('JUNK\0\0\0\0'), at: (bytes) => bytes.length },
};

test.each(Object.keys(types) as Type[])(
  'a %s with an excessive number of parts is rejected without being read',
  async (type) => {
    const plain = await snap(type, 1);
    const { part, at } = emptyParts[type];
    const withParts = (count: number): Buffer => {
      const crafted = Buffer.concat([
        plain.subarray(0, at(plain)),
        Buffer.alloc(count * part.length, part),
        plain.subarray(at(plain)),
      ]);
      if (type === 'webp') crafted.writeUInt32LE(crafted.length - 8, 4);
      return crafted;
    };
    expect(stripMetadata(withParts(1000), type, 1)).not.toBeNull();
    expect(stripMetadata(withParts(10_000), type, 1)).toBeNull();
  },
);

test('a progressive JPEG loses its comment', async () => {
  const plain = await sharp(await drawStripes(60, 30))
    .jpeg({ progressive: true })
    .toBuffer();
  const comment = Buffer.concat([Buffer.from([0xff, 0xfe, 0, 9]), Buffer.from('At home')]);
  const withComment = Buffer.concat([plain.subarray(0, 2), comment, plain.subarray(2)]);
  expect((await readUpload(withComment, '')).bytes.equals(plain)).toBe(true);
});

test('an animation remains animated', async () => {
  const frames = await Promise.all(
    ['#f00', '#0f0', '#00f'].map((background) =>
      sharp({ create: { width: 20, height: 20, channels: 3, background } })
        .png()
        .toBuffer(),
    ),
  );
  const animation = await sharp(frames, { join: { animated: true } })
    .webp({ delay: [100, 200, 300], loop: 0 })
    .withExif({ IFD0: { Make: 'A telephone' } })
    .toBuffer();
  const { bytes } = await readUpload(animation, 'image/webp');
  const after = await sharp(bytes, { animated: true }).metadata();
  expect({ pages: after.pages, delay: after.delay, exif: after.exif }).toEqual({
    pages: 3,
    delay: [100, 200, 300],
    exif: undefined,
  });
});
