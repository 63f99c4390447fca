import type pg from 'pg';
import { isDatabaseUnavailable } from '../platform/db/pool.ts';
import type { Logger } from '../platform/logger.ts';
import { createModel, type Model } from './model.ts';
import { following, loadVersion, newestVersion, versionsAfter } from './versions.ts';

/** Provides the current ranking model to decisions. `refresh` loads newer model versions. */
export type ModelSource = { current: () => Model; refresh: () => Promise<void>; isBroken: () => boolean };

/**
 * Creates a model source that follows the stored model versions. Each version is read in the background and applied in
 * a single step between two requests. If a version is missing or corrupt, the last good version stays in use until the
 * next full version.
 */
export function createModelSource({ pool, logger }: { pool: pg.Pool; logger: Logger }): ModelSource {
  let model = createModel();
  let brokenAt: number | null = null;

  async function follow(): Promise<void> {
    for (const row of await versionsAfter(pool, model.version)) model = (await following(model, row))();
  }

  async function catchUp(newest: number): Promise<void> {
    const loaded = await loadVersion(pool, newest);
    if (loaded === null) throw new Error(`version ${newest} of the ranking model is not complete`);
    model = loaded;
  }

  return {
    current: () => model,
    isBroken: () => brokenAt !== null,
    refresh: async () => {
      const newest = await newestVersion(pool);
      if (newest === model.version) return;
      try {
        const isNear = model.version > 0 && newest > model.version && newest - model.version <= 50;
        if (isNear) await follow();
        // Catch up if following was not possible or did not reach the newest version. It may have gone past that
        // version, because more were stored in the meantime. After a database restore, the newest version may have a
        // lower number.
        if (!isNear || model.version < newest) await catchUp(newest);
        brokenAt = null;
      } catch (err) {
        if (isDatabaseUnavailable(err)) throw err;
        if (brokenAt === null)
          logger.error(
            { err, serving: model.version },
            'reading ranking model failed; the previous version stays in use',
          );
        brokenAt = newest;
      }
    },
  };
}
