import type { Beacons, Coupon, Creative, ExperimentArm, OfferCampaign } from './response.ts';

/** A selected campaign of `usp.selection`. Every field is always present; absent text is "". */
export type SelectedCampaign = {
  campaign_id: number;
  /** BCP 47 tag of the displayed texts; absent if the fetch requested no language. */
  language?: string;
  advertiser_name: string;
  title: string;
  short_headline: string;
  short_description: string;
  offer_description: string;
  description: string;
  /** Sanitised HTML. */
  terms_and_conditions: string;
  click_url: string;
  cta_yes: string;
  cta_no: string;
  mini_text: string;
  image: string;
  pixel: string;
  adv_pixel_url: string;
  /** "" if the wallet is disabled. */
  save_for_later_url: string;
  is_loyalty: boolean;
  loyalty_requirements: { text?: string };
  offerwall_enabled: boolean;
  wallet_enabled: boolean;
  tags: string[];
  beacons: Beacons;
  /** Beacons of own events by name; absent if there are none. */
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
  /** Only for offers with codes; null if none was left. */
  coupon?: Coupon | null;
};

/** Confirmed perks of a session (docs/reference/webhooks.md#usp-webhook-payload). */
export type UspSelectionPayload = {
  body: {
    pub_user_id: string;
    /** 0 if nothing was selected; `campaigns` is then empty. */
    selected: 0 | 1;
    session_id: string;
    /** Campaigns in display order. */
    campaigns: SelectedCampaign[];
    /** Experiments of the session; absent if there are none. */
    experiments?: ExperimentArm[];
  };
};

/** An offer was saved to, or removed from, a user's wallet (docs/reference/webhooks.md#flat-payloads). */
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
  /** Terms and conditions, sanitised HTML. */
  tnc: string;
  /** ISO 8601. */
  timestamp: string;
  /** Only for offers whose codes are issued when saved; null if none was left. */
  coupon?: Coupon | null;
};

/** An email that your own mailer sends to the user (docs/reference/perks-and-wallet.md#perk-messages). */
export type PerkMessagePayload = {
  event: 'perk_message';
  /** `Message-ID` of the email; the same on every attempt. */
  message_id: string;
  /** `reminder`: a saved offer ends soon. */
  kind: 'perks' | 'reminder';
  pub_user_id: string;
  session_id: string;
  language: string;
  from_name: string;
  subject: string;
  html: string;
  text: string;
  /** Headers to send with the email. */
  headers: Record<string, string>;
  perks: {
    title: string;
    description: string;
    advertiser_name: string;
    /** "" if the perk is not used online. */
    click_url: string;
    /** Only for offers with codes; null if none was left. */
    coupon?: Coupon | null;
    /** ISO 8601; only for reminders. */
    ends_at?: string;
  }[];
};

/**
 * Postback of a conversion, a paid click or a paid impression (docs/reference/webhooks.md#flat-payloads). Times are ISO
 * 8601.
 */
export type ConversionPayload = {
  /** Id of the conversion, or of the paid click or impression. */
  conversion_id: string;
  /** `void` reverses the conversion with the same id; its amounts are negative. */
  status: 'recorded' | 'void';
  /** `click`, `impression`, or the event name in the advertiser's report. */
  event: string;
  txn_id: string;
  offer_id: number;
  campaign_id: number;
  advertiser_name: string;
  payout: number;
  /** Amount that was not booked; `payout` is then 0. */
  unbilled: number;
  /** Why the payout was not booked: `budget`, or `currency` without an exchange rate. "" if `unbilled` is 0. */
  unbilled_reason: 'budget' | 'currency' | '';
  currency: string;
  is_loyalty: boolean;
  loyalty_amount: number;
  /** "" for an impression. */
  click_time: string;
  /** "" for a click or an impression. */
  conversion_time: string;
  /** "" if nothing was voided. */
  void_time: string;
  /** Time of the booking. */
  timestamp: string;
  session_id: string;
  pub_user_id: string;
  /** Why it is excluded from money; "" for most. */
  suspicious: string;
  /** Custom attributes of the fetch. */
  payload: Record<string, unknown>;
};

type OperationalPayload<Event extends string, Fields> = {
  event: Event;
  /** ISO 8601. */
  timestamp: string;
  /** Number of occurrences since the last event of the same subject. */
  count: number;
} & Fields;

type EndpointFields = {
  endpoint_id: number;
  /** URL without its query. */
  url: string;
  description: string;
};

type LostPageFields = {
  /** URL as stored, without its query. */
  url: string;
  reason: 'gone' | 'moved';
  /** null if the host name is unknown. */
  status: number | null;
  /** Host that responds, after redirects. */
  leads_to: string;
  /** Host that it led to before; null if it was never found. */
  led_to: string | null;
  since: string;
};
type CampaignFields = { campaign_id: number; name: string };

/** Payloads of events about endpoints, deliveries and campaigns (docs/reference/webhooks.md#operational-events). */
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
      /** `own:` and the name of an own event. */
      metric: 'budget' | 'impressions' | 'clicks' | `own:${string}`;
      per: 'hour' | 'day' | 'month' | 'lifetime';
      /** Money in `currency` for `budget`, otherwise a count; the other amounts likewise. */
      limit: number;
      spent: number;
      remaining: number;
      /** Price of the next paid event; 1 for counts. */
      next_cost: number;
      next_event: 'impression' | 'click' | 'conversion' | `own:${string}`;
      /** ISO 4217 code of the payout. */
      currency: string;
    }
  >;
  'campaign.goal_behind': OperationalPayload<
    'campaign.goal_behind',
    CampaignFields & {
      metric: 'impressions' | 'clicks' | 'conversions';
      goal: number;
      by: string;
      /** Delivered percentage of what is expected by now. */
      percent: number;
      expected: number;
      delivered: number;
      /** Rules that excluded the campaign from decisions of the last day, with their share (0 to 1). */
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
      /** Id of the changed or created row, or null. */
      row_id: number | null;
      state: 'scheduled' | 'live' | 'refused' | 'withdrawn' | 'undone';
      /** Reason for the refusal. */
      reason: string;
    }
  >;
};

type DraftFields = { draft_id: number; resource: 'offers' | 'creatives' | 'campaigns'; subject: string };

/** An entry of the audit log. Times are ISO 8601. */
export type AuditPayload = {
  event: 'audit.recorded';
  timestamp: string;
  /** Sequence number in the publisher's log, starting at 1 without gaps. */
  number: number;
  at: string;
  actor_kind: 'key' | 'user' | 'system';
  /** null for an operator. */
  actor_id: number | null;
  actor_label: string;
  action: string;
  resource: string;
  resource_id: string;
  changes: Record<string, { old: unknown; new: unknown }>;
  /** Hexadecimal SHA-256 of the entry and the previous hash. */
  hash: string;
};

/** Events whose payload contains their name in `event`. */
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

/** Payload of each webhook event. */
export type WebhookPayloads = OperationalPayloads & {
  'audit.recorded': AuditPayload;
  'usp.selection': UspSelectionPayload;
  offer_saved: WalletPayload<'offer_saved'>;
  offer_removed: WalletPayload<'offer_removed'>;
  conversion: ConversionPayload;
  perk_message: PerkMessagePayload;
};

export type WebhookType = keyof WebhookPayloads;
