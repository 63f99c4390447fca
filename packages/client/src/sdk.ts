import type { OfferSettings, OfferStyles } from './appearance.ts';
import type { AdEvent } from './callback.ts';
import type { UserPayload } from './payload.ts';
import type { Coupon, ExperimentArm, Offer } from './response.ts';

/** Types of the web SDK (docs/reference/web-sdk.md): `window.Ad`, `window.AdConfig`, `window.AdUser` and its events. */

declare global {
  // Empty without the DOM's types, as on a server; otherwise they are merged with the DOM's own.
  interface Element {}
  interface HTMLElement {}
  interface HTMLTemplateElement {}
  interface Window {
    Ad?: Ad;
    AdConfig?: AdConfig;
    AdUser?: AdUser;
  }
}

/** `window.AdUser`: the request body. */
export type AdUser = UserPayload;

/** The first three are those of docs/reference/web-sdk.md#client-errors. */
export type AdErrorKind =
  | 'invalid_parameter'
  | 'server_error'
  | 'connection_error'
  | 'blocked'
  | 'render_error'
  | 'callback_error'
  | 'beacon_error'
  | 'usp_error'
  | 'save_error'
  | 'storage_error'
  | 'closed'
  | 'unexpected_error';

/** Position of an offer; `current` starts at 1. */
export type AdPosition = { current: number; total: number };

/** The payload of each event. */
export type AdEventPayloads = {
  /** `total` equals `offerCount`; 0 means that the section can be skipped. `response` is set when prefetching. */
  ads_found: { offerCount: number; total: number; response?: unknown; experiments?: ExperimentArm[] };
  no_ads_found: { offerCount: number; total: number; experiments?: ExperimentArm[] };
  ad_shown: AdPosition;
  ad_taken: AdPosition & { campaign_id: number };
  ad_not_taken: AdPosition;
  last_ad_taken: AdPosition;
  closed_ads: AdPosition;
  url_clicked: { target_url: string; url: string };
  usp_selected: { campaign_id: number };
  usp_unselected: { campaign_id: number };
  /** Campaign ids; `campaigns`: the user's codes for offers with codes (null if none was left). */
  usp_confirmed: { selected: number[]; campaigns?: { campaign_id: number; coupon: Coupon | null }[] };
  error: { kind: AdErrorKind; message: string };
};

/** Name and payload of an event. Comparing the name narrows the type of the payload. */
export type AdEventArguments = { [Event in AdEvent]: [event: Event, payload: AdEventPayloads[Event]] }[AdEvent];

/** Receives every event with its payload. */
export type AdEventListener = (...event: AdEventArguments) => unknown;

/**
 * Receives every event of the SDK, with or without its payload. The second signature, for functions without a payload,
 * keeps TypeScript from inferring the parameters of a callback from it: they get the type of `AdEventArguments`.
 */
export type AdEventCallback =
  | AdEventListener
  | { (event: AdEvent): unknown; <Name extends AdEvent>(event: Name): unknown };

/** An offer for pages that draw their own unit: all texts are plain, every URL is http(s) or "". */
export type ShownOffer = Pick<
  Offer,
  | 'id'
  | 'campaign_id'
  | 'title'
  | 'advertiser_name'
  | 'description'
  | 'click_url'
  | 'image'
  | 'mini_text'
  | 'terms_and_conditions'
  | 'pixel'
  | 'cta_yes'
  | 'cta_no'
  | 'adv_pixel_url'
  | 'beacons'
  | 'offerwall_enabled'
  | 'wallet_enabled'
  | 'offerwall_url'
  | 'short_description'
  | 'short_headline'
  | 'is_loyalty'
  | 'loyalty_requirements'
> & {
  useraction_cta: string;
  useraction_url: string;
  save_for_later_url: string;
  creatives: { url: string; creative_type: string }[];
};

/** Actions of the user. Without an offer, they apply to the current one. */
export type AdActions = {
  take: (offer?: ShownOffer) => void;
  reject: (offer?: ShownOffer) => void;
  back: () => void;
  close: () => void;
  save: (offer?: ShownOffer) => Promise<boolean>;
  select: (campaignId: number, selected?: boolean) => void;
};

/** Element in which `AdConfig.render` draws, and actions of the page. */
export type AdRenderUnit = {
  /** Element of the page (outside any shadow root) with the template's content, or empty. */
  element: HTMLElement;
  /** Number of offers. */
  total: number;
  /** Campaign ids. */
  selected: number[];
  actions: AdActions;
};

