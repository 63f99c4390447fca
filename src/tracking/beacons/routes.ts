import type { AccountDeps } from '../../accounts/ports.ts';
import { eventKinds, kindsWith } from '../../catalog/event-kinds.ts';
import { createClientAddress } from '../../platform/http/client-address.ts';
import type { DirectRoutes } from '../../platform/http/direct-routes.ts';
import type { Recorder } from '../recorder.ts';
import type { VerifyToken } from '../verify-token.ts';
import { badTokenImage, image } from './image-answer.ts';

type BeaconDeps = Pick<AccountDeps, 'config' | 'failures'> & { verify: VerifyToken; recorder: Recorder };

/** The image beacons (docs/interface.md#tracking). They are served directly: no other request is as frequent. */
export function addBeaconRoutes(direct: DirectRoutes, { config, failures, verify, recorder }: BeaconDeps): void {
  const clientAddress = createClientAddress(config.trustProxy);
  for (const kind of kindsWith('beacon')) {
    direct.add(eventKinds[kind].beacon.path, async (request, { t }) => {
      const tracked = verify(request, t, kind);
      if (tracked === null) {
        const limited = failures.charge(clientAddress(request));
        if (limited !== null) throw limited;
        return badTokenImage;
      }
      if (tracked.recorded) await recorder.beacon(tracked.event, tracked.offer.campaign);
      return image;
    });
  }
}
