import { expect, test } from 'vitest';
import { hostedStyle } from '../../src/catalog/themes.ts';
import type { Publisher, Theme } from '../../src/catalog/types.ts';

const publisher = { name: 'Shop' } as Publisher;
const styleOf = (theme: Partial<Theme>): string =>
  hostedStyle(publisher, { settings: {}, styles: {}, appearance: {}, ...theme } as Theme, '');

test('a hosted page uses the colours, corners and font of the theme', () => {
  const style = styleOf({
    styles: {
      offerText: { font: 'Georgia, serif', textColor: '#112233' },
      offerwall: { tile_radius: 3, button: { offerwall_mou_button_background: 'rgb(1, 2, 3)' } },
    },
  });
  for (const part of ['--font:Georgia, serif,', '--text:#112233;', '--tile-radius:3px;', '--action:rgb(1, 2, 3);'])
    expect(style).toContain(part);
  expect(style).not.toContain('prefers-color-scheme');
});

test('a hosted page is dark if the theme is always dark or follows a dark device', () => {
  const dark = { offerText: { textColor: '#ddeeff' } };
  expect(styleOf({ appearance: { color_scheme: 'dark', dark } })).toMatch(
    /:root\{color-scheme:dark;[^}]*--text:#ddeeff/,
  );
  expect(styleOf({ appearance: { color_scheme: 'system', dark } })).toMatch(
    /@media\(prefers-color-scheme:dark\)\{:root\{[^}]*--text:#ddeeff/,
  );
  expect(styleOf({ appearance: { dark } })).not.toContain('#ddeeff');
});

test('no stored theme value can break out of its place in the style sheet', () => {
  const attacks = [
    'red;}</style><script>alert(1)</script>',
    'url(https://evil.example/)',
    '#fff}body{display:none',
    'a/*',
  ];
  for (const attack of attacks) {
    const styles = {
      popup: { background: attack },
      offerText: { font: attack, textColor: attack },
      offerwall: { button: { offerwall_mou_button_color: attack }, tile_radius: 1e9 },
    };
    const style = styleOf({ styles, appearance: { color_scheme: 'system', dark: styles } });
    expect(style).not.toContain(attack);
    expect(style).not.toContain('evil');
    expect(style).toContain('--tile-radius:200px');
  }
});
