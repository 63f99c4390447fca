import type { Publisher, Theme } from './types.ts';

/**
 * Defaults of `settings` (docs/interface.md#settings-and-styles). Every key is always sent; strict typed clients fail
 * on a wrong type.
 */
export const defaultSettings = {
  ad_position: 'center',
  ad_animation: 'fade',
  button_order: 'yes_first',
  progress_bar_type: 'dots',
  privacy_policy: '',
  usp_cta_text: 'Add to my perks',
  usp_confirmation_event: 'ad:confirm',
  perkswallet_cta: 'Save For Later',
  saved_offer_text: 'Saved',
  offerwall_cta: 'More Offers',
  delay: 0,
  screen_margin: 16,
  mobile_vertical_offset: 0,
  close_delay: 0,
  darken_bg: true,
  darken_bg_non_centered: false,
  fixed_progress_bar: false,
  enable_vertical_offset: false,
  show_disclaimer: true,
  show_close: true,
  enable_close_delay: false,
  close_ad_on_click_outside: false,
  show_ads_on_exit: false,
  enable_effect_shimmer_pos_cta: false,
  multi_offer_unit: false,
  enable_usp: false,
  usp_all_offers_checked: false,
  enable_wallet: false,
  enable_perkswallet: false,
  enable_offerwall: false,
  open_offerwall: false,
  open_overlay_offerwall: false,
  embedded: {
    enabled: false,
    fill_container: false,
    showBorder: true,
    showHeader: true,
    showFooter: true,
    targetElement: '',
  },
  offerText: {
    font: 'system-ui',
    textColor: '#1f2430',
    tileTextAlignment: 'left',
    buttonRadius: '8',
    fontSizeTitle: '18',
    fontSizeDescription: '14',
  },
};

/** Defaults of `styles` (docs/interface.md#settings-and-styles). */
export const defaultStyles = {
  popup: {
    background: '#ffffff',
    shadow: '0 12px 40px rgba(0, 0, 0, 0.25)',
    lightBox: 'rgba(0, 0, 0, 0.5)',
    image_position: 'top',
    showImage: true,
    borderRadius: { top_left: '12', top_right: '12', bottom_right: '12', bottom_left: '12' },
  },
  header: {
    text: 'Thank you! Pick a perk.',
    background: '#ffffff',
    textColor: '#1f2430',
    lead_in_text: '',
    lead_in_text_color: '#5b6270',
    lead_in_alignment: 'center',
    heading_font_size: '20',
    fontSize: 20,
    headLineAndLeadInFontSize: 16,
  },
  offerText: {
    textColor: '#1f2430',
    font: 'system-ui',
    cta_text_size: '16',
    cta_text_style: 'normal',
    fontSize: 14,
    offerwall_mou_button_radius: 8,
    hide_adv_name: false,
    show_image: true,
    buttonYes: { background: '#2557d6', hover: '#1d46ad', stroke: '#2557d6', color: '#ffffff' },
    buttonNo: { background: '#ffffff', hover: '#f2f4f8', stroke: '#c9ced8', color: '#1f2430' },
  },
  footer: {
    disclaimer: '',
    privacy: 'Privacy',
    text: '',
    textColor: '#5b6270',
    font: 'system-ui',
    publisher_privacy_policy: '',
    publisher_name: '',
    fontSize: 12,
    show_apx_links: false,
  },
  offerwall: {
    button: {
      offerwall_mou_button_background: '#2557d6',
      offerwall_mou_button_color: '#ffffff',
      offerwall_mou_button_hover: '#1d46ad',
      offerwall_mou_button_stroke: '#2557d6',
    },
    tile: {
      offerwall_mou_border_color: '#e2e5ec',
      offerwall_mou_tile_background_hover_color: '#f7f8fb',
      mou_tile_background_color: '#ffffff',
      offerwall_mou_border_thickness: 1,
    },
    tile_radius: 12,
    mou_tile_gap: 16,
    offerwall_logo_url: '',
  },
};

export type Settings = typeof defaultSettings;
export type Styles = typeof defaultStyles;
type Corner = keyof Styles['popup']['borderRadius'];

/** Clients read a radius as a number: no unit. */
const plainNumber = /^\d+(\.\d+)?$/;

/** The publisher's settings and styles over the defaults; what is of another type than its default is left out. */
export function buildSettings(publisher: Publisher, theme: Theme | null, usp: boolean, privacyUrl: string): Settings {
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

export function buildStyles(publisher: Publisher, theme: Theme | null, privacyUrl: string): Styles {
  const styles = overlay(defaultStyles, theme?.styles ?? {});
  for (const [corner, radius] of Object.entries(styles.popup.borderRadius) as [Corner, string][]) {
    if (!plainNumber.test(radius)) styles.popup.borderRadius[corner] = defaultStyles.popup.borderRadius[corner];
  }
  styles.footer.publisher_name ||= publisher.name;
  styles.footer.publisher_privacy_policy ||= privacyUrl;
  return styles;
}

/** A deep copy of `base` with the values of `over` that have the same type. Unknown keys are ignored. */
function overlay<Base extends object>(base: Base, over: Readonly<Record<string, unknown>>): Base {
  const result: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(base)) {
    const given = Object.hasOwn(over, key) ? over[key] : undefined;
    if (typeof value === 'object') result[key] = overlay(value, isObject(given) ? given : {});
    else result[key] = isSameType(value, given) ? given : value;
  }
  return result as Base;
}

/** Numbers are integers that a client reads as such: beyond 2^53 JSON writes some of them as `1e+21`. */
const isSameType = (value: unknown, given: unknown): boolean =>
  typeof given === typeof value && (typeof value !== 'number' || Number.isSafeInteger(given));

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
