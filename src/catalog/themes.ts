import { hash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import {
  type DarkStyles,
  defaultAppearance,
  defaultSettings,
  defaultStyles,
  type OfferAppearance,
  type OfferSettings,
  type OfferStyles,
  type WebFont,
} from '@perkwire/client';
import { type Language, languages } from '../platform/i18n/languages.ts';
import { type Problem, problem } from '../platform/problem.ts';
import { maxThemeKeyLength, normaliseName } from './names.ts';
import type { Publisher, Theme } from './types.ts';

type Corner = keyof OfferStyles['popup']['borderRadius'];

/** Pattern for a border radius: a number without a unit, because that is what clients can parse. */
const plainNumber = /^\d+(\.\d+)?$/;

/**
 * Builds the settings of a theme from the defaults, the theme's overrides and the publisher's settings. Overrides whose
 * type differs from the default are ignored.
 */
export function buildSettings(
  publisher: Publisher,
  theme: Theme | null,
  usp: boolean,
  privacyUrl: string,
): OfferSettings {
  const settings = overlay(defaultSettings, theme?.settings ?? {});
  return {
    ...settings,
    privacy_policy: settings.privacy_policy || privacyUrl,
    multi_offer_unit: theme?.unit === 'mou',
    enable_usp: usp,
    usp_all_offers_checked: usp && theme?.uspCheckAll === true,
    enable_wallet: publisher.walletEnabled,
    enable_perkswallet: publisher.walletEnabled,
    enable_offerwall: publisher.offerwallEnabled,
  };
}

export function buildStyles(publisher: Publisher, theme: Theme | null, privacyUrl: string): OfferStyles {
  const styles = overlay(defaultStyles, theme?.styles ?? {});
  for (const [corner, radius] of Object.entries(styles.popup.borderRadius) as [Corner, string][]) {
    if (!plainNumber.test(radius)) styles.popup.borderRadius[corner] = defaultStyles.popup.borderRadius[corner];
  }
  styles.footer.publisher_name ||= publisher.name;
  styles.footer.publisher_privacy_policy ||= privacyUrl;
  return styles;
}

/** Translates the labels that the theme does not override. */
export const translateSettings = (settings: OfferSettings, language: Language): OfferSettings =>
  translated(settings, defaultSettings, languages[language].texts.endUser.unit.settings);

export const translateStyles = (styles: OfferStyles, language: Language): OfferStyles =>
  translated(styles, defaultStyles, languages[language].texts.endUser.unit.styles);

type Words = { readonly [name: string]: string | Words };

/** Returns `values` with each English default text replaced by its translation. */
function translated<Given extends object>(values: Given, english: object, words: Words): Given {
  const result = { ...values } as Record<string, unknown>;
  for (const [name, text] of Object.entries(words)) {
    const [value, englishText] = [result[name], (english as Record<string, unknown>)[name]];
    if (typeof text === 'object') result[name] = translated(value as object, englishText as object, text);
    else if (value === englishText) result[name] = text;
  }
  return result as Given;
}

type ThemeStyle = { styles: Theme['styles']; appearance: Theme['appearance'] };

/**
 * Builds the appearance of a theme. Returns null if the theme overrides nothing, so that strict clients do not receive
 * an unknown field.
 */
export function buildAppearance(theme: ThemeStyle | null): OfferAppearance | null {
  if (theme === null || Object.keys(theme.appearance).length === 0) return null;
  const font = Object.hasOwn(theme.appearance, 'web_font') && { web_font: noWebFont };
  const built = overlay({ ...defaultAppearance, ...font, dark: darkStylesOf(theme.styles) }, theme.appearance);
  if (built.web_font !== undefined) Object.assign(built.web_font, webFontFaces(built.web_font));
  return built;
}

/** Returns the dark palette of a theme without dark colours. Buttons keep the theme's own colours. */
export function darkStylesOf(overrides: Readonly<Record<string, unknown>>): DarkStyles {
  const { dark } = defaultAppearance;
  const styles = overlay(defaultStyles, overrides);
  const branded = <Colours extends object>(colours: Colours, own: Colours, plain: Colours): Colours =>
    isDeepStrictEqual(own, plain) ? colours : own;
  const { offerText, offerwall } = styles;
  return {
    ...dark,
    offerText: {
      ...dark.offerText,
      buttonYes: branded(dark.offerText.buttonYes, offerText.buttonYes, defaultStyles.offerText.buttonYes),
    },
    offerwall: {
      ...dark.offerwall,
      button: branded(dark.offerwall.button, offerwall.button, defaultStyles.offerwall.button),
    },
  };
}

/** Deep-copies `base`, replacing values with those of `over` that have the same type. Unknown keys are ignored. */
export function overlay<Base extends object>(base: Base, over: Readonly<Record<string, unknown>>): Base {
  const result: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(base)) {
    const override = Object.hasOwn(over, key) ? over[key] : undefined;
    if (typeof value === 'object') result[key] = overlay(value, isObject(override) ? override : {});
    else result[key] = isSameType(value, override) ? override : value;
  }
  return result as Base;
}

