import { createAccounts } from './accounts/room.ts';
import { createAlerts } from './alerts/room.ts';
import { createBrowser } from './browser/room.ts';
import { createBudgets } from './budgets/room.ts';
import { createCatalog } from './catalog/room.ts';
import { createDashboard } from './dashboard/room.ts';
import { buildIndex } from './decision/build-index.ts';
import { createDemo } from './demo/room.ts';
import { createEventLog } from './event-log/room.ts';
import { createLearning } from './learning/room.ts';
import { createOffers } from './offers/room.ts';
import { createPerks } from './perks/room.ts';
import { createPlatform, type PlatformOptions } from './platform/room.ts';
import { createPrivacy } from './privacy/room.ts';
import { createReference } from './reference/room.ts';
import { createReports } from './reports/room.ts';
import { assemble } from './runtime/assemble.ts';
import type { House, Room } from './runtime/room.ts';
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
 * from no other (docs/architecture.md#rooms). `close` ends them, the last one first.
 */
export async function createRooms({ demo, pid, ...options }: RoomOptions) {
  const platform = await createPlatform(options);
  const catalog = await createCatalog({ platform, buildIndex });
  const accounts = createAccounts({ platform, catalog });
  const eventLog = await createEventLog({ platform, catalog });
  const learning = createLearning({ platform, catalog });
  const budgets = createBudgets({ platform, catalog, eventLog });
  const webhooks = createWebhooks({ platform, catalog, accounts });
  const reports = createReports({ platform, catalog, accounts });
  const browser = createBrowser({ platform });
  const offers = createOffers({ platform, catalog, accounts, eventLog, learning, budgets });
  const tracking = createTracking({ platform, eventLog, offers });
  const alerts = createAlerts({ platform, catalog, accounts, webhooks });
  const privacy = createPrivacy({ platform, catalog, accounts });
  const perks = createPerks({ tracking, reports });
  const reference = createReference({ platform });
  const shop = demo ? [createDemo({ platform, catalog, accounts })] : [];
  const dashboard = createDashboard({ catalog, offers, pid });
  const rooms: readonly Room[] = [
    ...[platform, catalog, accounts, eventLog, learning, budgets, webhooks, reports, browser, offers, tracking],
    ...[alerts, privacy, perks, reference, ...shop, dashboard],
  ];
  const { management, cursors } = catalog;
  const house: House = assemble(rooms, { auth: accounts.auth, management, cursors, now: options.now });
  const close = async (): Promise<void> => {
    for (const room of rooms.toReversed()) await room.close?.();
  };
  return { platform, catalog, accounts, eventLog, learning, budgets, webhooks, offers, tracking, house, close };
}
