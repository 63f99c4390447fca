import { perkMessage } from '../../src/messages/event-types.ts';
import { uspSelection } from '../../src/perks/usp-selection.ts';
import { offerRemoved, offerSaved } from '../../src/perks/wallet/event-types.ts';
import { conversionEvent } from '../../src/tracking/conversions/postback.ts';
import { auditRecorded } from '../../src/webhooks/audit-event.ts';
import { registerEventTypes } from '../../src/webhooks/events.ts';
import { operationalEventTypes } from '../../src/webhooks/operational/event-types.ts';

/** All events that publishers can subscribe to, in catalogue order. */
export const eventTypes = registerEventTypes([
  uspSelection,
  offerSaved,
  offerRemoved,
  conversionEvent,
  perkMessage,
  ...operationalEventTypes,
  auditRecorded,
]);
