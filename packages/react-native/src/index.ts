/** React Native components for offers: `PerkwirePrefetch` before checkout, and `PerkwireOffers` at checkout. */
export { PerkwireOffers, type PerkwireOffersProps } from './offers.ts';
export { PerkwirePrefetch, type PerkwirePrefetchProps } from './prefetch.ts';
export type { EventHandlers, PerkwireService, PerkwireUser } from './service.ts';
