import type pg from 'pg';
import type { Accounts } from '../accounts/module.ts';
import type { SessionCheck } from '../accounts/sessions.ts';
import type { Audiences } from '../audiences/module.ts';
import type { Browser } from '../browser/module.ts';
import { activeCapsOf } from '../budgets/caps.ts';
import type { Budgets } from '../budgets/module.ts';
import { findStandings } from '../budgets/standing.ts';
import { noControls } from '../catalog/controls.ts';
import type { Catalog } from '../catalog/module.ts';
import type { Card, PageExtensions } from '../catalog/pages.ts';
import type { CatalogStore } from '../catalog/store.ts';
import type { Campaign, Publisher } from '../catalog/types.ts';
import type { Config } from '../config.ts';
import type { Coupons } from '../coupons/module.ts';
import { indexOf } from '../decision/decide.ts';
import type { CampaignDraft } from '../decision/draft-eligibility.ts';
import type { Experiments } from '../experiments/module.ts';
import type { Learning } from '../learning/module.ts';
import type { ModelSource } from '../learning/source.ts';
import { createAlone } from '../management/alone.ts';
import type { PermissionEntry } from '../management/unit-of-work.ts';
import { createFailFast, type DatabaseHealth } from '../platform/db/health.ts';
import type { App } from '../platform/http/app.ts';
import type { HotRoutes } from '../platform/http/hot-routes.ts';
import { html } from '../platform/http/html.ts';
import type { Job } from '../platform/jobs.ts';
import { dayMs, minuteMs } from '../platform/lib/time.ts';
import type { Platform } from '../platform/module.ts';
import { bookedByCurrency, readCampaignHours } from '../reports/bookings.ts';
import type { Reports } from '../reports/module.ts';
import type { Shell } from '../shell/layout.ts';
import type { NavEntry } from '../shell/navigation.ts';
import { offerSchemas } from './answer-schemas.ts';
import { campaignAdditions } from './campaign-additions.ts';
import { catalogueRoutes } from './catalogue-feed/routes.ts';
import { offerCommands } from './commands.ts';
import { costOf, effectOf } from './decision-log/controls-effects.ts';
import { sampleDecisions } from './decision-log/decision-sample.ts';
import { decisionLogRoutes } from './decision-log/routes.ts';
import { countRoutes } from './fetch/count-routes.ts';
import { explainRoutes } from './fetch/explain-routes.ts';
import { offerRoutes } from './fetch/routes.ts';
import { createOfferService } from './fetch/service.ts';
import { eraseSessions, exportSessions, findUserSessions } from './fetch/user-data.ts';
import { findHoldBacks, type HoldBack, registerGoalMetrics } from './goals.ts';
import { createFetchMeter } from './metrics.ts';
import { untrackedView } from './offer-view.ts';
import { offerwallPageRoutes } from './offerwall/page-routes.ts';
import { linkedWallRoutes, offerwallRoutes } from './offerwall/routes.ts';
import { apiLogPages } from './pages/api-log/api-log.ts';
import { budgetsCard, goalCard } from './pages/campaigns/budgets.ts';
import { createReach } from './pages/campaigns/estimate.ts';
import { outcomesCard } from './pages/campaigns/outcomes.ts';
import { decisivePlan, type PlannedLimit, planCard } from './pages/campaigns/plan-card.ts';
import { createRecentSessions, createSeenValues, sampledDays } from './pages/campaigns/recent-sessions.ts';
import { livePages } from './pages/live/live.ts';
import { whyPages } from './pages/why/why.ts';
import { createApiLog } from './request-log/api-log.ts';
import { apiLogRoutes } from './request-log/api-log-routes.ts';
import { createOutcomeSampler } from './request-log/outcomes.ts';
import { createOfferObserver, isManagement, recordCalls } from './request-log/record.ts';
import { createRequestLog } from './request-log/request-log.ts';
import { liveCallRoutes } from './request-log/routes.ts';
import { applyOfferRetention } from './retention.ts';
import { checkTargeting, type TargetingCheck } from './targeting/check.ts';

export type Offers = ReturnType<typeof createOffers>;

type OfferDependencies = {
  platform: Platform;
  catalog: Catalog;
  accounts: Accounts;
  learning: Learning;
  budgets: Budgets;
  audiences: Audiences;
  reports: Reports;
  experiments: Experiments;
  coupons: Coupons;
  browser: Browser;
};

