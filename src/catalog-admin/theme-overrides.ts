import {
  defaultAppearance,
  defaultSettings,
  defaultStyles,
  type OfferAppearance,
  type OfferStyles,
  type WebFont,
} from '@perkwire/client';
import { type TObject, type TProperties, Type } from '@sinclair/typebox';
import { buildAppearance, fontFamilyPattern, fontUrlPattern, fontWeightsPattern, overlay } from '../catalog/themes.ts';
import { maxUrlLength, text } from '../management/fields.ts';
import { patternProblem } from '../management/schema-errors.ts';
import type { ErrorDetail } from '../platform/errors.ts';
import { parseUrl } from '../platform/lib/url.ts';
import { type Problem, problem } from '../platform/problem.ts';

const maxTextLength = 2000;
const maxNumber = 86_400_000;

/** Names that the API reference gives to schemas that occur several times. */
const partNames: Record<string, string> = {
  buttonYes: 'ThemeButton',
  buttonNo: 'ThemeButton',
  button: 'ThemeOfferwallButton',
};

/** Builds the schema of a theme's overrides. It has the structure of the defaults, with all keys optional. */
function overridesOf(defaults: object, title?: string): TObject {
  const fields: TProperties = {};
  for (const [name, value] of Object.entries(defaults) as [string, unknown][]) {
    if (typeof value === 'object' && value !== null) fields[name] = Type.Optional(overridesOf(value, partNames[name]));
    else if (typeof value === 'number')
      fields[name] = Type.Optional(Type.Integer({ minimum: -maxNumber, maximum: maxNumber }));
    else if (typeof value === 'boolean') fields[name] = Type.Optional(Type.Boolean());
    else fields[name] = Type.Optional(Type.String({ maxLength: maxTextLength }));
  }
  return Type.Object(fields, { additionalProperties: false, ...(title !== undefined && { title }) });
}

export const settingsOverrides = overridesOf(defaultSettings);
export const stylesOverrides = overridesOf(defaultStyles);

const oneOf = (values: readonly string[]) => Type.Optional(Type.Union(values.map((value) => Type.Literal(value))));

const colorSchemes = ['light', 'dark', 'system'] as const;
const spacings = ['compact', 'normal', 'relaxed'] as const;
const maxUnitWidthPx = 2000;

/** Maximum font metric, in thousandths of the font size. */
const maxMeasure = 4000;
const measure = (description: string) => Type.Optional(Type.Integer({ minimum: 0, maximum: maxMeasure, description }));

/** Schema of the font metrics that `POST /manage/v1/fonts` measures, in thousandths of the font size. */
export const fontMeasures = {
  ascent: measure('Distance from the baseline to the top of the line.'),
  descent: measure('Distance from the baseline to the bottom of the line.'),
  line_gap: measure('Extra space between two lines.'),
  width: measure('Average width of the letters in English text.'),
};

/** Schema of a web font (docs/reference/themes-and-rendering.md#web-fonts). */
const webFont = Type.Object(
  {
    family: Type.Optional(
      Type.String({
        pattern: fontFamilyPattern,
        [patternProblem]: problem('fontName'),
        description: 'Font family name.',
      }),
    ),
    url: text(maxUrlLength, { description: 'URL of a woff2 file.' }),
    weights: Type.Optional(
      Type.String({
        pattern: fontWeightsPattern,
        [patternProblem]: problem('fontWeights'),
        description: 'Font weight, such as `400`, or a range for a variable font, such as `100 900`.',
      }),
    ),
    ...fontMeasures,
    bold_url: Type.Optional(
      text(maxUrlLength, { description: 'URL of the bold woff2 file, from the same origin. Empty for none.' }),
    ),
    bold_width: measure('`width` of the bold font.'),
  },
  { title: 'WebFont', additionalProperties: false },
);

export const appearanceOverrides = Type.Object(
  {
    ...overridesOf(defaultAppearance).properties,
    color_scheme: oneOf(colorSchemes),
    spacing: oneOf(spacings),
    width: Type.Optional(Type.Integer({ minimum: 0, maximum: maxUnitWidthPx })),
    web_font: Type.Optional(webFont),
  },
  { additionalProperties: false },
);

type Overrides = Record<'settings' | 'styles' | 'appearance', Record<string, unknown>>;

/** Overrides that have no effect, because their values are derived from the publisher and from other theme fields. */
const derived = [
  'multi_offer_unit',
  'enable_usp',
  'usp_all_offers_checked',
  'enable_wallet',
  'enable_perkswallet',
  'enable_offerwall',
] as const;

