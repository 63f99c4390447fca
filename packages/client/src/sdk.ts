import type { OfferSettings, OfferStyles } from './appearance.ts';
import type { AdEvent } from './callback.ts';
import type { UserPayload } from './payload.ts';
import type { Coupon, ExperimentArm, Offer } from './response.ts';

/** Web SDK types (docs/reference/web-sdk.md): `window.Ad`, `window.AdConfig`, `window.AdUser`, and the events. */

declare global {
  // Placeholder for environments without DOM types, such as servers. Where DOM types exist, TypeScript merges it with
  // the DOM's own `Element`.
  interface Element {}
  interface HTMLElement {}
  interface HTMLTemplateElement {}
  interface Window {
    Ad?: Ad;
    AdConfig?: AdConfig;
    AdUser?: AdUser;
  }
}

/** Type of `window.AdUser`, which has the fields of the request body. */
export type AdUser = UserPayload;

/** Error kinds. The first three are described in docs/reference/web-sdk.md#client-errors. */
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

/** Position of the offer in the unit. `current` starts at 1. */
export type AdPosition = { current: number; total: number };

/** Payloads by event name. */
export type AdEventPayloads = {
  /**
   * `total` equals `offerCount`. If it is 0, the offer section can be skipped. `response` is set only when prefetching.
   */
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
  /**
   * `selected` contains campaign IDs. `campaigns` lists the selected campaigns with coupon codes. `coupon` is null if
   * no code was left.
   */
  usp_confirmed: { selected: number[]; campaigns?: { campaign_id: number; coupon: Coupon | null }[] };
  error: { kind: AdErrorKind; message: string };
};

/** Event name and payload. Comparing the name narrows the payload type. */
export type AdEventArguments = { [Event in AdEvent]: [event: Event, payload: AdEventPayloads[Event]] }[AdEvent];

/** Handler that receives every event with its payload. */
export type AdEventListener = (...event: AdEventArguments) => unknown;

/**
 * Handler for SDK events, with or without a payload parameter. The second member allows handlers that take only the
 * event name. It has two overloads, so that TypeScript infers callback parameters as `AdEventArguments` from the first
 * member instead.
 */
export type AdEventCallback =
  | AdEventListener
  | { (event: AdEvent): unknown; <Name extends AdEvent>(event: Name): unknown };

/** Offer as passed to pages that render their own unit. All copy is plain text, and every URL is http(s) or "". */
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

/** Actions that a page can call on the user's behalf. If no offer is passed, an action applies to the current one. */
export type AdActions = {
  take: (offer?: ShownOffer) => void;
  reject: (offer?: ShownOffer) => void;
  back: () => void;
  close: () => void;
  save: (offer?: ShownOffer) => Promise<boolean>;
  select: (campaignId: number, selected?: boolean) => void;
};

/** Element that `AdConfig.render` draws into, and the actions that the page can call. */
export type AdRenderUnit = {
  /** Page element outside any shadow root. Contains the template's content, or is empty. */
  element: HTMLElement;
  /** Total number of offers. */
  total: number;
  /** IDs of the selected campaigns. */
  selected: number[];
  actions: AdActions;
};

/**
 * Renders the offer at `index`, which starts at 0. Custom units show one offer at a time. If the function returns HTML
 * text or a node, the SDK inserts it. If the function returns false, the SDK renders its own unit.
 */
export type AdRender = (
  data: ShownOffer,
  index: number,
  settings: OfferSettings,
  styles: OfferStyles,
  unit: AdRenderUnit,
) => unknown;

/** Unit labels that are not part of the response. */
export type AdLabels = Record<'offers' | 'close' | 'done' | 'back' | 'terms' | 'progress' | 'saved' | 'newTab', string>;

