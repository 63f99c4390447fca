import type { Beacons, Coupon, Creative, ExperimentArm, OfferCampaign } from './response.ts';

/** Selected campaign in a `usp.selection` event. Every field is always present. Missing copy is "". */
export type SelectedCampaign = {
  campaign_id: number;
  /** Language of the displayed copy, as a BCP 47 tag. Absent if the fetch did not request a language. */
  language?: string;
  advertiser_name: string;
  title: string;
  short_headline: string;
  short_description: string;
  offer_description: string;
  description: string;
  /** Terms and conditions as sanitised HTML. */
  terms_and_conditions: string;
  click_url: string;
  cta_yes: string;
  cta_no: string;
  mini_text: string;
  image: string;
  pixel: string;
  adv_pixel_url: string;
  /** URL that saves the offer to the wallet. "" if the wallet is disabled. */
  save_for_later_url: string;
  is_loyalty: boolean;
  loyalty_requirements: { text?: string };
  offerwall_enabled: boolean;
  wallet_enabled: boolean;
  tags: string[];
  beacons: Beacons;
  /** Beacon URLs for custom events, keyed by event name. Absent if none exists. */
  events?: Record<string, string>;
  creatives: Creative[];
  useraction_cta: string | null;
  useraction_url: string | null;
  campaign: OfferCampaign;
  /** @deprecated Alias of `is_loyalty`. */
  is_loyaltyboost: boolean;
  /** @deprecated Alias of `loyalty_requirements`. */
  loyaltyboost_requirements: { text?: string };
  /** @deprecated Alias of `wallet_enabled`. */
  perkswallet_enabled: boolean;
  /** User's coupon code. Present only for offers with codes. Null if no code was left. */
  coupon?: Coupon | null;
};

/** Perks that the user confirmed in a session (docs/reference/webhooks.md#usp-webhook-payload). */
export type UspSelectionPayload = {
  body: {
    pub_user_id: string;
    /** Whether any campaign was selected. If 0, `campaigns` is empty. */
    selected: 0 | 1;
    session_id: string;
    /** Selected campaigns in display order. */
    campaigns: SelectedCampaign[];
    /** Experiments that the session takes part in. Absent if none exists. */
    experiments?: ExperimentArm[];
  };
};

/**
 * Payload of the events for an offer that is saved to a user's wallet or removed from it
 * (docs/reference/webhooks.md#flat-payloads).
 */
export type WalletPayload<Event extends 'offer_saved' | 'offer_removed' = 'offer_saved' | 'offer_removed'> = {
  event: Event;
  pub_user_id: string;
  offer_id: number;
  advertiser_name: string;
  headline: string;
  short_headline: string;
  description: string;
  short_description: string;
  mini_text: string;
  click_url: string;
  image: string;
  cta_yes: string;
  cta_no: string;
  /** Terms and conditions as sanitised HTML. */
  tnc: string;
  /** Event time in ISO 8601 format. */
  timestamp: string;
  /** User's coupon code. Present only for offers that issue codes when they are saved. Null if no code was left. */
  coupon?: Coupon | null;
};

/** E-mail that your own mail system should send to the user (docs/reference/perks-and-wallet.md#perk-messages). */
export type PerkMessagePayload = {
  event: 'perk_message';
  /** `Message-ID` of the e-mail. It stays the same across delivery attempts. */
  message_id: string;
  /** Message kind: `perks` for confirmed perks, or `reminder` for a saved offer that ends soon. */
  kind: 'perks' | 'reminder';
  pub_user_id: string;
  session_id: string;
  language: string;
  from_name: string;
  subject: string;
  html: string;
  text: string;
  /** E-mail headers to set. */
  headers: Record<string, string>;
  perks: {
    title: string;
    description: string;
    advertiser_name: string;
    /** Click URL. "" if the perk is not redeemed online. */
    click_url: string;
    /** User's coupon code. Present only for offers with codes. Null if no code was left. */
    coupon?: Coupon | null;
    /** End time of the offer in ISO 8601 format. Present only in reminders. */
    ends_at?: string;
  }[];
};

