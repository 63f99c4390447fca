import type { Catalog } from '../catalog/module.ts';
import type { PublisherContext } from '../catalog/pages.ts';
import type { ManagementHttp } from '../management/http.ts';
import type { ManagementClient } from '../management/page-client.ts';
import type { App } from '../platform/http/app.ts';
import type { Html } from '../platform/http/html.ts';
import type { Job } from '../platform/jobs.ts';
import type { Platform } from '../platform/module.ts';
import type { Shell } from '../shell/layout.ts';
import type { NavEntry } from '../shell/navigation.ts';
import { couponCommands } from './commands.ts';
import { foldDigests } from './digest-job.ts';
import { createCodeDigests, createCouponIssuer } from './issuer.ts';
import { couponCard, type Refused } from './pages/coupon-card.ts';
import { couponPages } from './pages/coupon-pages.ts';
import { poolsPath } from './pages/paths.ts';
import { findPool, markStock } from './pools.ts';
import { redemptionRoutes } from './redemption-routes.ts';
import { couponListRoutes, couponRoutes } from './routes.ts';
import { createCouponService } from './service.ts';
import { beginDay, noStock, readStock } from './stock.ts';
import { applyCouponRetention, eraseCouponsOfSessions, eraseCouponsOfUser, exportCoupons } from './user-data.ts';

export type Coupons = ReturnType<typeof createCoupons>;

type CouponsDeps = { platform: Platform; catalog: Catalog };

/** Creates the coupons module: pools of coupon codes per offer, codes issued to users, and their redemption. */
export function createCoupons({ platform, catalog }: CouponsDeps) {
  const { pool, secretBox, now } = platform.deps;
  const digestsOf = createCodeDigests(platform.deps.config);
  const service = createCouponService({ pool, secretBox, now, management: catalog.management });
  const watch: Job = {
    name: 'coupon stock',
    roles: ['worker'],
    pauseMs: 10_000,
    locks: 'rows of coupon_stock and coupon_pools, in the order of their offers; then catalog_version',
    run: async () => {
      await beginDay(pool, now());
      await markStock(pool, null, now());
      await foldDigests({ pool, secretBox, digestsOf });
    },
  };
  const card = async (context: PublisherContext, offerId: number, refused?: Refused): Promise<Html> => {
    const [stock] = await readStock(pool, { offerId }, now());
    const state = { offerId, pool: await findPool(pool, offerId), stock: stock?.view ?? noStock };
    return couponCard(context, state, refused);
  };
  return {
    name: 'coupons',
    rank: 130,
    commands: couponCommands,
    navigation,
    extensions: { offerCards: [card] },
    issuer: createCouponIssuer(platform.deps),
    retention: applyCouponRetention,
    userData: {
      eraseWithSessions: eraseCouponsOfSessions,
      eraseOfUser: [eraseCouponsOfUser],
      exports: { coupons: exportCoupons(secretBox) },
    },
    publicRoutes: async (open: App) =>
      void (await open.register(redemptionRoutes, {
        pool,
        secretBox,
        now,
        digestsOf,
      })),
    routes: async (app: App, { http }: { http: ManagementHttp }) => {
      await app.register(couponListRoutes, { http, service });
      await app.register(couponRoutes, { http, service });
    },
    pages: (app: App, shell: Shell, { management }: { management: ManagementClient }) =>
      couponPages(app, { ...shell, management, service, card }),
    jobs: () => [watch],
  };
}

const navigation: readonly NavEntry[] = [
  {
    group: 'offers',
    rank: 18,
    key: 'coupons',
    text: 'couponPools.title',
    words: 'navWords.coupons',
    path: poolsPath,
    icon: 'coupons',
    role: 'analyst',
  },
];
