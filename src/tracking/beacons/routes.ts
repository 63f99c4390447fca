import { Type } from '@sinclair/typebox';
import { eventKinds, kindsWith } from '../../catalog/event-kinds.ts';
import type { FailureLimit } from '../../platform/http/failure-limit.ts';
import { type HotRoutes, unvalidated } from '../../platform/http/hot-routes.ts';
import { errorAnswers } from '../../platform/http/schemas.ts';
import type { App } from '../../platform/ports.ts';
import type { Recorder } from '../recorder.ts';
import type { VerifyToken } from '../verify-token.ts';
import { badTokenAnswer, badTokenImage, image, imageAnswer, tokenParameter } from './image-answer.ts';

type BeaconDeps = { failures: FailureLimit; verify: VerifyToken; recorder: Recorder };

const schema = {
  tags: ['Tracking'],
  security: [],
  querystring: Type.Object({
    t: Type.Optional(tokenParameter),
    cbuster: Type.Optional(Type.String({ description: 'Anything; keeps caches away.' })),
  }),
  response: { 200: imageAnswer('Recorded, now or earlier.'), 400: badTokenAnswer, ...errorAnswers(405) },
};

/** The image beacons (docs/interface.md#tracking): no other request is as frequent. */
export function addBeaconRoutes(scope: App, hot: HotRoutes, { failures, verify, recorder }: BeaconDeps): void {
  const serve = hot(scope);
  for (const kind of kindsWith('beacon')) {
    const { path, operationId, summary } = eventKinds[kind].beacon;
    const handler = serve(path, async (request) => {
      const tracked = verify(request, (request.query as { t?: unknown }).t, kind);
      if (tracked === null) {
        const limited = failures.charge(request.ip);
        if (limited !== null) throw limited;
        return badTokenImage;
      }
      if (tracked.recorded) await recorder.beacon(tracked.event, tracked.offer.campaign);
      return image;
    });
    scope.get(path, { schema: { ...schema, operationId, summary }, ...unvalidated }, handler);
  }
}