/**
 * Draws the offer at `index` (from 0); such units show one offer after another. Returned HTML text or a node is shown;
 * after false, the SDK draws the unit.
 */
export type AdRender = (
  data: ShownOffer,
  index: number,
  settings: OfferSettings,
  styles: OfferStyles,
  unit: AdRenderUnit,
) => unknown;

/** Texts of the unit that are not part of the response. */
export type AdLabels = Record<'offers' | 'close' | 'done' | 'back' | 'terms' | 'progress' | 'saved' | 'newTab', string>;

/** `window.AdConfig`. */
export type AdConfig = {
  /** The publisher's SDK id. */
  accountId?: string;
  /** Fetches offers at once. Default true. */
  autoLoad?: boolean;
  /** Shows offers as soon as they are loaded. Default true. */
  autoShow?: boolean;
  /** Stores the response in the origin's storage for a later page, or shows the stored one. */
  prefetch?: boolean;
  /** Test responses; nothing is recorded. */
  dev?: boolean | string | number;
  /** Id or key of a theme. */
  themeId?: number | string;
  /** The same as `themeId`. */
  theme_id?: number | string;
  placement?: string;
  /**
   * Embeds the unit in an element, given by itself, its id, or a selector. Without it, the unit is shown over the page.
   */
  targetElement?: string | Element;
  /** The same as `targetElement`. */
  containerId?: string | Element;
  /** Lets the page draw the unit, by a template (HTML text, a selector, an element) or a function. */
  template?: string | Element;
  render?: AdRender;
  /** Overrides of the theme's settings. */
  settings?: Record<string, unknown>;
  styles?: Record<string, unknown>;
  /** Overrides of `appearance`; `color_scheme` is for pages with their own switch. */
  appearance?: { color_scheme?: 'light' | 'dark' | 'system'; spacing?: string; width?: number; dark?: object };
  callback?: AdEventCallback;
  /** Base URL of the service. Default: the origin of the script. */
  apiUrl?: string;
  /** BCP 47 tag of the unit's texts. Default: the page's `lang`, otherwise the browser's language. */
  language?: string;
  /** Replacements for texts of the language. */
  labels?: Partial<AdLabels>;
  /** Query parameters of fetch-offers (docs/reference/fetch-offers.md#request). */
  loyaltyboost?: string | number;
  creative?: string | number;
  campaignId?: string | number;
  country?: string;
  /** false: no identifier of the user is sent or stored (like `consent` of `AdUser`, and Global Privacy Control). */
  consent?: boolean | string | number;
};

/** Configuration of `Ad.mount`. Missing members are taken from `window.AdConfig`. */
export type AdMountConfig = AdConfig & {
  /** Overrides members of `window.AdUser`. */
  user?: AdUser;
};

/** `window.Ad`. Nothing throws and no promise rejects: failures are `error` events. */
export type Ad = AdUnit & {
  /** Mounts an additional unit with its own offers, events and perks. It starts by itself. */
  mount: (config?: AdMountConfig) => AdUnit;
};

/** A unit. Nothing throws and no promise rejects: failures are `error` events. */
export type AdUnit = {
  /** @returns whether there are offers */
  init: (config?: AdConfig, callback?: AdEventCallback) => Promise<boolean>;
  /** @returns whether there are offers */
  load: () => Promise<boolean>;
  /** Shows the offers; if an offer is shown already, shows the next one. */
  show: () => void;
  close: () => void;
  /** "No thanks" to the current offer. */
  reject: () => void;
  /** Returns to the previous offer. */
  rewind: () => void;
  /** Whether there are offers to show. */
  isReady: () => boolean;
  /**
   * Takes a response that was fetched elsewhere, as JSON text or object, and shows it with `autoShow`.
   * @returns whether it has offers
   */
  setApiResponse: (json: unknown) => Promise<boolean>;
  /** Shows the current response from its first offer. */
  reload: () => void;
  /** Fetches and shows new offers. @returns whether there are offers */
  refresh: () => Promise<boolean>;
  setPayload: (user: AdUser) => void;
  /** Confirms the selected perks. @returns whether they are confirmed */
  confirm: () => Promise<boolean>;
  /** Removes the unit and its listeners, without events and beacons. */
  destroy: () => void;
};
