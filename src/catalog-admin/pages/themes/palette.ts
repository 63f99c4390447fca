import { contrastOf, minContrast } from '../../theme-overrides.ts';

/** Red, green and blue components of a colour, each from 0 to 255. */
type Rgb = readonly [red: number, green: number, blue: number];

/** Colours of an offer unit by role, as `#rrggbb`. */
type Roles = {
  background: string;
  text: string;
  quiet: string;
  card: string;
  cardHover: string;
  cardBorder: string;
  yes: string;
  yesHover: string;
  yesText: string;
  no: string;
  noHover: string;
  noBorder: string;
};

export type Palette = { light: Roles; dark: Roles };

const colourPattern = /rgba?\(([^)]*)\)|#([\da-f]{8}|[\da-f]{6}|[\da-f]{3,4})\b|(?<![\w#])([\da-f]{6}|[\da-f]{3})\b/gi;
const channelsPattern = /^\s*(\d{1,3})[\s,]+(\d{1,3})[\s,]+(\d{1,3})\s*(?:[,/].*)?$/;
const [white, black] = ['#ffffff', '#000000'];
/** Maximum number of steps when adjusting a colour to make it readable. */
const steps = 40;

/** Returns the colours in a string such as `#1f5f4a, #fff8ec`, as `#rrggbb` without opacity. */
export const coloursIn = (text: string): string[] => [
  ...new Set(
    [...text.matchAll(colourPattern)].flatMap(([, rgb, hex, bare]) =>
      rgb === undefined ? [ofDigits((hex ?? bare ?? '').toLowerCase())] : ofChannels(rgb),
    ),
  ),
];

const ofDigits = (digits: string): string =>
  `#${digits.length < 6 ? [...digits.slice(0, 3)].map((digit) => digit + digit).join('') : digits.slice(0, 6)}`;

function ofChannels(text: string): string[] {
  const channels = channelsPattern.exec(text)?.slice(1).map(Number);
  return channels?.every((channel) => channel < 256) ? [hexOf(channels)] : [];
}

/**
 * Generates a palette from brand colours. The first colour is used for buttons. Of the other colours, a light one
 * becomes the background and a dark one the text colour. For any input, all text has sufficient contrast (WCAG 2.2,
 * level AA).
 */
export const paletteOf = ([brand = black, ...others]: readonly string[]): Palette => ({
  light: lightRoles(brand, others),
  dark: darkRoles(brand),
});

function lightRoles(brand: string, others: readonly string[]): Roles {
  const background = others.find((colour) => contrast(colour, black) > 15) ?? white;
  const [cardHover, cardBorder] = [mix(background, brand, 0.05), mix(background, brand, 0.2)];
  const surfaces = [background, cardHover];
  const dark = others.find((colour) => contrast(colour, background) > 7) ?? mix(brand, '#14161a', 0.85);
  const text = readable(dark, surfaces, black);
  const quiet = readable(mix(text, background, 0.3), surfaces, text);
  return {
    background,
    text,
    quiet,
    card: background,
    cardHover,
    cardBorder,
    ...button(brand),
    no: background,
    noHover: cardHover,
    noBorder: mix(background, text, 0.35),
  };
}

function darkRoles(brand: string): Roles {
  const background = mix('#14161a', brand, 0.06);
  const [card, cardHover] = [mix(background, white, 0.05), mix(background, white, 0.1)];
  const surfaces = [background, card, cardHover];
  const text = readable(mix(white, brand, 0.05), surfaces, white);
  const quiet = readable(mix(text, background, 0.3), surfaces, text);
  return {
    background,
    text,
    quiet,
    card,
    cardHover,
    cardBorder: mix(background, white, 0.2),
    ...button(readable(brand, [background], white)),
    no: background,
    noHover: cardHover,
    noBorder: mix(background, white, 0.35),
  };
}

/**
 * Returns the colours of a button. The hover colour contrasts more strongly with the text colour than the normal colour
 * does.
 */
function button(yes: string): { yes: string; yesHover: string; yesText: string } {
  const isWhite = contrast(white, yes) >= minContrast;
  const yesText = isWhite ? white : readable(mix(yes, black, 0.85), [yes], black);
  return { yes, yesText, yesHover: mix(yes, isWhite ? black : white, 0.18) };
}

const contrast = (a: string, b: string): number => contrastOf(a, b) ?? 1;

/** Moves a colour towards another until it is readable on all given backgrounds. */
function readable(colour: string, on: readonly string[], towards: string): string {
  for (let step = 0; step < steps; step += 1) {
    const moved = mix(colour, towards, step / steps);
    if (on.every((background) => contrast(moved, background) >= minContrast)) return moved;
  }
  return towards;
}

/** Mixes two colours. `share` is the share of the second colour (0–1). */
function mix(first: string, second: string, share: number): string {
  const [from, to] = [channels(first), channels(second)];
  const mixed = from.map((channel, index) => Math.round(channel + ((to[index] ?? 0) - channel) * share));
  return hexOf(mixed);
}

const hexOf = (of: readonly number[]): string =>
  `#${of.map((channel) => channel.toString(16).padStart(2, '0')).join('')}`;

const channels = (colour: string): Rgb => {
  const value = Number.parseInt(colour.slice(1), 16);
  return [value >> 16, (value >> 8) & 255, value & 255];
};
