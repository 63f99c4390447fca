import { FormatRegistry } from '@sinclair/typebox';
import { Value } from '@sinclair/typebox/value';
import { expect, test } from 'vitest';
import type { Publisher } from '../../src/catalog/types.ts';
import { eventTypes } from '../support/event-types.ts';

FormatRegistry.Set('uuid', (text) => /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(text));
FormatRegistry.Set('date-time', (text) => !Number.isNaN(Date.parse(text)));

const language = { key: 'en', chain: ['en'], unit: 'en' };
const enabled = { walletEnabled: true, offerwallEnabled: true };
const publisher = {
  id: 7,
  name: 'Shop',
  defaultTheme: null,
  ...enabled,
  language,
  ownEvents: [],
} as unknown as Publisher;
const context = { publisher, publicUrl: 'https://perks.example', nowMs: Date.UTC(2026, 10, 21) };

test('the event types are registered by name', () => {
  expect([...eventTypes.keys()]).toEqual([
    ...[
      'usp.selection',
      'offer_saved',
      'offer_removed',
      'conversion',
      'perk_message',
      'endpoint.failing',
      'endpoint.disabled',
    ],
    ...['endpoint.recovered', 'delivery.exhausted', 'campaign.budget_reached', 'campaign.goal_behind'],
    ...[
      'campaign.ended',
      'campaign.landing_page_lost',
      'offer.action_page_lost',
      'draft.waiting',
      'draft.decided',
      'audit.recorded',
    ],
  ]);
});

test.each([...eventTypes.values()])('the sample payload of $name matches its schema', ({ payload, sample }) => {
  const body = JSON.parse(sample(context).toString());
  expect([...Value.Errors(payload, body)]).toEqual([]);
  expect(Value.Check(payload, {})).toBe(false);
  // The schema describes every field, so nothing is removed when unknown fields are.
  expect(Value.Clean(payload, structuredClone(body))).toEqual(body);
});
