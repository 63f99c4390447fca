import type { OfferAppearance, OfferStyles } from '@perkwire/client';
import { overlay } from './theme-settings.ts';

/** Minimum contrast of text (WCAG 2.2, level AA). */
export const minContrast = 4.5;

/** A text colour with too little contrast. `path` is dotted, within styles or appearance; `ratio` is 1 to 21. */
export type LowContrast = { path: string; on: string; ratio: number };

/** Text colours and their backgrounds, as paths in {@link OfferStyles}. */
const pairs: readonly (readonly [text: string, background: string])[] = [
  ['header.textColor', 'header.background'],
  ['header.lead_in_text_color', 'header.background'],
  ['offerText.textColor', 'popup.background'],
  ['offerText.textColor', 'offerwall.tile.mou_tile_background_color'],
  ['offerText.textColor', 'offerwall.tile.offerwall_mou_tile_background_hover_color'],
  ['offerText.buttonYes.color', 'offerText.buttonYes.background'],
  ['offerText.buttonYes.color', 'offerText.buttonYes.hover'],
  ['offerText.buttonNo.color', 'offerText.buttonNo.background'],
  ['offerText.buttonNo.color', 'offerText.buttonNo.hover'],
  ['offerwall.button.offerwall_mou_button_color', 'offerwall.button.offerwall_mou_button_background'],
  ['offerwall.button.offerwall_mou_button_color', 'offerwall.button.offerwall_mou_button_hover'],
  ['footer.textColor', 'popup.background'],
];

/**
 * Returns the text colours of a theme with a contrast below 4.5:1, in light mode and, if the theme has it, dark mode.
 */
export function lowContrasts(styles: OfferStyles, appearance: OfferAppearance | null): LowContrast[] {
  const scheme = appearance?.color_scheme ?? 'light';
  const light = scheme === 'dark' ? [] : below(styles, 'styles');
  const dark =
    appearance === null || scheme === 'light' ? [] : below(overlay(styles, appearance.dark), 'appearance.dark');
  return [...light, ...dark];
}

function below(styles: OfferStyles, root: string): LowContrast[] {
  return pairs.flatMap(([path, on]) => {
    const ratio = contrastOf(colourAt(styles, path), colourAt(styles, on));
    return ratio === null || ratio >= minContrast
      ? []
      : [{ path: `${root}.${path}`, on: `${root}.${on}`, ratio: Math.floor(ratio * 100) / 100 }];
  });
}

const colourAt = (styles: OfferStyles, path: string): string =>
  String(path.split('.').reduce<unknown>((at, name) => (at as Record<string, unknown>)[name], styles));

/**
 * Contrast ratio of two colours.
 * @returns 1 to 21, or null unless both are opaque colours in hexadecimal or `rgb()` notation
 */
export function contrastOf(first: string, second: string): number | null {
  const [a, b] = [luminanceOf(first), luminanceOf(second)];
  return a === null || b === null ? null : (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
}

function luminanceOf(colour: string): number | null {
  const channels = channelsOf(colour.trim());
  if (channels === null) return null;
  const [red = 0, green = 0, blue = 0] = channels.map((channel) => {
    const share = channel / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

function channelsOf(colour: string): number[] | null {
  const short = /^#([\da-f])([\da-f])([\da-f])$/i.exec(colour);
  const hex = short?.slice(1).map((digit) => digit + digit) ?? /^#(..)(..)(..)$/.exec(colour)?.slice(1);
  if (hex?.every((pair) => /^[\da-f]{2}$/i.test(pair))) return hex.map((pair) => Number.parseInt(pair, 16));
  const rgb = /^rgb\(\s*(\d{1,3})[\s,]+(\d{1,3})[\s,]+(\d{1,3})\s*\)$/i.exec(colour)?.slice(1).map(Number);
  return rgb?.every((channel) => channel <= 255) ? rgb : null;
}
