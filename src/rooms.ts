import { createAccounts } from './accounts/room.ts';
import { createAdvertisers } from './advertisers/room.ts';
import { createAlerts } from './alerts/room.ts';
import { createAudiences } from './audiences/room.ts';
import { createBrowser } from './browser/room.ts';
import { createBudgets } from './budgets/room.ts';
import { createCatalog } from './catalog/room.ts';
import { createCoupons } from './coupons/room.ts';
import { createDashboard } from './dashboard/room.ts';
import { buildIndex } from './decision/build-index.ts';
import { createDemo } from './demo/room.ts';
import { createDrafts } from './drafts/room.ts';
import { createEventLog } from './event-log/room.ts';
import { createExperiments } from './experiments/room.ts';
import { createLandingPages } from './landing-pages/room.ts';
import { createLearning } from './learning/room.ts';
import { createMessages } from './messages/room.ts';
import { createOffers } from './offers/room.ts';
import { createPerks } from './perks/room.ts';
import { createPlatform, type PlatformOptions } from './platform/room.ts';
import { createPrivacy } from './privacy/room.ts';
import { createReference } from './reference/room.ts';
import { createReports } from './reports/room.ts';
import { assemble } from './runtime/assemble.ts';
import type { House, Room } from './runtime/room.ts';
import { createSources } from './sources/room.ts';
import { createTracking } from './tracking/room.ts';
import { createWebhooks } from './webhooks/room.ts';

export type Rooms = Awaited<ReturnType<typeof createRooms>>;

type RoomOptions = PlatformOptions & {
  /** The shop and the receiver of the demo. */
  demo: boolean;
  /** Of this process, as the operator's page shows it. */
  pid: number;
};

/**
 * The rooms, in the order in which they may use each other: a room is given rooms that were made before it, and imports
 * from no other (docs/architecture.md#rooms). A room that is added here is there as a whole: with its routes, pages,
 * jobs, documentation and all else that it hands in. `close` ends them, the last one first.
 */
export async function createRooms({ demo, pid, ...options }: RoomOptions) {
  const rooms: Room[] = [];
  const add = <Made extends Room>(room: Made): Made => {
    rooms.push(room);
    return room;
  };
  const platform = add(await createPlatform(options));
  const catalog = add(await createCatalog({ platform, buildIndex }));
  const accounts = add(createAccounts({ platform, catalog }));
  add(createAudiences({ platform, catalog, accounts }));
  const eventLog = add(await createEventLog({ platform, catalog }));
  const learning = add(createLearning({ platform, catalog }));
  const budgets = add(createBudgets({ platform, catalog, eventLog, learning }));
  const webhooks = add(createWebhooks({ platform, catalog, accounts }));
  add(createDrafts({ platform, catalog, accounts }));
  const reports = add(createReports({ platform, catalog, accounts }));
  add(createExperiments({ platform, catalog, accounts }));
  add(createSources({ platform, catalog, accounts }));
  const coupons = add(createCoupons({ platform, catalog, accounts }));
  const messages = add(createMessages({ platform, catalog, accounts }));
  add(createBrowser({ platform }));
  const offers = add(createOffers({ platform, catalog, accounts, eventLog, learning, budgets }));
  const tracking = add(createTracking({ platform, eventLog, coupons, offers }));
  add(createLandingPages({ platform, catalog }));
  add(createAlerts({ platform, catalog, accounts, webhooks, reports }));
  add(createPrivacy({ platform, catalog, accounts }));
  add(createPerks({ tracking, reports, coupons, messages }));
  add(createAdvertisers({ platform, catalog, accounts, reports, tracking }));
  add(createReference({ platform }));
  if (demo) add(createDemo({ platform, catalog, accounts }));
  add(createDashboard({ catalog, offers, pid }));
  const { management, cursors, additions } = catalog;
  const assembled = { auth: accounts.auth, management, cursors, additions, now: options.now };
  return {
    ...{ platform, catalog, accounts, webhooks, tracking },
    house: assemble(rooms, assembled),
    /** The house with further rooms. */
    houseWith: (...more: readonly Room[]): House => assemble([...rooms, ...more], assembled),
    close: async (): Promise<void> => {
      for (const room of rooms.toReversed()) await room.close?.();
    },
  };
}
