import type { WebFont } from './web-font.ts';

/** Behaviour of a unit. Every key is always sent. */
export type OfferSettings = {
  ad_position: string;
  ad_animation: string;
  button_order: string;
  progress_bar_type: string;
  privacy_policy: string;
  usp_cta_text: string;
  /** Name of the DOM event that confirms the selected perks. */
  usp_confirmation_event: string;
  perkswallet_cta: string;
  saved_offer_text: string;
  offerwall_cta: string;
  /** Milliseconds from the call that asks for the offers to their display. */
  delay: number;
  /** Pixels. */
  screen_margin: number;
  /** Pixels. */
  mobile_vertical_offset: number;
  /** Seconds. */
  close_delay: number;
  darken_bg: boolean;
  darken_bg_non_centered: boolean;
  fixed_progress_bar: boolean;
  enable_vertical_offset: boolean;
  show_disclaimer: boolean;
  show_close: boolean;
  enable_close_delay: boolean;
  close_ad_on_click_outside: boolean;
  show_ads_on_exit: boolean;
  enable_effect_shimmer_pos_cta: boolean;
  multi_offer_unit: boolean;
  enable_usp: boolean;
  usp_all_offers_checked: boolean;
  enable_wallet: boolean;
  /** Old name of `enable_wallet`. */
  enable_perkswallet: boolean;
  enable_offerwall: boolean;
  open_offerwall: boolean;
  open_overlay_offerwall: boolean;
  embedded: {
    enabled: boolean;
    fill_container: boolean;
    showBorder: boolean;
    showHeader: boolean;
    showFooter: boolean;
    targetElement: string;
  };
  offerText: {
    font: string;
    textColor: string;
    tileTextAlignment: string;
    buttonRadius: string;
    fontSizeTitle: string;
    fontSizeDescription: string;
  };
};

export type ButtonStyle = { background: string; hover: string; stroke: string; color: string };

/** Appearance of a unit. Every key is always sent. */
export type OfferStyles = {
  popup: {
    background: string;
    shadow: string;
    lightBox: string;
    image_position: string;
    showImage: boolean;
    /** Numbers of pixels, as strings. */
    borderRadius: { top_left: string; top_right: string; bottom_right: string; bottom_left: string };
  };
  header: {
    text: string;
    background: string;
    textColor: string;
    lead_in_text: string;
    lead_in_text_color: string;
    lead_in_alignment: string;
    heading_font_size: string;
    fontSize: number;
    headLineAndLeadInFontSize: number;
  };
  offerText: {
    textColor: string;
    font: string;
    cta_text_size: string;
    cta_text_style: string;
    fontSize: number;
    offerwall_mou_button_radius: number;
    hide_adv_name: boolean;
    show_image: boolean;
    buttonYes: ButtonStyle;
    buttonNo: ButtonStyle;
  };
  footer: {
    disclaimer: string;
    privacy: string;
    text: string;
    textColor: string;
    font: string;
    publisher_privacy_policy: string;
    publisher_name: string;
    fontSize: number;
    show_apx_links: boolean;
  };
  offerwall: {
    button: {
      offerwall_mou_button_background: string;
      offerwall_mou_button_color: string;
      offerwall_mou_button_hover: string;
      offerwall_mou_button_stroke: string;
    };
    tile: {
      offerwall_mou_border_color: string;
      offerwall_mou_tile_background_hover_color: string;
      mou_tile_background_color: string;
      offerwall_mou_border_thickness: number;
    };
    tile_radius: number;
    mou_tile_gap: number;
    offerwall_logo_url: string;
  };
};

/** Colours of a unit in dark mode, by their paths in {@link OfferStyles}. */
export type DarkStyles = {
  popup: Pick<OfferStyles['popup'], 'background' | 'shadow' | 'lightBox'>;
  header: Pick<OfferStyles['header'], 'background' | 'textColor' | 'lead_in_text_color'>;
  offerText: Pick<OfferStyles['offerText'], 'textColor' | 'buttonYes' | 'buttonNo'>;
  footer: Pick<OfferStyles['footer'], 'textColor'>;
  offerwall: {
    button: OfferStyles['offerwall']['button'];
    tile: Omit<OfferStyles['offerwall']['tile'], 'offerwall_mou_border_thickness'>;
  };
};

/** What themes have beside settings and styles. Sent where a theme sets any of it, with every key. */
export type OfferAppearance = {
  /** `light`, `dark`, or `system`: as the user's device is set. */
  color_scheme: string;
  /** `compact`, `normal` or `relaxed`. */
  spacing: string;
  /** Greatest width in pixels; 0: that of the layout. */
  width: number;
  /** A font by URL; absent: the theme has none. */
  web_font?: WebFont;
  dark: DarkStyles;
};

/** Defaults of `settings` (docs/interface.md#settings-and-styles). Typed clients fail on a wrong type. */
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

/** Defaults of `styles` (docs/interface.md#settings-and-styles). */
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

/** Defaults of `appearance` (docs/interface.md#settings-and-styles). */
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
