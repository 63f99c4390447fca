import { defaultAppearance, defaultStyles } from '@perkwire/client';
import { expect, test } from 'vitest';
import { overlay } from '../../src/catalog/themes.ts';
import { contrastOf, lowContrasts } from '../../src/catalog-admin/theme-overrides.ts';

test('computes contrast ratios according to WCAG 2.2', () => {
  expect(contrastOf('#000000', '#ffffff')).toBeCloseTo(21, 5);
  expect(contrastOf('#fff', 'rgb(119, 119, 119)')).toBeCloseTo(4.48, 2);
  expect(contrastOf('#767676', '#ffffff')).toBeCloseTo(4.54, 2);
  expect([contrastOf('white', '#000'), contrastOf('#12345g', '#000'), contrastOf('rgb(300,0,0)', '#000')]).toEqual([
    null,
    null,
    null,
  ]);
});

test('has no text below 4.5:1 in the default light and dark palettes', () => {
  expect(lowContrasts(defaultStyles, { ...defaultAppearance, color_scheme: 'system' })).toEqual([]);
});

test('reports text below 4.5:1 with its background and ratio, in each mode that users can see', () => {
  const styles = overlay(defaultStyles, { offerText: { buttonYes: { color: '#8fb0ff' } } });
  const dark = overlay(defaultAppearance.dark, { footer: { textColor: '#333333' } });
  const pathsOf = (color_scheme: string) =>
    lowContrasts(styles, { ...defaultAppearance, color_scheme, dark }).map(({ path }) => path);
  const yes = 'styles.offerText.buttonYes.color';
  const footer = 'appearance.dark.footer.textColor';
  expect(pathsOf('light')).toEqual([yes, yes]);
  expect(pathsOf('dark')).toEqual([footer]);
  expect(pathsOf('system')).toEqual([yes, yes, footer]);
  expect(lowContrasts(styles, null)[0]).toEqual({
    path: yes,
    on: 'styles.offerText.buttonYes.background',
    ratio: 2.87,
  });
});