/**
 * Postback for a conversion, a paid click or a paid impression (docs/reference/webhooks.md#flat-payloads). Times are in
 * ISO 8601 format.
 */
export type ConversionPayload = {
  /** ID of the conversion, paid click or paid impression. */
  conversion_id: string;
  /** Booking status. `void` reverses the conversion with the same ID and has negative amounts. */
  status: 'recorded' | 'void';
  /** `click`, `impression`, or the event name that the advertiser reported. */
  event: string;
  txn_id: string;
  offer_id: number;
  campaign_id: number;
  advertiser_name: string;
  payout: number;
  /** Amount that was not booked. If it is not 0, `payout` is 0. */
  unbilled: number;
  /**
   * Reason why the payout was not booked: `budget`, or `currency` if there is no exchange rate. "" if `unbilled` is 0.
   */
  unbilled_reason: 'budget' | 'currency' | '';
  currency: string;
  is_loyalty: boolean;
  loyalty_amount: number;
  /** Click time. "" for an impression. */
  click_time: string;
  /** Conversion time. "" for a click or an impression. */
  conversion_time: string;
  /** Time when the conversion was voided, or "". */
  void_time: string;
  /** Booking time. */
  timestamp: string;
  session_id: string;
  pub_user_id: string;
  /** Reason why the event is excluded from billing. Usually "". */
  suspicious: string;
  /** Custom attributes from the fetch. */
  payload: Record<string, unknown>;
};

type OperationalPayload<Event extends string, Fields> = {
  event: Event;
  /** Event time in ISO 8601 format. */
  timestamp: string;
  /** Number of occurrences since the last event for the same subject. */
  count: number;
} & Fields;

type EndpointFields = {
  endpoint_id: number;
  /** URL without the query string. */
  url: string;
  description: string;
};

type LostPageFields = {
  /** Stored URL of the page, without the query string. */
  url: string;
  reason: 'gone' | 'moved';
  /** HTTP status, or null if the host name could not be resolved. */
  status: number | null;
  /** Host that responds after all redirects. */
  leads_to: string;
  /** Host to which the URL led previously. Null if the URL was never reached. */
  led_to: string | null;
  since: string;
};
type CampaignFields = { campaign_id: number; name: string };

/**
 * Payloads of operational events, which concern endpoints, deliveries and campaigns
 * (docs/reference/webhooks.md#operational-events).
 */
