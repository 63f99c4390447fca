import { type Beacons, createBeacons } from '../beacons.ts';
import { describeError } from '../errors.ts';
import type { Setup } from '../page.ts';
import type { Emit, OffersResponse } from '../types.ts';
import type { Unit } from '../unit/types.ts';
import { openUnit, removeUnit } from '../unit/unit.ts';
import type { UnitFile } from '../unit/unit-file.ts';
import { isOpen, type UspState } from '../usp/state.ts';
import { changeSelection, createUsp } from '../usp/usp.ts';
import { translateAnswer, type Words } from '../words.ts';
import { requestBody } from './load-offers.ts';
import { type StoredSession, storeSession } from './stored-session.ts';

export type OfferSessionOptions = Setup & {
  /** Key for comparing loads. Equal requests, or equal responses passed by the page, have the same key. */
  key: string;
  /** Whether the response was supplied by the page rather than fetched by the SDK. */
  isSupplied: boolean;
  unitFile: UnitFile;
  words: Words;
  answer: OffersResponse;
  stored: StoredSession | null;
  emit: Emit;
  /** Called when the unit has ended. */
  onEnd: () => void;
  /** Called when the page has removed the unit from the DOM. */
  onLost: () => void;
  onStorageFailure: () => void;
};

/** Response with its beacons and perks, and its unit while the unit is shown. */
export type OfferSession = OfferSessionOptions & {
  beacons: Beacons;
  usp: UspState | null;
  unit: Unit | null;
  /** Whether the unit has been shown. */
  opened: boolean;
};

export function createOfferSession(options: OfferSessionOptions): OfferSession {
  const { config, user, base, emit, stored } = options;
  const onBeaconFailure = (err: unknown): void => void emit('error', describeError(err, 'beacon_error'));
  const session: OfferSession = {
    ...options,
    user: requestBody(config, user),
    beacons: createBeacons(new URL(base).origin, onBeaconFailure, stored?.seenOfferIds),
    usp: null,
    unit: null,
    opened: false,
  };
  session.usp = createSessionUsp(session);
  return session;
}

/** Shows the unit, starting with its first offer. */
export function openSession(session: OfferSession): void {
  const { config, unit, usp, words, unitFile } = session;
  if (unit !== null) removeUnit(unit);
  session.unit = null;
  if (usp !== null && !session.opened) selectAsShown(session, usp);
  session.opened = true;
  const labels = { ...unitFile.labels, ...words.unit.labels, ...session.answer.labels, ...config.labels };
  const answer = translateAnswer(session.answer, words, unitFile);
  const onEnd = (): void => {
    session.unit = null;
    session.onEnd();
  };
  const onLost = (): void => {
    session.unit = null;
    session.onLost();
  };
  const { style } = unitFile;
  session.unit = openUnit({ ...session, style, answer, labels, language: words.language, onEnd, onLost });
}

/** Removes the unit and its listeners. */
export function disposeSession({ unit, usp }: OfferSession): void {
  if (unit !== null) removeUnit(unit);
  usp?.removeListeners();
}

/** Creates the perks state. Returns null if the theme does not use User Selected Perks. */
function createSessionUsp(session: OfferSession): UspState | null {
  const { answer, stored, user, api, emit } = session;
  const { settings, sessionId, offers } = answer;
  if (!settings.enable_usp || !settings.multi_offer_unit || sessionId === '') return null;
  return createUsp({
    api,
    sessionId,
    pubUserId: String(user.pub_user_id ?? ''),
    selected: stored?.selected ?? (answer.allSelected ? offers.map((offer) => offer.campaign_id) : []),
    pending: stored?.pending ?? [],
    confirmationEvent: settings.usp_confirmation_event,
    emit,
    onChange: () => {
      syncStoredSession(session);
      session.unit?.refresh();
    },
  });
}

/**
 * Sends the displayed selection to the server if it differs from the server's. The page's settings may select all or no
 * perks initially, regardless of the server.
 */
function selectAsShown({ answer, stored }: OfferSession, usp: UspState): void {
  const selectsAll = answer.settings.usp_all_offers_checked;
  if (stored !== null || selectsAll === answer.allSelected) return;
  changeSelection(
    usp,
    answer.offers.map((offer) => ({ campaignId: offer.campaign_id, selected: selectsAll })),
  );
}

/** Stores the session, from the first selection change until the confirmation. */
function syncStoredSession(session: OfferSession): void {
  const { answer, storageKey, user, usp, beacons } = session;
  if (usp === null) return;
  const { sessionId, pubUserId, confirmationEvent, selected, pending } = usp;
  const stored = {
    placement: `${user.placement}`,
    sessionId,
    pubUserId,
    confirmationEvent,
    raw: answer.raw,
    selected: [...selected],
    pending,
    seenOfferIds: [...beacons.seenOfferIds],
  };
  const isKept = isOpen(usp) || pending.length > 0;
  if (!storeSession(storageKey, user, stored, isKept) && isKept) session.onStorageFailure();
}
