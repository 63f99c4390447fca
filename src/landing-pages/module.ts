import { Counter } from 'prom-client';
import type { Catalog } from '../catalog/module.ts';
import type { CatalogAdmin } from '../catalog-admin/module.ts';
import { createFailFast } from '../platform/db/health.ts';
import type { Job } from '../platform/jobs.ts';
import type { Platform } from '../platform/module.ts';
import { userAgent } from '../platform/version.ts';
import type { Webhooks } from '../webhooks/module.ts';
import { createSender } from '../webhooks/sender.ts';
import { landingPageCommands } from './commands.ts';
import { landingCards } from './pages/landing-card.ts';
import { createLandingCheck } from './pages/landing-check.ts';
import { actionAdditions, landingAdditions } from './view.ts';
import { checkDuePages, maxBatch, type WatchDeps } from './watch.ts';

type LandingPagesDeps = { platform: Platform; catalog: Catalog; catalogAdmin: CatalogAdmin; webhooks: Webhooks };

/** Creates the landing-pages module, which checks landing pages daily and pauses offers whose page is lost. */
export function createLandingPages({ platform, catalog, catalogAdmin, webhooks }: LandingPagesDeps) {
  const { config, pool, logger, metrics, now, dbHealth } = platform.deps;
  // Redirects may lead through http URLs. IP addresses are checked for those as well.
  const sender = createSender({
    allowNets: config.webhookAllowNets,
    allowHttp: true,
    proxy: config.webhookProxy,
    userAgent: `${userAgent} (landing page check)`,
  });
  const checks = new Counter({
    name: 'perkwire_landing_page_looks_total',
    help: 'Number of landing page checks, by result.',
    labelNames: ['result'],
    registers: [metrics.registry],
  });
  const deps: WatchDeps = {
    pool,
    sender,
    callMs,
    checks,
    logger,
    now,
    random: Math.random,
    management: catalog.management,
    kinds: catalogAdmin.kinds,
    raiseFacts: webhooks.raiseFacts,
  };
  return {
    name: 'landing-pages',
    rank: 180,
    commands: landingPageCommands,
    extensions: {
      ...landingCards(pool, createFailFast(dbHealth)),
      landingCheck: createLandingCheck({ pool, sender, now, elapsedMs: () => performance.now() }),
    },
    rowAdditions: { campaigns: landingAdditions, offers: actionAdditions },
    jobs: () => [watch(deps)],
    close: sender.close,
  };
}

/** Timeout for each HTTP call, in milliseconds. */
const callMs = 10_000;

/** Pause between two runs if no checks are due, in milliseconds. */
const pauseMs = 10_000;

const watch = (deps: WatchDeps): Job => ({
  name: 'landing pages',
  roles: ['worker'],
  pauseMs,
  locks:
    'an advisory lock while pages are taken, one of each host; then the row of a campaign or an offer that is paused',
  run: async () => ((await checkDuePages(deps)) < maxBatch ? pauseMs : 1000),
});
