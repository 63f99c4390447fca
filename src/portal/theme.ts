import type { PortalTheme } from '../shell/context.ts';

/** Returns the relative luminance of a colour such as `#1f5f4a` (WCAG 2). */
function luminanceOf(colour: string): number {
  const [red = 0, green = 0, blue = 0] = [1, 3, 5].map((start) => {
    const share = Number.parseInt(colour.slice(start, start + 2), 16) / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

/** Luminance above which black text has more contrast than white text. */
const lightFrom = 0.179;

function tokensOf(accent: string, mixedWith: 'black' | 'white'): string {
  return `:root {
    --accent: ${accent};
    --accent-hover: color-mix(in srgb, ${accent} 82%, ${mixedWith});
    --on-accent: ${luminanceOf(accent) > lightFrom ? '#000000' : '#ffffff'};
    --accent-soft: color-mix(in srgb, ${accent} 14%, var(--surface));
  }`;
}

/** Returns the style sheet with the colours of a portal. All colours have the format `#rrggbb`. */
export function themeCss({ accent_color: light, accent_color_dark: dark }: PortalTheme): string {
  const rules = [
    light !== undefined && `@media (prefers-color-scheme: light) { ${tokensOf(light, 'black')} }`,
    dark !== undefined && `@media (prefers-color-scheme: dark) { ${tokensOf(dark, 'white')} }`,
  ];
  return rules.filter((rule) => rule !== false).join('\n');
}
