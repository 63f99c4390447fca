import { Gauge } from 'prom-client';
import type { Catalog } from '../catalog/module.ts';
import type { RetentionStep } from '../platform/db/retention.ts';
import type { App } from '../platform/http/app.ts';
import type { Job } from '../platform/jobs.ts';
import { registerGauge, remember } from '../platform/metrics/gauges.ts';
import type { Platform } from '../platform/module.ts';
import { learningHealthRoute, readLearningState } from './health.ts';
import { createLearner } from './reading/learner.ts';
import { createModelSource } from './source.ts';
import { deleteOldVersions } from './versions.ts';

export type Learning = ReturnType<typeof createLearning>;

/** Creates the learning module, which learns from counted events about offers, positions and users for the ranking. */
export function createLearning({ platform, catalog }: { platform: Platform; catalog: Catalog }) {
  const { pool, logger, now, metrics } = platform.deps;
  const model = createModelSource({ pool, logger });
  const learner = createLearner({ pool, catalog: catalog.store, now });
  const jobs: readonly Job[] = [
    {
      name: 'ranking model',
      roles: ['api', 'worker'],
      pauseMs: 1000,
      locks: 'none: reads ranking_versions and model_versions into memory',
      run: model.refresh,
    },
    {
      name: 'learning',
      roles: ['worker'],
      pauseMs: 2000,
      locks: 'one process leads, as ranking_progress says; an advisory lock while it stores a version',
      run: async () => {
        const learned = await learner.learn();
        return learned?.complete === false ? 0 : 2000;
      },
      onStop: learner.stop,
    },
  ];
  new Gauge({
    name: 'perkwire_model_version',
    help: 'Version of the ranking model in use. Increases while ranking learns from events.',
    registers: [metrics.registry],
    aggregator: 'min',
    collect() {
      this.set(model.current().version);
    },
  });
  new Gauge({
    name: 'perkwire_model_broken',
    help: '1 if the latest version of the ranking model cannot be read and an earlier one is in use, else 0.',
    registers: [metrics.registry],
    aggregator: 'max',
    collect() {
      this.set(model.isBroken() ? 1 : 0);
    },
  });
  const state = (): ReturnType<typeof readLearningState> => readLearningState(pool, now());
  registerGauge(metrics.registry, {
    name: 'perkwire_learning_stalled',
    help: '1 if events are waiting and ranking has not learned for 60 seconds, else 0.',
    maxAgeMs: healthMaxAgeMs,
    now,
    read: async () => [{ value: (await state()).stalledPublisherIds.length > 0 ? 1 : 0 }],
  });
  const probes = (app: App): Promise<void> => learningHealthRoute(app, remember(state, healthMaxAgeMs, now));
  return { name: 'learning', rank: 60, model, probes, jobs: () => jobs, retention };
}

/** Maximum age of the cached learning state, in milliseconds. */
const healthMaxAgeMs = 5000;

const retention: RetentionStep = async (pool, _days, nowMs) => {
  await deleteOldVersions(pool, nowMs);
  return {};
};
