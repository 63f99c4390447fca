import type { HotRoutes } from '../platform/http/hot-routes.ts';
import type { App } from '../platform/ports.ts';
import { addBeaconRoutes } from './beacons/routes.ts';
import { createFollowClick } from './clicks/follow.ts';
import { clickRoutes } from './clicks/routes.ts';
import { createLogRecorder } from './log/log-recorder.ts';
import type { TrackingDeps } from './ports.ts';
import { createRecorder } from './recorder.ts';
import { createTokenVerifier } from './verify-token.ts';

type Needs = Parameters<typeof createTokenVerifier>[0] &
  Omit<Parameters<typeof createRecorder>[0], 'pool'> &
  Pick<TrackingDeps, 'config' | 'failures' | 'eventLog' | 'flushPool'>;

/** Beacons and clicks, which share one recorder and one token verifier (docs/interface.md#tracking). */
export function createTrackingRoutes(deps: Needs) {
  const { config, catalog, failures, eventLog } = deps;
  const verify = createTokenVerifier(deps);
  const databaseRecorder = createRecorder({ ...deps, pool: deps.flushPool });
  const recorder = eventLog === null ? databaseRecorder : createLogRecorder(eventLog, databaseRecorder, deps);
  return {
    beacons: async (scope: App, hot: HotRoutes): Promise<void> => {
      scope.addHook('onClose', recorder.drain);
      addBeaconRoutes(scope, hot, { failures, verify, recorder });
    },
    clicks: async (app: App): Promise<void> => {
      app.addHook('onClose', recorder.drain);
      await clickRoutes(app, { catalog, config, failures, verify, follow: createFollowClick(config, recorder) });
    },
  };
}
