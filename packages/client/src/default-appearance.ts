import type { OfferAppearance, OfferSettings, OfferStyles } from './appearance.ts';

/**
 * Default `settings` (docs/reference/themes-and-rendering.md#settings-and-styles). Every value must have the right
 * type. Otherwise, statically typed clients fail.
 */
export const defaultSettings: OfferSettings = {
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

/** Default `styles` (docs/reference/themes-and-rendering.md#settings-and-styles). */
export const defaultStyles: OfferStyles = {
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

/** Default `appearance` (docs/reference/themes-and-rendering.md#settings-and-styles). */
export const defaultAppearance: OfferAppearance = {
  color_scheme: 'light',
  spacing: 'normal',
  width: 0,
  dark: {
    popup: { background: '#1a1d23', shadow: '0 12px 40px rgba(0, 0, 0, 0.6)', lightBox: 'rgba(0, 0, 0, 0.65)' },
    header: { background: '#1a1d23', textColor: '#f1f3f7', lead_in_text_color: '#b3bac7' },
    offerText: {
      textColor: '#f1f3f7',
      buttonYes: { background: '#86a8ff', hover: '#a5beff', stroke: '#86a8ff', color: '#0b1638' },
      buttonNo: { background: '#1a1d23', hover: '#292e37', stroke: '#4b5360', color: '#f1f3f7' },
    },
    footer: { textColor: '#b3bac7' },
    offerwall: {
      button: {
        offerwall_mou_button_background: '#86a8ff',
        offerwall_mou_button_color: '#0b1638',
        offerwall_mou_button_hover: '#a5beff',
        offerwall_mou_button_stroke: '#86a8ff',
      },
      tile: {
        offerwall_mou_border_color: '#363c47',
        offerwall_mou_tile_background_hover_color: '#292e37',
        mou_tile_background_color: '#22262e',
      },
    },
  },
};
