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
  description: 'How often it happened since the last event of this subject.',
});

const endpointFields = {
  endpoint_id: Type.Integer(),
  url: Type.String({ description: 'Without its query.' }),
  description: Type.String(),
};
const sampleEndpoint = { endpoint_id: 1, url: 'https://shop.example/webhooks', description: 'Shop' };

const campaignFields = { campaign_id: Type.Integer(), name: Type.String() };
const sampleCampaign = { campaign_id: 1, name: 'Example campaign' };

const draftFields = {
  draft_id: Type.Integer(),
  resource: Type.Union(['offers', 'creatives', 'campaigns'].map((kind) => Type.Literal(kind))),
  subject: Type.String({ description: 'Title of the offer, name of the campaign.' }),
};
const sampleDraft = { draft_id: 1, resource: 'offers', subject: 'Example offer' };

const lostPageFields = {
  url: Type.String({ description: 'As stored, without its query.' }),
  reason: Type.Union([Type.Literal('gone'), Type.Literal('moved')]),
  status: Type.Union([Type.Integer(), Type.Null()], { description: 'null: the name of its host is unknown.' }),
  leads_to: Type.String({ description: 'The host that answers, after redirects.' }),
  led_to: Type.Union([Type.String(), Type.Null()], { description: 'As long as all was well; null: it never was.' }),
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

/** Events of the service itself (docs/reference/webhooks.md#operational-events). */
export const operationalEventTypes: readonly EventType[] = [
  operational('endpoint.failing', {
    title: 'Endpoint failing',
    description: 'Sent when three calls of an endpoint in a row have failed, or its circuit breaker opens.',
    fields: {
      ...endpointFields,
      failures: Type.Integer({ description: 'Since the last success.' }),
      failing_since: dateTime,
    },
    sample: (nowMs) => ({ ...sampleEndpoint, failures: 3, failing_since: new Date(nowMs).toISOString() }),
  }),
  operational('endpoint.disabled', {
    title: 'Endpoint disabled',
    description: 'Sent when an endpoint is disabled by its answer or after days of failures; its deliveries are held.',
    fields: {
      ...endpointFields,
      reason: Type.Union([Type.Literal('gone'), Type.Literal('asked'), Type.Literal('failing')]),
    },
    sample: () => ({ ...sampleEndpoint, reason: 'gone' }),
  }),
  operational('endpoint.recovered', {
    title: 'Endpoint recovered',
    description: 'Sent when a call of a failing endpoint succeeds.',
    fields: endpointFields,
    sample: () => sampleEndpoint,
  }),
  operational('delivery.exhausted', {
    title: 'Delivery exhausted',
    description: 'Sent when the last attempt of a delivery has failed.',
    fields: {
      ...endpointFields,
      delivery_id: Type.String({ format: 'uuid', description: 'The newest one.' }),
      webhook_id: Type.String(),
      delivery_event: Type.String({ description: 'Its event type.' }),
    },
    sample: (nowMs) => {
      const id = firstUuid7At(nowMs);
      return { ...sampleEndpoint, delivery_id: id, webhook_id: webhookIdOf(id), delivery_event: 'usp.selection' };
    },
  }),
  operational('campaign.budget_reached', {
    title: 'Budget reached',
    description:
      'Sent once per period, when a campaign has spent a budget or reached a total cap, or when the rest does not ' +
      'pay for its next event. Until the end of the period the campaign is not shown.',
    fields: {
      ...campaignFields,
      per: Type.Union(['hour', 'day', 'month', 'lifetime'].map((per) => Type.Literal(per))),
      metric: capMetric,
      limit: Type.Number({ description: 'Money in `currency` for `budget`, else a count; so are the other amounts.' }),
      spent: Type.Number({ description: 'Booked or counted in the period.' }),
      remaining: Type.Number({ description: 'What is left of the limit.' }),
      next_cost: Type.Number({ description: 'Price of the next paid event; 1 for counts.' }),
      next_event: Type.String({ description: '`impression`, `click`, `conversion`, or an own event.' }),
      currency: Type.String({ description: 'ISO 4217, of the payout.' }),
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
    title: 'Goal behind its plan',
    description:
      'Sent when a campaign has delivered less than 90 percent of what the plan of its goal expects by now, beyond ' +
      'chance; at most once a day.',
    fields: {
      ...campaignFields,
      metric: Type.Union(['impressions', 'clicks', 'conversions'].map((metric) => Type.Literal(metric))),
      goal: Type.Integer({ description: 'What is to be delivered.' }),
      by: dateTime,
      percent: Type.Integer({ description: 'What was delivered, of what is expected.' }),
      expected: Type.Integer({ description: 'By now.' }),
      delivered: Type.Integer(),
      held_back_by: Type.Array(
        Type.Object({
          rule: Type.String({ description: 'As in explanations.' }),
          share: Type.Number({ description: 'Of the decisions of the last day, from 0 to 1.' }),
        }),
        { description: 'The rules that kept the campaign out first, most frequent first.' },
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
    description: 'Sent when the end of a campaign’s schedule has come.',
    fields: { ...campaignFields, ended_at: dateTime },
    sample: (nowMs) => ({ ...sampleCampaign, ended_at: new Date(nowMs).toISOString() }),
  }),
  operational('campaign.landing_page_lost', {
    title: 'Landing page lost',
    description:
      'Sent when a campaign is paused because its landing page is gone, or leads to another domain than before.',
    fields: { ...campaignFields, ...lostPageFields },
    sample: (nowMs) => ({ ...sampleCampaign, ...sampleLostPage(nowMs) }),
  }),
  operational('offer.action_page_lost', {
    title: 'Page of an offer lost',
    description:
      'Sent when an offer is paused because the page of its secondary action is gone, or leads to another domain ' +
      'than before.',
    fields: {
      offer_id: Type.Integer(),
      campaign_id: Type.Integer(),
      name: Type.String({ description: 'The title of the offer.' }),
      ...lostPageFields,
    },
    sample: (nowMs) => ({ offer_id: 1, campaign_id: 1, name: 'Example offer', ...sampleLostPage(nowMs) }),
  }),
  operational('draft.waiting', {
    title: 'Draft waiting',
    description: 'Sent when a draft waits to be approved, for the drafts of a campaign once an hour.',
    fields: { ...campaignFields, ...draftFields, proposed_by: Type.String() },
    sample: () => ({ ...sampleCampaign, ...sampleDraft, proposed_by: 'ann@advertiser.example' }),
  }),
  operational('draft.decided', {
    title: 'Draft decided',
    description: 'Sent when a draft is approved, scheduled, refused, withdrawn or, once it was live, taken back.',
    fields: {
      campaign_id: Type.Integer(),
      ...draftFields,
      row_id: Type.Union([Type.Integer(), Type.Null()], { description: 'The row that it changed or made.' }),
      state: Type.Union(['scheduled', 'live', 'refused', 'withdrawn', 'undone'].map((state) => Type.Literal(state))),
      reason: Type.String({ description: 'Why it was refused.' }),
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
