import type { BeaconKind } from '../../catalog/event-kinds.ts';
import type { Visit } from '../verify-token.ts';
import type { Recorder } from './recorder.ts';

export type Beacon = {
  url: string;
  summary: string;
  kind: BeaconKind;
  store: (recorder: Recorder, visit: Visit) => Promise<void>;
};

/** The image beacons (docs/interface.md#tracking). */
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
    store: (recorder, { event, offer }) =>
      recorder.noThanks({ ...event, optOutDays: offer.campaign.optOutDays }, offer.campaign),
  },
];
