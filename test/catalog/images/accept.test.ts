import { describe, expect, test } from 'vitest';
import { chooseType, type ImageType } from '../../../src/catalog-admin/images/accept.ts';

const browsers = {
  chrome: 'image/avif,image/webp,image/apng,image/svg+xml,image/*,*/*;q=0.8',
  firefox: 'image/avif,image/webp,image/png,image/svg+xml,image/*;q=0.8,*/*;q=0.5',
  safari:
    'image/webp,image/avif,image/jxl,image/heic,image/heic-sequence,video/*;q=0.8,' +
    'image/png,image/svg+xml,image/*;q=0.8,*/*;q=0.5',
  olderSafari: 'image/webp,image/png,image/svg+xml,image/*;q=0.8,video/*;q=0.8,*/*;q=0.5',
};

describe('a still image', () => {
  test.each<[string | undefined, ImageType, ImageType]>([
    [browsers.chrome, 'png', 'avif'],
    [browsers.firefox, 'jpg', 'avif'],
    [browsers.safari, 'gif', 'avif'],
    [browsers.olderSafari, 'jpg', 'webp'],
    [browsers.olderSafari, 'webp', 'webp'],
    [undefined, 'jpg', 'jpg'],
    ['', 'jpg', 'jpg'],
    ['*/*', 'png', 'png'],
    ['image/*', 'avif', 'avif'],
    ['image/*;q=0.8,*/*;q=0.5', 'gif', 'gif'],
    ['IMAGE/WEBP', 'png', 'webp'],
    ['image/avif;q=0,image/webp,*/*', 'png', 'webp'],
    ['image/avif;q=0, image/webp;q=0.000, */*', 'jpg', 'jpg'],
    ['image/avif;q=nonsense,*/*', 'jpg', 'jpg'],
    ['image/avif;q=0.5,image/webp;q=0.9', 'jpg', 'webp'],
    ['image/webp;q=0.9,image/avif;q=0.9', 'jpg', 'avif'],
    ['image/png,image/avif;q=0.5', 'png', 'png'],
    ['image/png', 'webp', 'png'],
    ['image/jpeg', 'avif', 'jpg'],
    ['image/jpeg,image/png', 'webp', 'png'],
    ['image/png,*/*;q=0.1', 'webp', 'webp'],
    ['text/html', 'webp', 'webp'],
    [`${'x,'.repeat(100_000)}image/avif`, 'png', 'png'],
  ])('with Accept %s, a %s image is served as %s', (accept, original, expected) => {
    expect(chooseType(accept, original, false)).toBe(expected);
  });
});

test('sends an animation as WebP if it is accepted, or else the original', () => {
  expect(chooseType(browsers.chrome, 'gif', true)).toBe('webp');
  expect(chooseType('image/avif', 'gif', true)).toBe('gif');
  expect(chooseType('image/png', 'webp', true)).toBe('webp');
});
