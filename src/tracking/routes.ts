import type { App, Deps } from '../deps.ts';

// placeholder until the feature's file lands
export async function trackingRoutes(_app: App, _deps: Deps): Promise<void> {}
