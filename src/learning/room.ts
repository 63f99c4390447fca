import type { Catalog } from '../catalog/room.ts';
import type { Job } from '../platform/jobs.ts';
import type { Platform } from '../platform/room.ts';
import { createModelSource } from './posteriors.ts';

export type Learning = ReturnType<typeof createLearning>;

/** What the ranking learns of offers from counted events. */
export function createLearning({ platform, catalog }: { platform: Platform; catalog: Catalog }) {
  const { pool, now } = platform.deps;
  const model = createModelSource({ pool, catalog: catalog.store, now });
  const refresh: Job = {
    name: 'ranking model',
    roles: ['api'],
    pauseMs: 30_000,
    pausePerRun: 20,
    locks: 'none: reads rollups into memory',
    run: model.refresh,
  };
  return { name: 'learning', model, jobs: () => [refresh] };
}
