import type { OfferSettings, OfferStyles } from '../../../packages/client/src/appearance.ts';
import type { AdEvent } from '../../../packages/client/src/callback.ts';

/**
 * offer     field names as on the wire (docs/interface.md#offer-object)
 * answer    one response of fetch-offers, made safe to show
 * unit      the display of offers: `single` shows one after another, `multi` a grid
 */
export type Creative = { url: string; creative_type: string };

export type Offer = {
  id: number;
  campaign_id: number;
  title: string;
  advertiser_name: string;
  description: string;
  click_url: string;
  image: string;
  mini_text: string;
  terms_and_conditions: string;
  pixel: string;
  cta_yes: string;
  cta_no: string;
  useraction_cta: string;
  useraction_url: string;
  adv_pixel_url: string;
  beacons: { close: string; no_thanks_click: string };
  creatives: Creative[];
  offerwall_enabled: boolean;
  wallet_enabled: boolean;
  save_for_later_url: string;
  offerwall_url: string;
  short_description: string;
  short_headline: string;
  is_loyalty: boolean;
  loyalty_requirements: string;
};

export type Answer = {
  offers: Offer[];
  sessionId: string;
  privacyUrl: string;
  settings: OfferSettings;
  styles: OfferStyles;
  /** The response as it came, to be stored for a later page. */
  raw: unknown;
};

/** The page's values for the request body (docs/interface.md#request-body). */
export type UserPayload = Record<string, unknown>;

export type EventName = AdEvent;

export type Emit = (event: EventName, payload?: Record<string, unknown>) => void;

export type Callback = (event: EventName, payload: Record<string, unknown>) => void;

/** Actions of the user. The default offer is the current one. */
export type Actions = {
  take: (offer?: Offer) => void;
  reject: (offer?: Offer) => void;
  back: () => void;
  close: () => void;
  save: (offer?: Offer) => Promise<boolean>;
  select: (campaignId: number, selected?: boolean) => void;
};

export type RenderContext = {
  /** Empty element of the page (outside the shadow root) to draw into. */
  element: HTMLElement;
  /** All offers of a multi unit, the one shown of a single unit. */
  offers: Offer[];
  /** From 1. */
  current: number;
  total: number;
  /** Campaign ids. */
  selected: number[];
  settings: OfferSettings;
  styles: OfferStyles;
  actions: Actions;
};

export type Labels = Record<'offers' | 'close' | 'back' | 'terms' | 'progress' | 'saved' | 'newTab', string>;

/** `window.AdConfig` (docs/interface.md#web-sdk). */
export type AdConfig = {
  accountId?: string;
  autoLoad?: boolean;
  autoShow?: boolean;
  prefetch?: boolean;
  dev?: boolean | string | number;
  themeId?: number | string;
  placement?: string;
  targetElement?: string | Element;
  template?: string | HTMLTemplateElement;
  render?: (context: RenderContext) => void;
  settings?: Record<string, unknown>;
  styles?: Record<string, unknown>;
  callback?: Callback;
  /** Origin (and path) of the service; default: where the script came from. */
  apiUrl?: string;
  /** Texts of the unit, for other languages. */
  labels?: Partial<Labels>;
  /** Query parameters of fetch-offers (docs/interface.md#fetch-offers). */
  loyaltyboost?: string | number;
  creative?: string | number;
  campaignId?: string | number;
  country?: string;
};
