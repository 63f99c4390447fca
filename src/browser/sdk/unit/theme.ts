import type { Answer } from '../types.ts';

/**
 * The publisher's theme as custom properties of the unit's own style sheet. Each is named by its path in `styles`
 * (`--offerText-buttonYes-color`) or, after `--s-`, in `settings`. Plain numbers are pixels.
 */
export function themeSheet({ styles, settings, dark, appearance }: Answer): CSSStyleSheet {
  const sheet = new CSSStyleSheet();
  const { color_scheme: scheme, width } = appearance;
  const ruleOf = (condition: string): CSSStyleDeclaration => {
    const at = sheet.insertRule(`@media ${condition}{:host{}}`, sheet.cssRules.length);
    return ((sheet.cssRules[at] as CSSMediaRule).cssRules[0] as CSSStyleRule).style;
  };

  function set(style: CSSStyleDeclaration, name: string, value: unknown): void {
    if (typeof value === 'object')
      for (const [key, part] of Object.entries(value ?? {})) set(style, `${name}-${key}`, part);
    else style.setProperty(name, /^-?[\d.]+$/.test(String(value)) ? `${value}px` : String(value));
  }

  const light = ruleOf('all');
  set(light, '-', styles);
  set(light, '--s', settings);
  set(light, '--align', settings.offerText.tileTextAlignment.replace('left', 'start').replace('right', 'end'));
  set(light, '--mobile-offset', settings.enable_vertical_offset ? settings.mobile_vertical_offset : 0);
  if (width > 0) set(light, '--width', width);
  if (dark !== null) {
    const style = ruleOf(scheme === 'dark' ? 'all' : '(prefers-color-scheme:dark)');
    set(style, '-', dark);
    style.colorScheme = 'dark';
  }
  return sheet;
}
