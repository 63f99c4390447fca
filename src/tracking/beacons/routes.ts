import { Type } from '@sinclair/typebox';
import { eventKinds, kindsWith } from '../../catalog/event-kinds.ts';
import type { FailureLimit } from '../../platform/http/failure-limit.ts';
import { errorAnswers } from '../../platform/http/schemas.ts';
import type { App } from '../../platform/ports.ts';
import type { Recorder } from '../recorder.ts';
import type { VerifyToken } from '../verify-token.ts';
import { badTokenAnswer, recordedAnswer, refuseToken, sendImage } from './image-answer.ts';

type BeaconDeps = { failures: FailureLimit; verify: VerifyToken; recorder: Recorder };

/** A malformed query is answered with the image, not with a validation error: its schema only documents it. */
export const unvalidated = { validatorCompiler: () => () => true };

export const tokenQuery = Type.Object({
  t: Type.Optional(Type.String({ description: 'Signed token of the offer in its session.' })),
  cbuster: Type.Optional(Type.String({ description: 'Anything; keeps caches away.' })),
});

/** The image beacons, one route for each (docs/interface.md#tracking). */
export async function beaconRoutes(app: App, { failures, verify, recorder }: BeaconDeps): Promise<void> {
  for (const kind of kindsWith('beacon')) {
    const { path, summary } = eventKinds[kind].beacon;
    const response = { 200: recordedAnswer, 400: badTokenAnswer, ...errorAnswers() };
    const schema = { summary, tags: ['Tracking'], querystring: tokenQuery, response };
    app.get(path, { schema, ...unvalidated }, async (request, reply) => {
      const tracked = verify(request, kind);
      if (tracked === null) return refuseToken(failures, request, reply);
      if (tracked.recorded) await recorder.beacon(tracked.event, tracked.offer.campaign);
      return sendImage(reply);
    });
  }
}
