import type { DirectRoutes } from '../platform/http/direct-routes.ts';
import type { App } from '../platform/ports.ts';
import { addBeaconRoutes } from './beacons/routes.ts';
import { createFollowClick } from './clicks/follow.ts';
import { clickRoutes } from './clicks/routes.ts';
import { createLogRecorder } from './log/log-recorder.ts';
import type { TrackingDeps } from './ports.ts';
import { createRecorder } from './recorder.ts';
import { createTokenVerifier } from './verify-token.ts';

/** Beacons and clicks, which share one recorder and one token verifier (docs/interface.md#tracking). */
export async function trackingRoutes(app: App, deps: TrackingDeps & { direct: DirectRoutes }): Promise<void> {
  const verify = createTokenVerifier(deps);
  const databaseRecorder = createRecorder({ ...deps, pool: deps.flushPool });
  const recorder = deps.eventLog === null ? databaseRecorder : createLogRecorder(deps.eventLog, databaseRecorder, deps);
  app.addHook('onClose', recorder.drain);
  addBeaconRoutes(deps.direct, { ...deps, verify, recorder });
  await clickRoutes(app, { ...deps, verify, follow: createFollowClick(deps.config, recorder) });
}