/**
 * Whether an override has the same type as the default. Numbers must be safe integers: beyond 2^53, JSON writes some of
 * them as `1e+21`, which clients cannot parse as an integer.
 */
const isSameType = (value: unknown, override: unknown): boolean =>
  typeof override === typeof value && (typeof value !== 'number' || Number.isSafeInteger(override));

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Returns the URL of the publisher's own privacy page, or else of the one that this service hosts. */
export const privacyUrlOf = (publisher: Publisher, publicUrl: string, language: Language = 'en'): string =>
  publisher.privacyUrl ?? `${publicUrl}/privacy/${publisher.sdkId}${language === 'en' ? '' : `?language=${language}`}`;

const keyPattern = /^[\p{L}\p{M}\p{N}.-]+$/u;

/**
 * Returns the problem with a normalised theme key, or null if it is valid. A key that consists only of digits is
 * rejected because it would be interpreted as an ID (docs/reference/themes-and-rendering.md#themes).
 */
export function themeKeyProblem(key: string): Problem | null {
  if (!keyPattern.test(key)) return problem('themeKey');
  return /^\d+$/.test(key) ? problem('themeKeyNumber') : null;
}

/** Generates an unused key from a theme's name. */
export function themeKeyFrom(name: string, usedKeys: ReadonlySet<unknown>): string {
  const letters = normaliseName(name)
    .replace(/[^\p{L}\p{M}\p{N}.]+/gu, '-')
    .replace(/^-+/, '');
  const text = [...letters]
    .slice(0, maxThemeKeyLength - 8)
    .join('')
    .replace(/-+$/, '');
  const base = themeKeyProblem(text) === null ? text : text === '' ? 'theme' : `theme-${text}`;
  for (let number = 1; ; number += 1) {
    const key = number === 1 ? base : `${base}-${number}`;
    if (!usedKeys.has(key)) return key;
  }
}

/** Returns the theme with the given ID or key, or null if the publisher has no such theme. */
export function findTheme({ themes, themesByKey }: Publisher, name: string): Theme | null {
  if (name.length > 2 * maxThemeKeyLength) return null;
  const theme = /^\d+$/.test(name) ? themes.get(Number(name)) : themesByKey.get(normaliseName(name));
  return theme ?? null;
}

/**
 * Builds the style sheet of a hosted page (offerwall, wallet, privacy page) in the publisher's theme, for light and
 * dark mode. It contains the palette, common rules, and the page's own `rules`. Theme values are inserted into the
 * style sheet, so invalid colours, numbers and font names are replaced with the defaults.
 */
