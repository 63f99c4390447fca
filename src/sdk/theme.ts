import type { Answer } from './types.ts';

/** The publisher's look as custom properties of the unit's own sheet; nothing of it reaches the page. */
export function themeSheet({ styles, settings }: Answer): CSSStyleSheet {
  const { popup, header, offerText, footer, offerwall } = styles;
  const radius = popup.borderRadius;
  const values: Record<string, string> = {
    background: popup.background,
    shadow: popup.shadow,
    backdrop: popup.lightBox,
    radius: [radius.top_left, radius.top_right, radius.bottom_right, radius.bottom_left].map(pixels).join(' '),
    'header-background': header.background,
    'header-color': header.textColor,
    'header-size': pixels(header.heading_font_size || header.fontSize),
    'lead-color': header.lead_in_text_color,
    'lead-size': pixels(header.headLineAndLeadInFontSize),
    'lead-align': header.lead_in_alignment,
    color: offerText.textColor,
    font: `${offerText.font || settings.offerText.font}, system-ui, sans-serif`,
    align: settings.offerText.tileTextAlignment.replace('left', 'start').replace('right', 'end'),
    'title-size': pixels(settings.offerText.fontSizeTitle),
    'text-size': pixels(settings.offerText.fontSizeDescription || offerText.fontSize),
    'cta-size': pixels(offerText.cta_text_size),
    'button-radius': pixels(settings.offerText.buttonRadius),
    ...buttonValues('yes', offerText.buttonYes),
    ...buttonValues('no', offerText.buttonNo),
    ...buttonValues('mou', {
      background: offerwall.button.offerwall_mou_button_background,
      hover: offerwall.button.offerwall_mou_button_hover,
      stroke: offerwall.button.offerwall_mou_button_stroke,
      color: offerwall.button.offerwall_mou_button_color,
    }),
    'tile-button-radius': pixels(offerText.offerwall_mou_button_radius),
    'tile-background': offerwall.tile.mou_tile_background_color,
    'tile-hover': offerwall.tile.offerwall_mou_tile_background_hover_color,
    'tile-border': `${pixels(offerwall.tile.offerwall_mou_border_thickness)} solid ${offerwall.tile.offerwall_mou_border_color}`,
    'tile-radius': pixels(offerwall.tile_radius),
    gap: pixels(offerwall.mou_tile_gap),
    'footer-color': footer.textColor,
    'footer-size': pixels(footer.fontSize),
    margin: pixels(settings.screen_margin),
    'mobile-offset': settings.enable_vertical_offset ? pixels(settings.mobile_vertical_offset) : '0px',
  };
  const sheet = new CSSStyleSheet();
  sheet.insertRule(':host{}');
  const { style } = sheet.cssRules[0] as CSSStyleRule;
  for (const [name, value] of Object.entries(values)) style.setProperty(`--${name}`, value);
  return sheet;
}

const buttonValues = (name: string, button: { background: string; hover: string; stroke: string; color: string }): Record<string, string> =>
  Object.fromEntries(Object.entries(button).map(([part, value]) => [`${name}-${part}`, value]));

const pixels = (value: string | number): string => `${Number.parseFloat(String(value)) || 0}px`;
