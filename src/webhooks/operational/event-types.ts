import { type TProperties, Type } from '@sinclair/typebox';
import { capMetric } from '../../catalog/rules.ts';
import { firstUuid7At } from '../../platform/lib/uuid7.ts';
import { webhookIdOf } from '../deliveries/view.ts';
import type { EventType } from '../events.ts';
import type { OperationalEvent } from '../raise-events.ts';

/** Builds the payload of an operational event. */
export const buildOperationalPayload = (
  event: OperationalEvent,
  data: Readonly<Record<string, unknown>>,
  nowMs: number,
): Buffer => Buffer.from(JSON.stringify({ event, timestamp: new Date(nowMs).toISOString(), ...data }));

const dateTime = Type.String({ format: 'date-time' });
const count = Type.Integer({
  title: 'EventCount',
  minimum: 1,
  description: 'Number of occurrences since the last event for the same resource.',
});

const endpointFields = {
  endpoint_id: Type.Integer(),
  url: Type.String({ description: 'URL of the endpoint without its query.' }),
  description: Type.String(),
};
const sampleEndpoint = { endpoint_id: 1, url: 'https://shop.example/webhooks', description: 'Shop' };

const campaignFields = { campaign_id: Type.Integer(), name: Type.String() };
const sampleCampaign = { campaign_id: 1, name: 'Example campaign' };

const draftFields = {
  draft_id: Type.Integer(),
  resource: Type.Union(['offers', 'creatives', 'campaigns'].map((kind) => Type.Literal(kind))),
  subject: Type.String({ description: 'Title of the offer or name of the campaign.' }),
};
const sampleDraft = { draft_id: 1, resource: 'offers', subject: 'Example offer' };

const lostPageFields = {
  url: Type.String({ description: 'Stored URL without its query.' }),
  reason: Type.Union([Type.Literal('gone'), Type.Literal('moved')]),
  status: Type.Union([Type.Integer(), Type.Null()], {
    description: 'HTTP status, or `null` if the host name could not be resolved.',
  }),
  leads_to: Type.String({ description: 'Host that was reached after redirects.' }),
  led_to: Type.Union([Type.String(), Type.Null()], {
    description: 'Host that was reached by the last successful check, or `null`.',
  }),
  since: dateTime,
};
const sampleLostPage = (nowMs: number) => ({
  url: 'https://shop.example/sale',
  reason: 'moved',
  status: 200,
  leads_to: 'parking.example',
  led_to: 'shop.example',
  since: new Date(nowMs).toISOString(),
});

type Parts = {
  title: string;
  description: string;
  fields: TProperties;
  sample: (nowMs: number) => Record<string, unknown>;
};

const operational = (name: OperationalEvent, { title, description, fields, sample }: Parts): EventType => ({
  name,
  title,
  description,
  isOperational: true,
  payload: Type.Object({ event: Type.Literal(name), timestamp: dateTime, ...fields, count }),
  sample: ({ nowMs }) => buildOperationalPayload(name, { ...sample(nowMs), count: 1 }, nowMs),
});