/** Type of `window.AdConfig`. */
export type AdConfig = {
  /** SDK ID of the publisher. */
  accountId?: string;
  /** Whether to fetch offers immediately. Default: true. */
  autoLoad?: boolean;
  /** Whether to show offers as soon as they are loaded. Default: true. */
  autoShow?: boolean;
  /**
   * Whether to store the response in web storage for a later page, and to show a response that an earlier page stored.
   */
  prefetch?: boolean;
  /** Whether to use test responses and record nothing. */
  dev?: boolean | string | number;
  /** Theme ID or key. */
  themeId?: number | string;
  /** Alias of `themeId`. */
  theme_id?: number | string;
  placement?: string;
  /** Element to embed the unit in: an element, its ID, or a selector. If not set, the unit is shown as an overlay. */
  targetElement?: string | Element;
  /** Alias of `targetElement`. */
  containerId?: string | Element;
  /**
   * Template for pages that render the unit themselves: HTML text, a selector, or an element. Pages can use the
   * `render` function instead.
   */
  template?: string | Element;
  render?: AdRender;
  /** Overrides for the theme's settings. */
  settings?: Record<string, unknown>;
  styles?: Record<string, unknown>;
  /** Overrides for the theme's `appearance`. `color_scheme` is meant for pages with their own dark mode switch. */
  appearance?: { color_scheme?: 'light' | 'dark' | 'system'; spacing?: string; width?: number; dark?: object };
  callback?: AdEventCallback;
  /** Base URL of the service. Defaults to the origin of the script. */
  apiUrl?: string;
  /** Language of the unit's labels, as a BCP 47 tag. Defaults to the page's `lang`, then to the browser language. */
  language?: string;
  /** Overrides for the unit's labels in the current language. */
  labels?: Partial<AdLabels>;
  /** The following options are query parameters of fetch-offers (docs/reference/fetch-offers.md#request). */
  loyaltyboost?: string | number;
  creative?: string | number;
  campaignId?: string | number;
  country?: string;
  /**
   * If false, no user identifier is sent or stored. `consent` in `AdUser` and Global Privacy Control have the same
   * effect.
   */
  consent?: boolean | string | number;
};

/** Configuration for `Ad.mount`. Missing fields are taken from `window.AdConfig`. */
export type AdMountConfig = AdConfig & {
  /** Overrides for fields of `window.AdUser`. */
  user?: AdUser;
};

/** Type of `window.Ad`. Methods never throw and promises never reject. Failures are emitted as `error` events. */
export type Ad = AdUnit & {
  /** Mounts an additional unit with its own offers, events and perks. The unit starts automatically. */
  mount: (config?: AdMountConfig) => AdUnit;
};

/** Offer unit. Methods never throw and promises never reject. Failures are emitted as `error` events. */
export type AdUnit = {
  /** Starts the unit. Resolves to whether there are offers. */
  init: (config?: AdConfig, callback?: AdEventCallback) => Promise<boolean>;
  /** Loads offers. Resolves to whether there are any. */
  load: () => Promise<boolean>;
  /** Shows the offers, or the next offer if the unit is already open. */
  show: () => void;
  close: () => void;
  /** Declines the current offer. */
  reject: () => void;
  /** Returns to the previous offer. */
  rewind: () => void;
  /** Whether there are offers to show. */
  isReady: () => boolean;
  /**
   * Uses a response that was fetched elsewhere, as JSON text or an object. Shows it immediately if `autoShow` is on.
   * @returns whether the response has offers
   */
  setApiResponse: (json: unknown) => Promise<boolean>;
  /** Shows the current response again, starting with its first offer. */
  reload: () => void;
  /**
   * Fetches and shows new offers.
   * @returns whether there are offers
   */
  refresh: () => Promise<boolean>;
  setPayload: (user: AdUser) => void;
  /**
   * Confirms the selected perks.
   * @returns whether they are confirmed
   */
  confirm: () => Promise<boolean>;
  /** Removes the unit and its listeners without emitting events or firing beacons. */
  destroy: () => void;
};
