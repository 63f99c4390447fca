import { hash } from 'node:crypto';
import { defaultAppearance, defaultStyles, type OfferStyles } from '@perkwire/client';
import { buildAppearance, buildStyles, overlay } from './theme-settings.ts';
import type { Publisher, Theme } from './types.ts';

/**
 * Builds the style sheet of a hosted page (offerwall, wallet, privacy page) in a publisher's theme, light and dark: the
 * palette, common rules, and the `rules` of the page. Values that are not a colour, number or font name are replaced
 * with the default, because a theme's texts are written into the sheet.
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

/** Colours of a publisher's default theme, for e-mails, which have no style sheet. */
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

/** CSP directives that allow an inline style sheet and the origin of its font. */
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
  // In dark mode, cards are lighter than the page.
  const colours = { page: 'var(--surface)', ...palette(dark, overlay(defaultStyles, defaultAppearance.dark)) };
  const rule = `:root{color-scheme:dark;${declarations(colours)}}`;
  return scheme === 'dark' ? rule : `@media(prefers-color-scheme:dark){${rule}}`;
}

const declarations = (values: Record<string, string>): string =>
  Object.entries(values)
    .map(([name, value]) => `--${name}:${value};`)
    .join('');

/** Colours by purpose. */
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
