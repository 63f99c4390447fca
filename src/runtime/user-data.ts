import { eraseHistoriesOfSessions, eraseHistoryOfUser, exportHistory } from '../budgets/user-data.ts';
import { eraseSessions, exportSessions, findUserSessions } from '../offers/fetch/user-data.ts';
import { exportSelections } from '../perks/usp/user-data.ts';
import { eraseWalletOfSessions, eraseWalletOfUser, exportWallet } from '../perks/wallet/user-data.ts';
import type { UserDataSteps } from '../privacy/steps.ts';
import { exportEvents } from '../tracking/beacons/user-data.ts';
import { eraseTransactionIds, exportConversions } from '../tracking/conversions/user-data.ts';
import {
  eraseDeliveriesOfSessions,
  eraseDeliveriesOfUser,
  exportDeliveries,
} from '../webhooks/deliveries/user-data.ts';
import { cancelRedeliveriesOfUser } from '../webhooks/redelivery/user-data.ts';

/** Every table with personal data appears here, by the steps of the room that owns it. */
export const userData: UserDataSteps = {
  findSessions: findUserSessions,
  eraseBeforeSessions: [eraseDeliveriesOfSessions],
  eraseSessions,
  eraseWithSessions: [eraseWalletOfSessions, eraseHistoriesOfSessions, eraseTransactionIds],
  eraseOfUser: [cancelRedeliveriesOfUser, eraseDeliveriesOfUser, eraseWalletOfUser, eraseHistoryOfUser],
  exports: {
    sessions: exportSessions,
    events: exportEvents,
    selections: exportSelections,
    conversions: exportConversions,
    saved_offers: exportWallet,
    history: exportHistory,
    webhooks: exportDeliveries,
  },
};
