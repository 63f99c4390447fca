import type { Answer } from '../types.ts';

/**
 * The publisher's theme as custom properties of the unit's own style sheet. Each is named by its path in `styles`
 * (`--offerText-buttonYes-color`) or, after `--s-`, in `settings`. Plain numbers are pixels.
 */
export function themeSheet({ styles, settings }: Answer): CSSStyleSheet {
  const sheet = new CSSStyleSheet();
  sheet.insertRule(':host{}');
  const { style } = sheet.cssRules[0] as CSSStyleRule;

  function set(name: string, value: unknown): void {
    if (typeof value === 'object') for (const [key, part] of Object.entries(value ?? {})) set(`${name}-${key}`, part);
    else style.setProperty(name, /^-?[\d.]+$/.test(String(value)) ? `${value}px` : String(value));
  }

  set('-', styles);
  set('--s', settings);
  set('--align', settings.offerText.tileTextAlignment.replace('left', 'start').replace('right', 'end'));
  set('--mobile-offset', settings.enable_vertical_offset ? settings.mobile_vertical_offset : 0);
  return sheet;
}
