import type { Accounts } from '../accounts/module.ts';
import type { Catalog } from '../catalog/module.ts';
import type { Coupons } from '../coupons/module.ts';
import type { Experiments } from '../experiments/module.ts';
import type { PermissionEntry } from '../management/unit-of-work.ts';
import type { Offers } from '../offers/module.ts';
import type { App } from '../platform/http/app.ts';
import type { Platform } from '../platform/module.ts';
import type { Reports } from '../reports/module.ts';
import type { Tracking } from '../tracking/module.ts';
import type { Webhooks } from '../webhooks/module.ts';
import { type FindSavedPerk, type PerkMessages, toMessagePerk } from './perk-messages.ts';
import { uspRoutes } from './usp/routes.ts';
import { uspSelection } from './usp-selection.ts';
import { applyPerksRetention, countPerkStages, exportSelections } from './usp-sessions.ts';
import { offerRemoved, offerSaved } from './wallet/event-types.ts';
import { walletPageRoutes } from './wallet/page-routes.ts';
import { walletRoutes } from './wallet/routes.ts';
import { savedUntilMs } from './wallet/saved-until.ts';
import { createWalletService, type WalletDeps } from './wallet/service.ts';
import { eraseWalletOfSessions, eraseWalletOfUser, exportWallet } from './wallet-items.ts';

export type Perks = ReturnType<typeof createPerks>;

type PerkDependencies = {
  platform: Platform;
  catalog: Catalog;
  accounts: Accounts;
  reports: Reports;
  coupons: Coupons;
  tracking: Tracking;
  webhooks: Webhooks;
  experiments: Experiments;
  offers: Offers;
};

type WithMessages = { perkMessages: PerkMessages | null };

/** Creates the perks module: perks that users select and confirm, and offers that they save. */
export function createPerks({ platform, catalog, accounts, coupons, tracking }: PerkDependencies) {
  const { pool, dbHealth, tokens, config, batchMeters, now } = platform.deps;
  const { auth } = accounts;
  const { eventMeter } = tracking;
  const shared = { pool, dbHealth, tokens, config, eventMeter, coupons: coupons.issuer, now };
  const walletDepsOf = ({ perkMessages: messages }: WithMessages): WalletDeps => ({
    ...shared,
    catalog: catalog.store,
    messages,
  });
  return {
    name: 'perks',
    rank: 210,
    permissions,
    perkStages: countPerkStages,
    findSavedPerk: createSavedPerkFinder(walletDepsOf({ perkMessages: null })),
    eventTypes: [uspSelection, offerSaved, offerRemoved],
    retention: applyPerksRetention,
    userData: {
      eraseWithSessions: eraseWalletOfSessions,
      eraseOfUser: [eraseWalletOfUser],
      exports: { selections: exportSelections, saved_offers: exportWallet },
    },
    publicRoutes: async (open: App, contributions: WithMessages) => {
      await open.register(uspRoutes, { ...shared, batchMeters, auth, messages: contributions.perkMessages });
      await open.register(walletRoutes, { ...walletDepsOf(contributions), auth });
    },
    routes: async (app: App, contributions: WithMessages) =>
      void (await app.register(walletPageRoutes, walletDepsOf(contributions))),
  };
}

const permissions: readonly PermissionEntry[] = [{ name: 'wallet', role: 'admin', text: 'settings.permissionWallet' }];

/** Creates a function that finds a saved offer for a reminder, with the copy that the wallet currently shows. */
function createSavedPerkFinder(deps: WalletDeps): FindSavedPerk {
  const wallet = createWalletService(deps);
  return async (publisherId, pubUserId, offerId) => {
    const saved = await wallet.list(await wallet.ownerOf(publisherId, pubUserId));
    const savedOffer = saved.find(({ item, state }) => item.offerId === offerId && state === 'active');
    const offer = deps.catalog.current().offers.get(offerId);
    if (savedOffer === undefined || offer === undefined) return null;
    const endsAtMs = savedUntilMs(offer, savedOffer.coupon);
    if (endsAtMs === null) return null;
    const perk = toMessagePerk(savedOffer.view, savedOffer.coupon ?? undefined);
    return { perk: { ...perk, endsAt: new Date(endsAtMs).toISOString() }, endsAtMs };
  };
}
