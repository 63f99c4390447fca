import type { Budgets } from '../budgets/module.ts';
import type { Catalog } from '../catalog/module.ts';
import type { PageExtensions } from '../catalog/pages.ts';
import { phaseOf } from '../catalog/provisioning.ts';
import { isLoaded } from '../catalog/store.ts';
import type { CatalogAdmin } from '../catalog-admin/module.ts';
import type { Learning } from '../learning/module.ts';
import type { ManagementHttp } from '../management/http.ts';
import type { ManagementClient } from '../management/page-client.ts';
import { getRow } from '../management/rows.ts';
import type { Actor } from '../management/unit-of-work.ts';
import type { Offers } from '../offers/module.ts';
import type { App } from '../platform/http/app.ts';
import type { Job } from '../platform/jobs.ts';
import { hourMs } from '../platform/lib/time.ts';
import type { Platform } from '../platform/module.ts';
import type { Reports } from '../reports/module.ts';
import type { Shell } from '../shell/layout.ts';
import { forecastCommands } from './commands.ts';
import { forecastCard, forecastPages, forecastPanel } from './pages/forecast.ts';
import { applyForecastRetention, closeForecasts, digestOf, findOpen, storeForecast } from './record.ts';
import { forecastRoutes } from './routes.ts';
import { createForecastService } from './service.ts';
import { targetingRoutes } from './targeting-routes.ts';

type ForecastsDeps = {
  platform: Platform;
  catalog: Catalog;
  catalogAdmin: CatalogAdmin;
  learning: Learning;
  budgets: Budgets;
  reports: Reports;
  offers: Offers;
};

/** Maximum number of forecasts that a run of the job calculates. */
const maxPerRun = 5;

/** Creates the forecasts module: forecasts of campaigns, and their comparison with actual results. */
export function createForecasts({ platform, catalog, catalogAdmin, learning, offers }: ForecastsDeps) {
  const { pool, dbHealth, logger, now } = platform.deps;
  const { store, management } = catalog;
  const { campaigns } = catalogAdmin.kinds;
  const forecasts = createForecastService({ pool, dbHealth, catalog: store, model: learning.model, now });
  const deps = { forecasts, campaigns, pool, dbHealth };
  const extensions: Partial<PageExtensions> = { campaignCards: [forecastCard], forecast: forecastPanel(deps) };

  /** Returns the live campaigns of all publishers that are loaded, the latest first. */
  const findLive = (): { publisherId: number; campaignId: number; activatedAtMs: number }[] =>
    [...store.current().publishers.values()].filter(isLoaded).flatMap(({ id: publisherId, testMode, index }) => {
      const live = new Map(
        index.offers
          .filter(({ active, stopped, campaign }) => {
            const isRunning = campaign.active && campaign.stopped === null && phaseOf(campaign, now()) === 'running';
            return active && stopped === null && isRunning && campaign.publisherId === publisherId && !testMode;
          })
          .map(({ campaign }) => [campaign.id, campaign.activatedAtMs ?? 0]),
      );
      return [...live].map(([campaignId, activatedAtMs]) => ({ publisherId, campaignId, activatedAtMs }));
    });

  const rowOf = (publisherId: number, campaignId: number) =>
    management.read(recorder, publisherId, (work) => getRow(campaigns, work, String(campaignId))).catch(() => null);

  async function keepRecord(isStopped: () => boolean): Promise<void> {
    const open = await findOpen(pool);
    await store.readyAll(open.map(({ publisher_id: publisherId }) => publisherId));
    const live = findLive().sort((a, b) => b.activatedAtMs - a.activatedAtMs);
    const liveIds = new Set(live.map(({ campaignId }) => campaignId));
    const digests = new Map<number, string | null>();
    for (const { publisher_id: publisherId, campaign_id: campaignId } of open) {
      const row = liveIds.has(campaignId) ? await rowOf(publisherId, campaignId) : null;
      digests.set(campaignId, row && digestOf(row));
    }
    await closeForecasts(pool, open, ({ campaign_id: id }) => digests.get(id) ?? null, now());
    const openIds = new Set((await findOpen(pool)).map(({ campaign_id: id }) => id));
    let calculated = 0;
    for (const { publisherId, campaignId } of live) {
      if (isStopped() || calculated >= maxPerRun) return;
      const row = openIds.has(campaignId) ? null : await rowOf(publisherId, campaignId);
      if (row === null) continue;
      calculated += 1;
      // Someone may be calculating a forecast for this publisher. The next run of the job tries again.
      const forecast = await forecasts.of(publisherId, row, row).catch((err: unknown) => {
        logger.debug({ err, campaignId }, 'forecast of a live campaign failed');
        return null;
      });
      if (forecast !== null && forecast.sample.sessions > 0)
        await storeForecast(pool, { publisherId, values: row }, forecast);
    }
  }

  const job: Job = {
    name: 'forecast record',
    roles: ['worker'],
    pauseMs: hourMs,
    locks: 'rows of forecasts, one at a time; a campaign has at most one open forecast',
    run: keepRecord,
  };
  return {
    name: 'forecasts',
    rank: 185,
    commands: forecastCommands,
    extensions,
    retention: applyForecastRetention,
    routes: async (app: App, { http }: { http: ManagementHttp }) => {
      await app.register(forecastRoutes, { http, forecasts, campaigns });
      const { checkTargeting } = offers;
      await app.register(targetingRoutes, { http, campaigns, catalog: store, checkTargeting, now });
    },
    pages: (app: App, shell: Shell, contributions: { management: ManagementClient }) =>
      forecastPages(app, { ...shell, ...deps, management: contributions.management }),
    jobs: (): readonly Job[] => [job],
  };
}

const recorder: Actor = {
  kind: 'system',
  id: 0,
  label: 'forecast record',
  permissions: new Set<string>(),
  expiresAtMs: null,
  ratePerS: null,
  restrictions: null,
  publisherId: null,
};
