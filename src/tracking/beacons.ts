import type { Visit } from './admit.ts';
import type { EventKind } from './check.ts';
import type { Recorder } from './record.ts';

export type Beacon = { url: string; summary: string; kind: EventKind; store: (recorder: Recorder, visit: Visit) => Promise<void> };

/** The image beacons (decisions section 3). */
export const beacons: readonly Beacon[] = [
  {
    url: '/sdk/v2/impression/p.png',
    summary: 'Record an impression',
    kind: 'impression',
    store: (recorder, { event, offer }) => recorder.beacon(event, offer.campaign),
  },
  {
    url: '/event/record/close',
    summary: 'Record a close',
    kind: 'close',
    store: (recorder, { event, offer }) => recorder.beacon(event, offer.campaign),
  },
  {
    url: '/event/record/no_thanks_click',
    summary: 'Record a "no thanks", and opt the user out of the campaign',
    kind: 'no_thanks',
    store: (recorder, { event, offer }) => recorder.noThanks({ ...event, optOutDays: offer.campaign.optOutDays }, offer.campaign),
  },
];
