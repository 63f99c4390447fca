import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { planSize, type RequestedImage, readImageQuery } from '../../../src/catalog-admin/images/parameters.ts';

const none: RequestedImage = { width: null, height: null, aspectRatio: null };
const side = fc.integer({ min: 1, max: 4096 });
const ratio = fc.record({ width: fc.integer({ min: 1, max: 100 }), height: fc.integer({ min: 1, max: 100 }) });
const original = fc.record({ width: fc.integer({ min: 1, max: 6000 }), height: fc.integer({ min: 1, max: 6000 }) });

/** Whether `width` by `height` matches the aspect ratio as closely as whole pixels allow. */
const isClose = (size: { width: number; height: number }, ratio: { width: number; height: number }): boolean =>
  Math.abs(size.height - (size.width * ratio.height) / ratio.width) <= 0.5001 ||
  Math.abs(size.width - (size.height * ratio.width) / ratio.height) <= 0.5001 ||
  size.width === 1 ||
  size.height === 1;

describe('the response size', () => {
  const image = { width: 1200, height: 628 };
  test.each<[string, Partial<RequestedImage>, number, number]>([
    ['is the original size by default', {}, 1200, 628],
    ['keeps the aspect ratio if only the width is requested', { width: 600 }, 600, 314],
    ['keeps the aspect ratio if only the height is requested', { height: 314 }, 600, 314],
    ['never exceeds the original size for a larger width', { width: 4000 }, 1200, 628],
    ['never exceeds the original size for a larger height', { height: 4000 }, 1200, 628],
    ['is exactly the requested width and height if both are present', { width: 4000, height: 10 }, 4000, 10],
    ['is cropped to the requested aspect ratio', { aspectRatio: { width: 1, height: 1 } }, 628, 628],
    ['is cropped to a wide aspect ratio', { aspectRatio: { width: 4, height: 1 } }, 1200, 300],
    ['combines an aspect ratio with a width', { width: 320, aspectRatio: { width: 16, height: 9 } }, 320, 180],
    ['combines an aspect ratio with a height', { height: 90, aspectRatio: { width: 16, height: 9 } }, 160, 90],
    [
      'never exceeds the original size for a larger width with an aspect ratio',
      { width: 2000, aspectRatio: { width: 1, height: 1 } },
      628,
      628,
    ],
    [
      'ignores the aspect ratio if width and height are present',
      { width: 100, height: 50, aspectRatio: { width: 1, height: 1 } },
      100,
      50,
    ],
  ])('%s', (_name, wish, width, height) => {
    expect(planSize(image, { ...none, ...wish })).toEqual({ width, height });
  });

  test('is exactly the requested size if both sides are requested', () => {
    fc.assert(
      fc.property(original, side, side, fc.option(ratio), (from, width, height, aspectRatio) => {
        expect(planSize(from, { width, height, aspectRatio })).toEqual({ width, height });
      }),
    );
  });

  test('never exceeds the original if one side or none is requested, and has the requested ratio', () => {
    const wish = fc.oneof(
      fc.record({ width: fc.option(side), height: fc.constant(null), aspectRatio: fc.option(ratio) }),
      fc.record({ width: fc.constant(null), height: fc.option(side), aspectRatio: fc.option(ratio) }),
    );
    fc.assert(
      fc.property(original, wish, (from, requested) => {
        const size = planSize(from, requested);
        expect(size.width).toBeLessThanOrEqual(from.width);
        expect(size.height).toBeLessThanOrEqual(from.height);
        expect(Math.min(size.width, size.height)).toBeGreaterThanOrEqual(1);
        expect(isClose(size, requested.aspectRatio ?? from), JSON.stringify(size)).toBe(true);
        if (requested.width !== null) expect(size.width).toBeLessThanOrEqual(requested.width);
        if (requested.height !== null) expect(size.height).toBeLessThanOrEqual(requested.height);
      }),
      { numRuns: 500 },
    );
  });
});

test('a query string is parsed to numbers', () => {
  expect(readImageQuery({})).toEqual(none);
  expect(readImageQuery({ width: '4096', height: '1', aspect_ratio: '16:9' })).toEqual({
    width: 4096,
    height: 1,
    aspectRatio: { width: 16, height: 9 },
  });
  expect(() => readImageQuery({ height: '4097' })).toThrow(expect.objectContaining({ code: 'invalid_request' }));
});
