import { Session } from 'node:inspector';
import { Registry } from 'prom-client';
import { offerSchemas } from '../../../src/offers/answer-schemas.ts';
import { offerRoutes } from '../../../src/offers/fetch/routes.ts';
import { createOfferService } from '../../../src/offers/fetch/service.ts';
import { createFetchMeter } from '../../../src/offers/metrics.ts';
import type { App } from '../../../src/platform/http/app.ts';
import { registerHotBodyParsing } from '../../../src/platform/http/body-parsing.ts';
import { createHotRoutes } from '../../../src/platform/http/hot-routes.ts';
import { errorSchema } from '../../../src/platform/http/schemas.ts';
import { createServer } from '../../../src/platform/http/server.ts';
import type { TestApp } from '../../support/test-app.ts';

/** Files under src in which a function has run, or a constant was read, since the last call. */
function takeFiles(session: Session): string[] {
  const files = new Set<string>();
  session.post('Profiler.takePreciseCoverage', (_err, { result }) => {
    for (const { url, functions } of result) {
      const path = /\/(src\/.*\.ts)/.exec(url)?.[1];
      const ran = functions.some(({ ranges }) => (ranges[0]?.count ?? 0) > 0);
      if (path !== undefined && ran) files.add(path);
    }
  });
  return [...files].sort();
}

/**
 * Files that a fetch enters between the check of its key and the decision, which begins when its last input, the model,
 * is read. For a user without caps this is synchronous: nothing else can run in between.
 */
export async function enteredFiles(t: TestApp, fetchOffers: (app: App) => Promise<unknown>): Promise<string[]> {
  const session = new Session();
  session.connect();
  let entered: string[] | null = null;
  const app = createServer(t.deps);
  for (const schema of [errorSchema, ...offerSchemas]) app.addSchema(schema);
  app.decorateRequest('trace', null);
  registerHotBodyParsing(app);
  app.decorateRequest('caller', null);
  const auth: typeof t.deps.auth = {
    ...t.deps.auth,
    identify: (...parameters) => {
      const caller = t.deps.auth.identify(...parameters);
      takeFiles(session);
      return caller;
    },
  };
  const model = {
    ...t.deps.model,
    current: () => {
      entered ??= takeFiles(session);
      return t.deps.model.current();
    },
  };
  const hot = createHotRoutes(app, t.deps);
  const fetchMeter = createFetchMeter(new Registry());
  const offers = createOfferService({ ...t.deps, model, fetchMeter, eventsStoredUntil: t.deps.now });
  await app.register(offerRoutes, { ...t.deps, auth, hot, offers });
  session.post('Profiler.enable');
  session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
  try {
    await fetchOffers(app);
  } finally {
    session.post('Profiler.stopPreciseCoverage');
    session.disconnect();
    await app.close();
  }
  return entered ?? [];
}
