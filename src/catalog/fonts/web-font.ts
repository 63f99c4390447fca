import type { WebFont } from '@perkwire/client';

/** What is absent in a font. */
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

/** What a URL and a name may consist of, because they stand in style sheets. */
export const fontUrlPattern = '^https?://[\\w.\\[\\]:-]+/[\\w./~%@+=&?,;!$*-]*$';
export const fontFamilyPattern = '^[^\\s"\'\\\\<>{}();,][^"\'\\\\<>{}();,\\x00-\\x1f]{0,59}$';
export const fontWeightsPattern = '^[1-9]\\d{0,3}( [1-9]\\d{0,3})?$';

/** Letters about as often as English text has them. */
export const averageText = 'aaabcdeeeefghiijklmnnoopqrrssttuvwxyz      ';

/** Average widths of Arial, to which the stand-ins are alike. */
const arialWidth = 456.26;
const arialBoldWidth = 493.7;

/** The device's own: Arial and what has its widths; Roboto's differ from them by less than a hundredth. */
const standIns = ['Arial', 'Liberation Sans', 'Arimo', 'Roboto'];

/**
 * The style sheet that loads a font, with its stand-in, and the value of `font-family` that uses both; empty where a
 * value is not what it should be. The faces must be in the document: those of a shadow root are not loaded.
 */
export function webFontFaces(font: WebFont): { faces: string; families: string } {
  const { family, url, weights, width, bold_url: boldUrl, bold_width: boldWidth } = font;
  const isRight =
    new RegExp(fontFamilyPattern).test(family) &&
    new RegExp(fontWeightsPattern).test(weights) &&
    [url, ...(boldUrl === '' ? [] : [boldUrl])].every((one) => new RegExp(fontUrlPattern).test(one)) &&
    [font.ascent, width].every((measure) => measure > 0);
  if (!isRight) return { faces: '', families: '' };
  const name = `"perkwire ${family}"`;
  const standIn = `"perkwire ${family} stand-in"`;
  const face = (rules: string): string => `@font-face{font-display:swap;${rules}}`;
  const loaded = (of: string, weight: string): string =>
    face(`font-family:${name};font-weight:${weight};src:url("${of}") format("woff2");${heights(font, 1)}`);
  const local = (suffix: string, weight: string, share: number): string => {
    const sources = standIns.map((one) => `local("${one}${suffix}")`).join();
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

/** Relative to the adjusted size. */
const heights = ({ ascent, descent, line_gap: lineGap }: WebFont, share: number): string =>
  `ascent-override:${percent(ascent / 1000 / share)};descent-override:${percent(descent / 1000 / share)};` +
  `line-gap-override:${percent(lineGap / 1000 / share)}`;

const percent = (share: number): string => `${+(share * 100).toFixed(2)}%`;