/** Creates the offers module, which decides and explains which offers a user is shown. */
export function createOffers({ platform, catalog, accounts, learning, budgets }: OfferDependencies) {
  const { pool, flushPool, dbHealth, config, logger, tokens, geo, batchMeters, metrics, now } = platform.deps;
  const { store } = catalog;
  const { auth, checkKey, checkSession } = accounts;
  const { model } = learning;
  const requestLog = createRequestLog({ pool, dbHealth, now });
  const apiLog = createApiLog({ now });
  const outcomes = createOutcomeSampler({ now });
  const inputs = { pool, now, catalog: store, model, preview: budgets.preview };
  const offers = createOfferService({
    resolvePlacement: catalog.placements.resolve,
    pool,
    flushPool,
    dbHealth,
    batchMeters,
    tokens,
    geo,
    config,
    logger,
    now,
    catalog: store,
    model,
    preview: budgets.preview,
    budgets,
    fetchMeter: createFetchMeter(metrics.registry),
    outcomes,
  });
  const records = { requestLog, apiLog, catalog: store, now };
  const observe = createOfferObserver(records);
  const links = { catalog: store, tokens, now };
  const wall = { pool, dbHealth, config, ...links, offers };
  registerGoalMetrics(metrics.registry, { pool, catalog: store, model, now });
  return {
    name: 'offers',
    rank: 160,
    commands: offerCommands,
    /** Collectors that hold data in memory. Jobs write their data to the database. */
    requestLog,
    apiLog,
    outcomes,
    schemas: offerSchemas,
    permissions,
    navigation,
    ...catalogueParts({ pool, dbHealth, config, now, catalog: store, model }),
    retention: applyOfferRetention,
    userData: { findSessions: findUserSessions, eraseSessions, exports: { sessions: exportSessions } },
    observe: (open: App) => recordCalls(open, records, ({ routeOptions }) => routeOptions.url !== undefined),
    observeRoutes: (app: App) => recordCalls(app, records, isManagement),
    hotRoutes: async (scope: App, hot: HotRoutes) => {
      await scope.register(offerRoutes, { auth, offers, hot, observe });
      await scope.register(countRoutes, { auth, offers, hot, observe });
      await scope.register(offerwallRoutes, { ...wall, auth, hot, observe });
    },
    publicRoutes: async (open: App) => {
      await open.register(catalogueRoutes, { auth, tokens, config, now });
      await open.register(linkedWallRoutes, wall);
    },
    routes: async (app: App) => {
      await app.register(offerwallPageRoutes, { ...links, config, pool, dbHealth });
      await app.register(decisionLogRoutes, { pool, dbHealth, auth, now });
      await app.register(liveCallRoutes, { requestLog, now, auth, catalog: store, checkKey, logger });
      await app.register(apiLogRoutes, { pool, dbHealth, auth, catalog: store, now });
      await app.register(explainRoutes, { auth, explain: offers.explain });
    },
    /** Registers the pages of live calls. `check` is called while a page is open. */
    livePages: (app: App, shell: Shell, check: SessionCheck) =>
      livePages(app, shell, { pool, requestLog, now, logger, checkSession: check }),
    pages: (app: App, shell: Shell) => {
      livePages(app, shell, { pool, requestLog, now, logger, checkSession });
      apiLogPages(app, shell, { pool, dbHealth, catalog: store, now });
      whyPages(app, shell, { ...inputs, dbHealth, config });
    },
    jobs: (): readonly Job[] => [
      {
        name: 'request log',
        roles: ['api'],
        pauseMs: 1000,
        locks: 'rows of request_notices, in the order of their key; rows of live_calls (skip locked) and live_watches',
        run: requestLog.write,
      },
      {
        name: 'API log',
        roles: ['api'],
        pauseMs: 2000,
        locks: 'rows of api_call_counts, in the order of their key',
        run: () => apiLog.write(pool),
        onStop: () => apiLog.write(pool),
      },
      {
        name: 'campaign outcomes',
        roles: ['api'],
        pauseMs: minuteMs,
        locks: 'rows of campaign_outcomes, in the order of their key',
        run: () => outcomes.write(pool),
      },
      {
        name: 'QR codes',
        roles: ['api'],
        pauseMs: 1000,
        locks: 'nothing: it reads memory',
        run: () => offers.prepare(store.current().publishers.values()),
      },
    ],
  };
}

type CatalogueDeps = {
  pool: pg.Pool;
  dbHealth: DatabaseHealth;
  config: Config;
  now: () => number;
  catalog: CatalogStore;
  model: ModelSource;
};

