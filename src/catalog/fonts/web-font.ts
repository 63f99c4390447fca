import type { WebFont } from '@perkwire/client';

/** Defaults of a web font's fields. */
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

/** Allowed characters of a URL and a family name, because both are written into style sheets. */
export const fontUrlPattern = '^https?://[\\w.\\[\\]:-]+/[\\w./~%@+=&?,;!$*-]*$';
export const fontFamilyPattern = '^[^\\s"\'\\\\<>{}();,][^"\'\\\\<>{}();,\\x00-\\x1f]{0,59}$';
export const fontWeightsPattern = '^[1-9]\\d{0,3}( [1-9]\\d{0,3})?$';

/** Letters with about the frequency of English text. */
export const averageText = 'aaabcdeeeefghiijklmnnoopqrrssttuvwxyz      ';

/** Average widths of Arial, which the stand-ins match. */
const arialWidth = 456.26;
const arialBoldWidth = 493.7;

/** Local fonts to use as stand-ins: Arial and fonts with its widths. The widths of Roboto differ by less than 1 %. */
const standIns = ['Arial', 'Liberation Sans', 'Arimo', 'Roboto'];

/**
 * Builds the style sheet that loads a font and its stand-in, and the value of `font-family` that uses both. Both are
 * empty if a value is invalid. The faces must be in the document: browsers do not load faces in a shadow root.
 */
export function webFontFaces(font: WebFont): { faces: string; families: string } {
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

/** Overrides of the line heights, relative to the adjusted size. */
const heights = ({ ascent, descent, line_gap: lineGap }: WebFont, share: number): string =>
  `ascent-override:${percent(ascent / 1000 / share)};descent-override:${percent(descent / 1000 / share)};` +
  `line-gap-override:${percent(lineGap / 1000 / share)}`;

const percent = (share: number): string => `${+(share * 100).toFixed(2)}%`;
