/**
 * A font of the publisher, loaded by URL (docs/reference/themes-and-rendering.md#web-fonts). Its metrics are those of
 * the font file in thousandths of the font size; a fallback font of the device uses them to take the same space until
 * the font is loaded.
 */
export type WebFont = {
  family: string;
  /** URL of a woff2 file. */
  url: string;
  /** CSS `font-weight` of the file: `400`, or `100 900` of a variable font. */
  weights: string;
  ascent: number;
  descent: number;
  line_gap: number;
  /** Average width of the letters in English text. */
  width: number;
  /** URL of a woff2 file of the bold face with the same origin, or "". */
  bold_url: string;
  bold_width: number;
  /**
   * Style sheet that loads the font and defines its fallback, for the document rather than a shadow root. Sent in
   * responses.
   */
  faces: string;
  /** `font-family` with both fonts. Sent in responses. */
  families: string;
};

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
  /** Milliseconds from the call that requests the offers to their display. */
  delay: number;
  /** Margin in pixels. */
  screen_margin: number;
  /** Offset in pixels. */
  mobile_vertical_offset: number;
  /** Delay in seconds. */
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
  /** @deprecated Alias of `enable_wallet`. */
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
    /** Numbers of pixels as strings. */
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

/** Appearance of themes other than settings and styles. Sent with every key if a theme sets any of it. */
export type OfferAppearance = {
  /** `light`, `dark`, or `system` for the setting of the user's device. */
  color_scheme: string;
  /** `compact`, `normal` or `relaxed`. */
  spacing: string;
  /** Maximum width in pixels, or 0 for that of the layout. */
  width: number;
  /** Font by URL; absent if the theme has none. */
  web_font?: WebFont;
  dark: DarkStyles;
};
