/**
 * Publisher's web font, loaded by URL (docs/reference/themes-and-rendering.md#web-fonts). Font metrics are in
 * thousandths of the font size. They are used to scale a device font, so that text takes up the same space before and
 * after the web font loads.
 */
export type WebFont = {
  family: string;
  /** URL of the woff2 file. */
  url: string;
  /** `font-weight` range of the file: `400`, or `100 900` for a variable font. */
  weights: string;
  ascent: number;
  descent: number;
  line_gap: number;
  /** Average letter width in English text, in thousandths of the font size. */
  width: number;
  /** URL of the woff2 file for the bold face, on the same origin as `url`. "" if none exists. */
  bold_url: string;
  bold_width: number;
  /**
   * CSS that loads the web font and defines its fallback. Add it to the document, not to a shadow root. Only sent in
   * responses.
   */
  faces: string;
  /** `font-family` value with the web font and its fallback. Only sent in responses. */
  families: string;
};

/** Behaviour settings of an offer unit. Responses always contain every key. */
export type OfferSettings = {
  ad_position: string;
  ad_animation: string;
  button_order: string;
  progress_bar_type: string;
  privacy_policy: string;
  usp_cta_text: string;
  /** Name of the DOM event that confirms the user's selected perks. */
  usp_confirmation_event: string;
  perkswallet_cta: string;
  saved_offer_text: string;
  offerwall_cta: string;
  /** Delay between the request for offers and their display, in milliseconds. */
  delay: number;
  /** Margin between the unit and the screen edge, in pixels. */
  screen_margin: number;
  /** Vertical offset on mobile devices, in pixels. */
  mobile_vertical_offset: number;
  /** Delay before the unit can be closed, in seconds. */
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

/** Styles of an offer unit. Responses always contain every key. */
export type OfferStyles = {
  popup: {
    background: string;
    shadow: string;
    lightBox: string;
    image_position: string;
    showImage: boolean;
    /** Corner radii in pixels, as numeric strings. */
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

/** Dark mode colours, keyed by their path in {@link OfferStyles}. */
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

/** Theme options other than settings and styles. If a theme sets any of them, the response contains all of them. */
export type OfferAppearance = {
  /** `light`, `dark`, or `system` to follow the user's device setting. */
  color_scheme: string;
  /** Spacing: `compact`, `normal` or `relaxed`. */
  spacing: string;
  /** Maximum width in pixels. 0 uses the default width of the layout. */
  width: number;
  /** Web font of the theme. Absent if the theme has none. */
  web_font?: WebFont;
  dark: DarkStyles;
};