export function hostedStyle(publisher: Publisher, theme: Theme | null, rules: string): string {
  const styles = buildStyles(publisher, theme, '');
  const appearance = buildAppearance(theme);
  const page = 'color-mix(in srgb,var(--text) 4%,var(--surface))';
  const font = appearance?.web_font;
  const light = declarations({ page, ...palette(styles, defaultStyles), ...measures(styles, font?.families) });
  return `${font?.faces ?? ''}:root{color-scheme:light;${light}}${darkRule(styles, appearance)}${common}${rules}`;
}

type BrandColours = Record<'surface' | 'text' | 'action' | 'on-action' | 'tile' | 'tile-edge', string>;

/** Returns the colours of a publisher's default theme, for e-mails, which cannot use a style sheet. */
export function brandColours(publisher: Publisher): Record<'light' | 'dark', BrandColours> {
  const theme = publisher.defaultTheme;
  const styles = buildStyles(publisher, theme, '');
  const appearance = buildAppearance(theme);
  const dark = overlay(styles, appearance?.dark ?? defaultAppearance.dark);
  const colours = {
    light: palette(styles, defaultStyles) as BrandColours,
    dark: palette(dark, overlay(defaultStyles, defaultAppearance.dark)) as BrandColours,
  };
  return appearance?.color_scheme === 'dark' ? { light: colours.dark, dark: colours.dark } : colours;
}

/** Returns the CSP directives that allow an inline style sheet and the origin of its font. */
export function styleDirectives(style: string): string[] {
  const font = /^@font-face\{[^}]*src:url\("([^"]+)"\)/.exec(style)?.[1];
  return [
    `style-src 'sha256-${hash('sha256', style, 'base64')}'`,
    ...(font === undefined ? [] : [`font-src ${new URL(font).origin}`]),
  ];
}

function darkRule(styles: OfferStyles, appearance: ReturnType<typeof buildAppearance>): string {
  const scheme = appearance?.color_scheme;
  if (appearance === null || (scheme !== 'dark' && scheme !== 'system')) return '';
  const dark = overlay(styles, appearance.dark);
  // Use the surface colour for the page, so that cards are lighter than the page background in dark mode.
  const colours = { page: 'var(--surface)', ...palette(dark, overlay(defaultStyles, defaultAppearance.dark)) };
  const rule = `:root{color-scheme:dark;${declarations(colours)}}`;
  return scheme === 'dark' ? rule : `@media(prefers-color-scheme:dark){${rule}}`;
}

const declarations = (values: Record<string, string>): string =>
  Object.entries(values)
    .map(([name, value]) => `--${name}:${value};`)
    .join('');

/** Returns the colours for hosted pages, by purpose. */
function palette(styles: OfferStyles, defaults: OfferStyles): Record<string, string> {
  const pick = ({ popup, header, offerText, offerwall: { button, tile } }: OfferStyles) => ({
    surface: popup.background,
    text: offerText.textColor,
    head: header.background,
    'on-head': header.textColor,
    action: button.offerwall_mou_button_background,
    'on-action': button.offerwall_mou_button_color,
    'action-hover': button.offerwall_mou_button_hover,
    'action-edge': button.offerwall_mou_button_stroke,
    tile: tile.mou_tile_background_color,
    'tile-hover': tile.offerwall_mou_tile_background_hover_color,
    'tile-edge': tile.offerwall_mou_border_color,
  });
  const fallback = pick(defaults);
  return Object.fromEntries(
    Object.entries(pick(styles)).map(([name, value]) => [
      name,
      isColour(value) ? value : fallback[name as keyof typeof fallback],
    ]),
  );
}