/** Extensions of catalogue pages and rows: values seen in requests, and offers for previews. */
function catalogueParts({ pool, dbHealth, config, now, catalog, model }: CatalogueDeps) {
  const failFast = createFailFast(dbHealth);
  const recent = createRecentSessions({ pool, dbHealth, now });
  const planOf = async (
    { id, payout: { currency }, provisions }: Campaign,
    decisive: PlannedLimit,
    holdBacks: readonly HoldBack[],
    nowMs: number,
  ) => {
    const { publisherId } = decisive.standing;
    const publisherIds = publisherId === null ? [...provisions.keys()] : [publisherId];
    const query = { campaignId: id, publisherIds, currency, sinceMs: decisive.plan.startMs };
    return planCard({ ...decisive, currency, hours: await readCampaignHours(pool, query), holdBacks, nowMs });
  };
  const campaignCard: Card = (context, id) =>
    failFast(async () => {
      const nowMs = now();
      const snapshot = catalog.current();
      const candidate = indexOf(context.publisher).candidates.find(({ offer }) => offer.campaign.id === id);
      const totals = activeCapsOf(snapshot).totals.filter(({ campaignId }) => campaignId === id);
      const standings = await findStandings(pool, {
        totals,
        nowMs,
        model: model.current(),
        rulesOf: () => candidate?.rules ?? null,
      });
      const { limits = [], delivery = null } = standings.get(id) ?? {};
      const goal = candidate?.offer.campaign.goal ?? null;
      const decisive = decisivePlan(limits);
      const needsHoldBacks = candidate !== undefined && (delivery !== null || decisive !== null);
      const holdBacks = needsHoldBacks ? await findHoldBacks(pool, candidate.offer.campaign, nowMs) : [];
      return html`
        ${goal !== null && delivery !== null && goalCard(context, { goal, delivery, holdBacks })}
        ${needsHoldBacks && decisive !== null && (await planOf(candidate.offer.campaign, decisive, holdBacks, nowMs))}
        ${budgetsCard(context, limits, candidate?.payout.currency ?? null)}
        ${await outcomesCard(pool, context, id, nowMs)}`;
    });
  const alone = createAlone('blockRuleJob');
  const sampled = (id: number) => failFast(() => sampleDecisions(pool, id, now()));
  const bookedIn = (id: number, days: number) =>
    failFast(() => bookedByCurrency(pool, { publisherId: id, sinceMs: now() - days * dayMs }));
  const extensions: Partial<PageExtensions> = {
    campaignCards: [campaignCard],
    reach: createReach(recent, now),
    controlsEffects: {
      cost: ({ id, controls }) =>
        alone(id, async () => {
          const sample = await sampled(id);
          return costOf(sample, controls?.stored ?? noControls, await bookedIn(id, sample.days));
        }),
      of: ({ id, controls }, other) =>
        alone(id, async () => {
          const sample = await sampled(id);
          return effectOf(sample, controls?.stored ?? noControls, other, await bookedIn(id, sample.days));
        }),
    },
    seenValues: createSeenValues(recent),
    // Returns the first offers of a publisher, in ranking order.
    sampleOffers: (publisher, { exceptId, count }) =>
      indexOf(publisher)
        .candidates.filter(({ offer }) => offer.id !== exceptId)
        .slice(0, count)
        .map(({ offer }) => untrackedView({ publisher, offer, publicUrl: config.publicUrl })),
  };
  return {
    extensions,
    rowAdditions: { campaigns: campaignAdditions({ catalog, model, recent }) },
    /** Checks which sessions of the last 7 days match a draft campaign. */
    checkTargeting: async (publisher: Publisher, draft: CampaignDraft): Promise<TargetingCheck & { days: number }> => {
      const check = await checkTargeting(await recent(publisher.id), draft, publisher);
      return { ...check, days: sampledDays };
    },
  };
}

const permissions: readonly PermissionEntry[] = [
  { name: 'ads/offers', role: 'manager', text: 'settings.permissionOffers' },
];

const navigation: readonly NavEntry[] = [
  {
    group: 'measure',
    rank: 30,
    key: 'why',
    text: 'nav.why',
    words: 'navWords.why',
    path: '/why',
    icon: 'search',
    role: 'analyst',
  },
  {
    group: 'developers',
    rank: 20,
    key: 'live',
    text: 'nav.live',
    words: 'navWords.live',
    path: '/live',
    icon: 'system',
    role: 'analyst',
  },
  {
    group: 'developers',
    rank: 25,
    key: 'apiLog',
    text: 'nav.apiLog',
    words: 'navWords.apiLog',
    path: '/api-log',
    icon: 'activity',
    role: 'analyst',
  },
];
