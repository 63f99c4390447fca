import type { App } from '../platform/http/app.ts';
import type { Platform } from '../platform/module.ts';
import { sdkRoutes, templateRoutes } from './serve/routes.ts';

export type Browser = ReturnType<typeof createBrowser>;

/** Creates the browser module: the web SDK and the files that host pages embed. */
export const createBrowser = ({
  platform: {
    deps: { config, logger },
  },
}: {
  platform: Platform;
}) => ({
  name: 'browser',
  rank: 150,
  publicRoutes: async (open: App) => {
    await open.register(sdkRoutes, { config, logger });
    await open.register(templateRoutes, { config });
  },
});