const links = [
  'settings/privacy_policy',
  'styles/footer/publisher_privacy_policy',
  'styles/offerwall/offerwall_logo_url',
];

/** Validates what the schema cannot express: links that clients open, and strings that clients parse as numbers. */
export function checkOverrides(theme: Overrides): ErrorDetail[] {
  const details: ErrorDetail[] = [];
  for (const path of links) {
    const value = path
      .split('/')
      .reduce<unknown>((at, name) => (at as Record<string, unknown> | undefined)?.[name], theme);
    if (
      value !== undefined &&
      value !== '' &&
      !(/^https?:\/\/\S+$/.test(String(value)) && parseUrl(String(value)) !== null)
    )
      details.push({ path: `/${path}`, message: problem('httpsUrlOrEmpty') });
  }
  const { borderRadius = {} } = (theme.styles.popup ?? {}) as { borderRadius?: Record<string, string> };
  for (const [corner, radius] of Object.entries(borderRadius)) {
    if (!/^\d{1,4}(\.\d{1,4})?$/.test(radius))
      details.push({ path: `/styles/popup/borderRadius/${corner}`, message: problem('plainNumber') });
  }
  const event = theme.settings.usp_confirmation_event;
  if (event !== undefined && !/^\S{1,100}$/.test(String(event)))
    details.push({ path: '/settings/usp_confirmation_event', message: problem('eventName') });
  return [...details, ...checkFont(theme.appearance.web_font as Partial<WebFont> | undefined)];
}

const loopback = /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/;

/**
 * Returns the problem with a font URL, or null if the URL is valid. `http:` URLs are valid only for loopback addresses,
 * because browsers load fonts over `http:` only from their own machine.
 */
export function fontUrlProblem(text: string): Problem | null {
  const url = parseUrl(text);
  if (url === null || !new RegExp(fontUrlPattern).test(text)) return problem('fontUrl');
  const isSafe = url.protocol === 'https:' || loopback.test(url.hostname);
  if (!isSafe || url.username !== '') return problem('fontHttps');
  return null;
}

function checkFont(font: Partial<WebFont> | undefined): ErrorDetail[] {
  if (font === undefined) return [];
  const { url = '', bold_url: boldUrl = '' } = font;
  const problems = { url: fontUrlProblem(url), bold_url: boldUrl === '' ? null : fontUrlProblem(boldUrl) };
  if (problems.url === null && problems.bold_url === null) {
    const isOther = boldUrl !== '' && parseUrl(boldUrl)?.origin !== parseUrl(url)?.origin;
    const unmeasured = problem('fontUnmeasured');
    if (!font.family || !font.ascent || !font.width) problems.url = unmeasured;
    if (boldUrl !== '' && !font.bold_width) problems.bold_url = unmeasured;
    if (isOther) problems.bold_url = problem('fontOrigin');
  }
  return Object.entries(problems).flatMap(([name, message]) =>
    message === null ? [] : [{ path: `/appearance/web_font/${name}`, message }],
  );
}

/** Returns warnings about overrides that have no effect, and about text with insufficient contrast. */
export const warnOfTheme = (theme: Overrides): ErrorDetail[] => [
  ...derived
    .filter((name) => Object.hasOwn(theme.settings, name))
    .map((name) => ({
      path: `/settings/${name}`,
      message: problem('noEffect'),
    })),
  ...lowContrasts(overlay(defaultStyles, theme.styles), buildAppearance(theme)).map(({ path, on, ratio }) => ({
    path: `/${path.replaceAll('.', '/')}`,
    message: problem('hardToRead', { background: on, ratio }),
  })),
];

/** Minimum contrast ratio between text and background (WCAG 2.2, level AA). */
export const minContrast = 4.5;

/**
 * Text colour with insufficient contrast. `path` is a dotted path within styles or appearance; `ratio` is the contrast
 * ratio, from 1 to 21.
 */
export type LowContrast = { path: string; on: string; ratio: number };

/** Text colours with their backgrounds, as paths in {@link OfferStyles}. */
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
 * Returns the theme's text colours whose contrast is below 4.5:1 in light mode or, if the theme supports it, in dark
 * mode.
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
 * Computes the contrast ratio between two colours.
 * @returns 1 to 21, or null unless both colours are opaque and in hexadecimal or `rgb()` notation
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