export type OperationalPayloads = {
  'endpoint.failing': OperationalPayload<
    'endpoint.failing',
    EndpointFields & { failures: number; failing_since: string }
  >;
  'endpoint.disabled': OperationalPayload<
    'endpoint.disabled',
    EndpointFields & { reason: 'gone' | 'asked' | 'failing' }
  >;
  'endpoint.recovered': OperationalPayload<'endpoint.recovered', EndpointFields>;
  'delivery.exhausted': OperationalPayload<
    'delivery.exhausted',
    EndpointFields & { delivery_id: string; webhook_id: string; delivery_event: string }
  >;
  'campaign.budget_reached': OperationalPayload<
    'campaign.budget_reached',
    CampaignFields & {
      /** Metric to which the limit applies. For a custom event, it is `own:` followed by the event name. */
      metric: 'budget' | 'impressions' | 'clicks' | `own:${string}`;
      per: 'hour' | 'day' | 'month' | 'lifetime';
      /** Cap limit. If the metric is `budget`, all amounts are in `currency`. Otherwise, they are counts. */
      limit: number;
      spent: number;
      remaining: number;
      /** Cost of the next paid event, or 1 if the limit is a count. */
      next_cost: number;
      next_event: 'impression' | 'click' | 'conversion' | `own:${string}`;
      /** ISO 4217 currency code of the payout. */
      currency: string;
    }
  >;
  'campaign.goal_behind': OperationalPayload<
    'campaign.goal_behind',
    CampaignFields & {
      metric: 'impressions' | 'clicks' | 'conversions';
      goal: number;
      by: string;
      /** Actual delivery as a percentage of the delivery planned up to now. */
      percent: number;
      expected: number;
      delivered: number;
      /**
       * Rules that excluded the campaign from decisions in the last day, each with the share of decisions (0 to 1) that
       * it affected.
       */
      held_back_by: { rule: string; share: number }[];
    }
  >;
  'campaign.ended': OperationalPayload<'campaign.ended', CampaignFields & { ended_at: string }>;
  'campaign.landing_page_lost': OperationalPayload<'campaign.landing_page_lost', CampaignFields & LostPageFields>;
  'offer.action_page_lost': OperationalPayload<
    'offer.action_page_lost',
    CampaignFields & LostPageFields & { offer_id: number }
  >;
  'draft.waiting': OperationalPayload<'draft.waiting', CampaignFields & DraftFields & { proposed_by: string }>;
  'draft.decided': OperationalPayload<
    'draft.decided',
    DraftFields & {
      campaign_id: number;
      /** ID of the created or changed row, or null. */
      row_id: number | null;
      state: 'scheduled' | 'live' | 'refused' | 'withdrawn' | 'undone';
      /** Reason why the draft was refused. */
      reason: string;
    }
  >;
};

type DraftFields = { draft_id: number; resource: 'offers' | 'creatives' | 'campaigns'; subject: string };

/** Audit log entry. Times are in ISO 8601 format. */
export type AuditPayload = {
  event: 'audit.recorded';
  timestamp: string;
  /** Sequence number in the publisher's audit log. Starts at 1 and has no gaps. */
  number: number;
  at: string;
  actor_kind: 'key' | 'user' | 'system';
  /** ID of the actor that made the change. Null if the actor is an operator. */
  actor_id: number | null;
  actor_label: string;
  action: string;
  resource: string;
  resource_id: string;
  changes: Record<string, { old: unknown; new: unknown }>;
  /** Hexadecimal SHA-256 hash of the entry and the previous entry's hash. */
  hash: string;
};

/** Events whose payload contains the event name in the `event` field. */
export const namedEvents: ReadonlySet<string> = new Set<keyof WebhookPayloads>([
  'offer_saved',
  'offer_removed',
  'perk_message',
  'endpoint.failing',
  'endpoint.disabled',
  'endpoint.recovered',
  'delivery.exhausted',
  'campaign.budget_reached',
  'campaign.goal_behind',
  'campaign.ended',
  'campaign.landing_page_lost',
  'offer.action_page_lost',
  'draft.waiting',
  'draft.decided',
  'audit.recorded',
]);

/** Payload types by webhook event. */
export type WebhookPayloads = OperationalPayloads & {
  'audit.recorded': AuditPayload;
  'usp.selection': UspSelectionPayload;
  offer_saved: WalletPayload<'offer_saved'>;
  offer_removed: WalletPayload<'offer_removed'>;
  conversion: ConversionPayload;
  perk_message: PerkMessagePayload;
};

export type WebhookType = keyof WebhookPayloads;

/** Data in the response of `GET /manage/v1/events`. Pass `headers` and `body` of an event to `verifyWebhook`. */
export type PulledEvents = {
  endpoint_id: number;
  events: {
    /** Pass it as `after` in the next call to acknowledge this event and all earlier ones. */
    cursor: string;
    delivery_id: string;
    webhook_id: string;
    event: WebhookType;
    headers: Record<string, string>;
    /** Payload as JSON text, with the bytes that were signed. */
    body: string;
  }[];
  /** Cursor for the next call, or null until the first event has been returned. */
  cursor: string | null;
  /** Number of events that the call acknowledged. */
  acknowledged: number;
};