/** Event types for the service itself (docs/reference/webhooks.md#operational-events). */
export const operationalEventTypes: readonly EventType[] = [
  operational('endpoint.failing', {
    title: 'Endpoint failing',
    description: 'Sent when three consecutive calls to an endpoint have failed, or when its circuit breaker opens.',
    fields: {
      ...endpointFields,
      failures: Type.Integer({ description: 'Number of failed calls since the last success.' }),
      failing_since: dateTime,
    },
    sample: (nowMs) => ({ ...sampleEndpoint, failures: 3, failing_since: new Date(nowMs).toISOString() }),
  }),
  operational('endpoint.disabled', {
    title: 'Endpoint disabled',
    description:
      'Sent when an endpoint is disabled, because of its response or after days of failures. Its deliveries are ' +
      'held.',
    fields: {
      ...endpointFields,
      reason: Type.Union([Type.Literal('gone'), Type.Literal('asked'), Type.Literal('failing')]),
    },
    sample: () => ({ ...sampleEndpoint, reason: 'gone' }),
  }),
  operational('endpoint.recovered', {
    title: 'Endpoint recovered',
    description: 'Sent when a call to a failing endpoint succeeds.',
    fields: endpointFields,
    sample: () => sampleEndpoint,
  }),
  operational('delivery.exhausted', {
    title: 'Delivery exhausted',
    description: 'Sent when the last attempt of a delivery has failed.',
    fields: {
      ...endpointFields,
      delivery_id: Type.String({ format: 'uuid', description: 'ID of the latest failed delivery.' }),
      webhook_id: Type.String(),
      delivery_event: Type.String({ description: 'Event type of the delivery.' }),
    },
    sample: (nowMs) => {
      const id = firstUuid7At(nowMs);
      return { ...sampleEndpoint, delivery_id: id, webhook_id: webhookIdOf(id), delivery_event: 'usp.selection' };
    },
  }),
  operational('campaign.budget_reached', {
    title: 'Budget reached',
    description:
      'Sent once per period when a campaign has spent a budget or reached a total cap, or when too little is ' +
      'left for its next event. The campaign is not shown until the end of the period.',
    fields: {
      ...campaignFields,
      per: Type.Union(['hour', 'day', 'month', 'lifetime'].map((per) => Type.Literal(per))),
      metric: capMetric,
      limit: Type.Number({
        description:
          'Limit: an amount in `currency` for `budget`, otherwise a count. This also applies to the other amounts.',
      }),
      spent: Type.Number({ description: 'Amount booked or events counted in the period.' }),
      remaining: Type.Number({ description: 'Remaining part of the limit.' }),
      next_cost: Type.Number({ description: 'Price of the next paid event. 1 for counts.' }),
      next_event: Type.String({
        description: 'Next paid event: `impression`, `click`, `conversion`, or an own event.',
      }),
      currency: Type.String({ description: 'ISO 4217 code of the payout currency.' }),
    },
    sample: () => ({
      ...sampleCampaign,
      per: 'day',
      metric: 'budget',
      limit: 100,
      spent: 94,
      remaining: 6,
      next_cost: 12,
      next_event: 'conversion',
      currency: 'USD',
    }),
  }),
  operational('campaign.goal_behind', {
    title: 'Goal behind plan',
    description:
      'Sent when a campaign has delivered less than 90% of what its goal expects by now, and the difference is ' +
      'significant. At most once a day.',
    fields: {
      ...campaignFields,
      metric: Type.Union(['impressions', 'clicks', 'conversions'].map((metric) => Type.Literal(metric))),
      goal: Type.Integer({ description: 'Number of events to deliver.' }),
      by: dateTime,
      percent: Type.Integer({ description: 'Delivered events, as a percentage of the expected events.' }),
      expected: Type.Integer({ description: 'Number of events that the plan expects by now.' }),
      delivered: Type.Integer(),
      held_back_by: Type.Array(
        Type.Object({
          rule: Type.String({ description: 'Rule, named as in explanations of decisions.' }),
          share: Type.Number({ description: 'Share of the decisions of the last day, from 0 to 1.' }),
        }),
        { description: 'Rules that most often excluded the campaign, most frequent first.' },
      ),
    },
    sample: (nowMs) => ({
      ...sampleCampaign,
      metric: 'clicks',
      goal: 1000,
      by: new Date(nowMs + 7 * 86_400_000).toISOString(),
      percent: 80,
      expected: 500,
      delivered: 400,
      held_back_by: [{ rule: 'targeting', share: 0.4 }],
    }),
  }),
  operational('campaign.ended', {
    title: 'Campaign ended',
    description: 'Sent when the schedule of a campaign ends.',
    fields: { ...campaignFields, ended_at: dateTime },
    sample: (nowMs) => ({ ...sampleCampaign, ended_at: new Date(nowMs).toISOString() }),
  }),
  operational('campaign.landing_page_lost', {
    title: 'Landing page failed',
    description: 'Sent when a campaign is paused because its landing page is gone or redirects to another domain.',
    fields: { ...campaignFields, ...lostPageFields },
    sample: (nowMs) => ({ ...sampleCampaign, ...sampleLostPage(nowMs) }),
  }),
  operational('offer.action_page_lost', {
    title: 'Secondary action page failed',
    description:
      'Sent when an offer is paused because its secondary action page is gone or redirects to another domain.',
    fields: {
      offer_id: Type.Integer(),
      campaign_id: Type.Integer(),
      name: Type.String({ description: 'Title of the offer.' }),
      ...lostPageFields,
    },
    sample: (nowMs) => ({ offer_id: 1, campaign_id: 1, name: 'Example offer', ...sampleLostPage(nowMs) }),
  }),
  operational('draft.waiting', {
    title: 'Draft pending',
    description:
      'Sent when a draft is waiting for approval, at most once an hour per campaign. A draft that replaces a refused ' +
      'one is always sent.',
    fields: { ...campaignFields, ...draftFields, proposed_by: Type.String() },
    sample: () => ({ ...sampleCampaign, ...sampleDraft, proposed_by: 'ann@advertiser.example' }),
  }),
  operational('draft.decided', {
    title: 'Draft decided',
    description: 'Sent when a draft is approved, scheduled, refused, withdrawn, or reverted after it went live.',
    fields: {
      campaign_id: Type.Integer(),
      ...draftFields,
      row_id: Type.Union([Type.Integer(), Type.Null()], { description: 'ID of the changed or created row.' }),
      state: Type.Union(['scheduled', 'live', 'refused', 'withdrawn', 'undone'].map((state) => Type.Literal(state))),
      reason: Type.String({ description: 'Reason for the refusal.' }),
    },
    sample: () => ({
      campaign_id: 1,
      ...sampleDraft,
      row_id: 1,
      state: 'refused',
      reason: 'The price is out of date.',
    }),
  }),
];