const isColour = (value: string): boolean =>
  /^(#[\da-f]{3,8}|[a-z]{3,30}|(rgb|hsl)a?\([\d.,%\s/]{1,60}\))$/i.test(value);

function measures({ offerText, offerwall }: OfferStyles, webFont = ''): Record<string, string> {
  const px = (value: number): string => `${Math.min(Math.max(value, 0), 200)}px`;
  const font = /^[\w\s,-]{1,200}$/.test(offerText.font) ? `${offerText.font},` : '';
  const first = webFont === '' ? font : `${webFont},${font}`;
  return {
    font: `${first}system-ui,-apple-system,"Segoe UI",Roboto,sans-serif`,
    gap: px(offerwall.mou_tile_gap),
    'tile-radius': px(offerwall.tile_radius),
    'tile-edge-width': px(offerwall.tile.offerwall_mou_border_thickness),
    'button-radius': px(offerText.offerwall_mou_button_radius),
  };
}

const common = `
:root{
  --quiet:color-mix(in srgb,var(--text) 76%,var(--surface));
  --line:color-mix(in srgb,var(--text) 24%,var(--surface));
  --tint:color-mix(in srgb,var(--text) 7%,var(--surface))
}
*{box-sizing:border-box}
body{margin:0;background:var(--page);color:var(--text);font:1rem/1.5 var(--font);overflow-wrap:anywhere}
[dir=auto]{text-align:-webkit-match-parent;text-align:match-parent}
h1,h2,p,ul{margin:0;padding:0}
ul{list-style:none}
h1{font-size:clamp(1.375rem,4vw,1.875rem);line-height:1.2;letter-spacing:-.015em;text-wrap:balance}
h2{font-size:1.0625rem;line-height:1.3;letter-spacing:-.005em;text-wrap:balance}
a{color:inherit;text-underline-offset:3px}
.quiet,.brand{color:var(--quiet);font-size:.875rem}
.brand{font-size:.8125rem;font-weight:600;letter-spacing:.03em}
.sr{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%)}
.tile{
  display:flex;position:relative;flex-direction:column;min-width:0;overflow:hidden;background:var(--tile);
  border:var(--tile-edge-width) solid var(--tile-edge);border-radius:var(--tile-radius)
}
.media{
  display:grid;position:relative;flex:none;aspect-ratio:16/10;overflow:hidden;
  background:linear-gradient(135deg,var(--tint),var(--line))
}
.media::before{content:attr(data-initial);margin:auto;font-size:3rem;font-weight:600;color:var(--quiet)}
.media img{position:absolute;inset:0;width:100%;height:100%;object-fit:cover}
.text{display:flex;flex:1;flex-direction:column;gap:.375rem;padding:1rem}
.actions{display:flex;flex-wrap:wrap;align-items:center;gap:.5rem;margin-top:auto;padding-top:.75rem}
.button{
  display:inline-flex;align-items:center;justify-content:center;min-height:2.75rem;padding:.5rem 1rem;
  border:1px solid var(--line);border-radius:var(--button-radius);background:none;color:inherit;font:inherit;
  font-size:.9375rem;line-height:1.25;text-align:center;text-decoration:none;cursor:pointer;
  transition:background .15s,border-color .15s
}
.button:hover{background:var(--tint)}
.button:disabled{opacity:.7;cursor:default}
.main{flex:1;border-color:var(--action-edge);background:var(--action);color:var(--on-action);font-weight:600}
.main:hover{background:var(--action-hover)}
.plain{border-color:transparent;color:var(--quiet);text-decoration:underline;text-decoration-color:var(--line);
  text-underline-offset:4px}
summary{
  display:flex;align-items:center;gap:.5rem;min-height:2.75rem;cursor:pointer;color:var(--quiet);font-size:.875rem
}
summary::after{
  content:"";width:.45rem;height:.45rem;margin-top:-.25rem;border:solid;border-width:0 1.5px 1.5px 0;rotate:45deg
}
[open]>summary::after{margin-top:.25rem;rotate:225deg}
.terms{max-height:16rem;overflow:auto;padding:.75rem 1rem;border-radius:.5rem;background:var(--tint);font-size:.875rem}
.terms *{unicode-bidi:plaintext}
.terms :is(ul,ol){list-style:disc;padding-inline-start:1.25em}
.terms *+:is(p,ul,ol){margin-top:.5em}
:focus-visible{outline:2px solid var(--text);outline-offset:2px;box-shadow:0 0 0 2px var(--surface)}
@media(prefers-reduced-motion:reduce){*{transition:none!important;scroll-behavior:auto!important}}
`;

/** Default values of the web font fields. */
export const noWebFont: WebFont = {
  family: '',
  url: '',
  weights: '400',
  ascent: 0,
  descent: 0,
  line_gap: 0,
  width: 0,
  bold_url: '',
  bold_width: 0,
  faces: '',
  families: '',
};

/** Pattern for font URLs. It is strict because font URLs are inserted into style sheets. */
export const fontUrlPattern = '^https?://[\\w.\\[\\]:-]+/[\\w./~%@+=&?,;!$*-]*$';
export const fontFamilyPattern = '^[^\\s"\'\\\\<>{}();,][^"\'\\\\<>{}();,\\x00-\\x1f]{0,59}$';
export const fontWeightsPattern = '^[1-9]\\d{0,3}( [1-9]\\d{0,3})?$';

/** Sample text whose letters occur about as often as in English. */
export const averageText = 'aaabcdeeeefghiijklmnnoopqrrssttuvwxyz      ';

/**
 * Average character width of Arial and its bold variant, in thousandths of the font size. The stand-in fonts have the
 * same width.
 */
const arialWidth = 456.26;
const arialBoldWidth = 493.7;

/**
 * Local fonts that serve as stand-ins: Arial and fonts with the same character widths. The widths of Roboto differ by
 * less than 1%.
 */
const standIns = ['Arial', 'Liberation Sans', 'Arimo', 'Roboto'];

/**
 * Builds the `@font-face` rules for a web font and its stand-in, and the `font-family` value that uses both. All are
 * empty if a value is invalid. The rules must be placed in the document, because browsers ignore `@font-face` in a
 * shadow root.
 */
function webFontFaces(font: WebFont): { faces: string; families: string } {
  const { family, url, weights, width, bold_url: boldUrl, bold_width: boldWidth } = font;
  const isRight =
    new RegExp(fontFamilyPattern).test(family) &&
    new RegExp(fontWeightsPattern).test(weights) &&
    [url, ...(boldUrl === '' ? [] : [boldUrl])].every((fontUrl) => new RegExp(fontUrlPattern).test(fontUrl)) &&
    [font.ascent, width].every((measure) => measure > 0);
  if (!isRight) return { faces: '', families: '' };
  const name = `"perkwire ${family}"`;
  const standIn = `"perkwire ${family} stand-in"`;
  const face = (rules: string): string => `@font-face{font-display:swap;${rules}}`;
  const loaded = (of: string, weight: string): string =>
    face(`font-family:${name};font-weight:${weight};src:url("${of}") format("woff2");${heights(font, 1)}`);
  const local = (suffix: string, weight: string, share: number): string => {
    const sources = standIns.map((name) => `local("${name}${suffix}")`).join();
    const size = `size-adjust:${percent(share)};${heights(font, share)}`;
    return face(`font-family:${standIn};font-weight:${weight};src:${sources};${size}`);
  };
  const share = width / arialWidth;
  let faces = loaded(url, weights);
  if (boldUrl !== '' && boldWidth > 0)
    faces += loaded(boldUrl, '700') + local('', '400', share) + local(' Bold', '700', boldWidth / arialBoldWidth);
  else if (weights.includes(' ')) faces += local('', '1 599', share) + local(' Bold', '600 1000', share);
  else faces += local('', weights, share);
  return { faces, families: `${name},${standIn}` };
}

/** Builds the CSS descriptors that override the line height, relative to the adjusted font size. */
const heights = ({ ascent, descent, line_gap: lineGap }: WebFont, share: number): string =>
  `ascent-override:${percent(ascent / 1000 / share)};descent-override:${percent(descent / 1000 / share)};` +
  `line-gap-override:${percent(lineGap / 1000 / share)}`;

const percent = (share: number): string => `${+(share * 100).toFixed(2)}%`;
