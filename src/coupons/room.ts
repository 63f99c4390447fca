import type { Accounts } from '../accounts/room.ts';
import type { Catalog } from '../catalog/room.ts';
import type { Job } from '../platform/jobs.ts';
import type { App } from '../platform/ports.ts';
import type { Platform } from '../platform/room.ts';
import { createCouponIssuer } from './issuer.ts';
import { markStock } from './pools.ts';
import { couponRoutes } from './routes.ts';
import { createCouponService } from './service.ts';
import { beginDay } from './stock.ts';
import { applyCouponRetention, eraseCouponsOfSessions, eraseCouponsOfUser, exportCoupons } from './user-data.ts';

export type Coupons = ReturnType<typeof createCoupons>;

type Needs = { platform: Platform; catalog: Catalog; accounts: Accounts };

/** Coupon codes of offers: pools of them, who was given which, and whether it was redeemed. */
export function createCoupons({ platform, catalog, accounts }: Needs) {
  const { pool, secretBox, now } = platform.deps;
  const service = createCouponService({ pool, secretBox, now, management: catalog.management });
  const watch: Job = {
    name: 'coupon stock',
    roles: ['worker'],
    pauseMs: 10_000,
    locks: 'rows of coupon_stock and coupon_pools, in the order of their offers; then catalog_version',
    run: async () => {
      await beginDay(pool, now());
      await markStock(pool, null, now());
    },
  };
  return {
    name: 'coupons',
    issuer: createCouponIssuer(platform.deps),
    retention: applyCouponRetention,
    userData: {
      eraseWithSessions: eraseCouponsOfSessions,
      eraseOfUser: [eraseCouponsOfUser],
      exports: { coupons: exportCoupons(secretBox) },
    },
    routes: async (app: App) =>
      void (await app.register(couponRoutes, { http: catalog.managementHttp(accounts.auth), service })),
    jobs: () => [watch],
  };
}
