import { type Beacons, createBeacons } from '../beacons.ts';
import type { Bridge } from '../bridge.ts';
import { describeError } from '../errors.ts';
import { defaultLabels } from '../labels.ts';
import type { Setup } from '../page.ts';
import type { Answer, Emit } from '../types.ts';
import type { Unit } from '../unit/drawing.ts';
import { openUnit, removeUnit } from '../unit/unit.ts';
import { isOpen, type UspState } from '../usp/state.ts';
import { createUsp } from '../usp/usp.ts';
import { requestBody } from './load-offers.ts';
import { identityOf } from './prefetch.ts';
import { removeStoredSession, type StoredSession, storeSession } from './stored-session.ts';

export type OfferSessionOptions = Setup & {
  answer: Answer;
  stored: StoredSession | null;
  bridge: Bridge;
  emit: Emit;
};

/** One response with all that belongs to it: its beacons, its perks, and the unit while it is shown. */
export type OfferSession = OfferSessionOptions & { beacons: Beacons; usp: UspState | null; unit: Unit | null };

export function createOfferSession(options: OfferSessionOptions): OfferSession {
  const { config, user, base, emit, stored } = options;
  const onBeaconFailure = (err: unknown): void => emit('error', describeError(err, 'beacon_error'));
  const session: OfferSession = {
    ...options,
    user: requestBody(config, user),
    beacons: createBeacons(new URL(base).origin, onBeaconFailure, stored?.seenOfferIds),
    usp: null,
    unit: null,
  };
  session.usp = createSessionUsp(session);
  return session;
}

/** Shows the unit from its first offer. */
export function openSession(session: OfferSession): void {
  const { config, unit } = session;
  if (unit !== null) removeUnit(unit);
  const labels = { ...defaultLabels, ...config.labels };
  const onEnd = (): void => {
    session.unit = null;
  };
  session.unit = openUnit({ ...session, labels, onEnd });
}

/** Removes the unit and the listeners. */
export function disposeSession({ unit, usp }: OfferSession): void {
  if (unit !== null) removeUnit(unit);
  usp?.removeListeners();
}

/** null where the theme has no User Selected Perks. */
function createSessionUsp(session: OfferSession): UspState | null {
  const { answer, stored, user, api, emit } = session;
  const { settings, sessionId, offers } = answer;
  if (!settings.enable_usp || !settings.multi_offer_unit || sessionId === '') return null;
  const preselected = settings.usp_all_offers_checked ? offers.map((offer) => offer.campaign_id) : [];
  return createUsp({
    api,
    sessionId,
    pubUserId: String(user.pub_user_id ?? ''),
    selected: stored?.selected ?? preselected,
    pending: stored?.pending ?? [],
    confirmationEvent: settings.usp_confirmation_event,
    emit,
    onChange: () => {
      syncStoredSession(session);
      session.unit?.refresh();
    },
  });
}

/** Stored from the first change to the confirmation. */
function syncStoredSession({ answer, config, user, usp, beacons }: OfferSession): void {
  const accountId = config.accountId as string;
  if (usp === null) return;
  const { sessionId, pubUserId, confirmationEvent, selected, pending } = usp;
  if (!isOpen(usp) && pending.length === 0) {
    removeStoredSession(accountId);
    return;
  }
  storeSession(accountId, {
    user: identityOf(user),
    placement: String(user.placement ?? ''),
    sessionId,
    pubUserId,
    confirmationEvent,
    raw: answer.raw,
    selected: [...selected],
    pending,
    seenOfferIds: [...beacons.seenOfferIds],
  });
}
