import { expect, test } from 'vitest';
import { buildAppearance, buildStyles } from '../../src/catalog/themes.ts';
import type { Publisher, Theme } from '../../src/catalog/types.ts';
import { coloursOf } from '../../src/catalog-admin/pages/themes/appearance-fields.ts';
import { readAppearance } from '../../src/catalog-admin/pages/themes/appearance-form.ts';
import { coloursIn, paletteOf } from '../../src/catalog-admin/pages/themes/palette.ts';
import { lowContrasts } from '../../src/catalog-admin/theme-overrides.ts';
import { fieldsOf } from '../../src/shell/context.ts';

const hex = (value: number): string => `#${value.toString(16).padStart(6, '0')}`;
/** Greys, and colours from all over the RGB cube. */
const brands = [
  ...Array.from({ length: 32 }, (_, index) => hex(index * 8 * 0x010101)),
  ...Array.from({ length: 512 }, (_, index) => hex((index * 32_749 + 977) % 0x1000000)),
];

const lowContrastsOf = (colours: readonly string[]) => {
  const form = { ...Object.fromEntries(coloursOf(paletteOf(colours))), 'appearance.color_scheme': 'system' };
  const { styles, appearance } = readAppearance(fieldsOf(form));
  const theme = { settings: {}, styles, appearance } as unknown as Theme;
  const publisher = { name: 'Shop' } as Publisher;
  return lowContrasts(buildStyles(publisher, theme, ''), buildAppearance(theme));
};

test('any brand colours produce a readable palette in light and dark mode', () => {
  for (const [index, brand] of brands.entries()) {
    expect(lowContrastsOf([brand]), brand).toEqual([]);
    const others = [brand, hex((index * 7919) % 0x1000000), '#fff8ec', '#222222'];
    expect(lowContrastsOf(others), others.join()).toEqual([]);
  }
});

test('keeps the brand colours if they are readable', () => {
  const { light } = paletteOf(['#1f5f4a', '#fff8ec', '#222222']);
  expect(light).toMatchObject({ yes: '#1f5f4a', yesText: '#ffffff', background: '#fff8ec', text: '#222222' });
});

test('finds colours in entered and pasted text', () => {
  expect(coloursIn('--brand: #1F5F4A; background:#FFF; 1f5f4a')).toEqual(['#1f5f4a', '#ffffff']);
  expect(coloursIn('--brand: #1F5F4A80; #abcd; rgb(255, 100, 0); rgba(0 16 255 / 50%)')).toEqual([
    ...['#1f5f4a', '#aabbcc', '#ff6400', '#0010ff'],
  ]);
  for (const none of ['none', 'our coffee', '#12345', 'in 2026', 'rgb(300, 0, 0)'])
    expect(coloursIn(none), none).toEqual([]);
});
