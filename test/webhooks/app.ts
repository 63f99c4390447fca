import { perkMessage } from '../../src/messages/event-types.ts';
import { uspSelection } from '../../src/perks/usp-selection.ts';
import { offerRemoved, offerSaved } from '../../src/perks/wallet/event-types.ts';
import type { Module } from '../../src/runtime/module.ts';
import { conversionEvent } from '../../src/tracking/conversions/postback.ts';
import { createTestModules, type TestModules, type TestModulesOptions } from '../support/test-modules.ts';

/** Module that registers the events of later modules, so that endpoints can subscribe to them. */
const laterEvents: Module = {
  name: 'later events',
  rank: 1000,
  eventTypes: [uspSelection, offerSaved, offerRemoved, conversionEvent, perkMessage],
};

export type WebhooksApp = TestModules<'webhooks'>;

/** Creates an application with the module `webhooks`, the events of all modules and the erasure of users. */
export const createWebhooksApp = (options: TestModulesOptions = {}): Promise<WebhooksApp> =>
  createTestModules(['webhooks', 'privacy'], { ...options, modules: [laterEvents] });
