import { findInvalidMembers, readAnswer } from './answer.ts';
import { checkConfig, type Source } from './config.ts';
import { describeError, SdkError } from './errors.ts';
import type { Emitter } from './events.ts';
import { readSetup, type Setup } from './page.ts';
import { type LoadedOffers, requestBody } from './session/load-offers.ts';
import { removePrefetched, requesterOf } from './session/prefetch.ts';
import { createOfferSession, disposeSession, type OfferSession, openSession } from './session/session.ts';
import type { AdConfig, OffersResponse } from './types.ts';
import { isCustom } from './unit/custom-view.ts';
import { keepSpace, type Space } from './unit/space.ts';
import { type Embedded, embeddedOf, findElement, targetOf, waitForTarget } from './unit/target.ts';
import { confirm } from './usp/confirmation.ts';
import type { EarlyEvents } from './usp/early-events.ts';
import type { UspState } from './usp/state.ts';
import { autoShow } from './visibility.ts';

export type AdOptions = {
  source: Source;
  scriptBase: string;
  emitter: Emitter;
  /** Whether the unit is an additional unit, which stores its responses separately in web storage. */
  mounted: boolean;
  /** Whether the page renders the unit itself and calls `show()` to display it, unless configured otherwise. */
  hostShows: boolean;
};

/** Load operation in progress. */
export type Loading = {
  /** Key for comparing loads. Equal requests, or equal responses passed by the page, have the same key. */
  key: string;
  /** Whether the response was supplied by the page rather than fetched by the SDK. */
  isSupplied: boolean;
  result: Promise<boolean>;
  /** Whether to show the offers as soon as they are loaded. */
  show: boolean;
  /** Whether the unit was closed while the offers were loading. */
  closed: boolean;
};

/** State shared by the methods of a unit. */
export type AdState = AdOptions & {
  session: OfferSession | null;
  loading: Loading | null;
  /** Whether the unit will start automatically but has not started yet. */
  startPending: boolean;
  /** Whether `ads_found` was emitted for the current offers. Reset when the unit ends. */
  announced: boolean;
  /** Whether to ignore the next `reload()` call, because `setApiResponse` already shows the offers. */
  ignoreReload: boolean;
  /** Whether the last fetch failed and its error was reported. */
  failed: boolean;
  /** Messages of errors that were already emitted. */
  reported: Set<string>;
  /** Space reserved in the page. Null if the unit has reserved no space, has ended, or is not embedded. */
  space: Space | null;
  /** Perks in earlier pages' sessions whose confirmation was requested, by session ID. */
  earlier: Record<string, UspState>;
  /** Cancels the pending display of the unit. Null if none is pending. */
  cancelAutoShow: (() => void) | null;
  /** Whether the page removed the unit and no other unit has been shown since. */
  lost: boolean;
  /** Events that the page dispatched before the offers were loaded. Null once they are loaded. */
  early: EarlyEvents | null;
};

export const createAdState = (options: AdOptions): AdState => ({
  ...options,
  session: null,
  loading: null,
  startPending: false,
  announced: false,
  ignoreReload: false,
  failed: false,
  reported: new Set(),
  space: null,
  earlier: {},
  cancelAutoShow: null,
  lost: false,
  early: null,
});

export const showsItself = ({ hostShows }: AdState, config: AdConfig): boolean =>
  config.autoShow ?? !(hostShows && isCustom(config));

export const isReady = ({ session }: AdState): boolean => (session?.answer.offers.length ?? 0) > 0;

/** Emits an error event, for methods that never throw. */
export function reportError({ emitter }: AdState, err: unknown): false {
  emitter.emit('error', describeError(err));
  return false;
}

/** Emits an error event unless the same error was already emitted. */
export function reportOnce(ad: AdState, err: SdkError): void {
  if (!ad.reported.has(err.message)) reportError(ad, err);
  ad.reported.add(err.message);
}

/**
 * Reads the configuration and reports all problems in one event.
 * @throws SdkError invalid_parameter
 */
export function setupOf(ad: AdState): Setup {
  const { problems, ...setup } = readSetup(ad.source, ad.scriptBase);
  if (problems.length > 0) reportOnce(ad, new SdkError('invalid_parameter', problems.join(' ')));
  const { accountId, placement } = setup.config;
  return { ...setup, storageKey: ad.mounted ? `${accountId}:${placement}` : String(accountId) };
}

/**
 * Replaces the current session with a new one for a response.
 * @returns whether the response has offers
 * @throws SdkError
 */
export function startSession(
  ad: AdState,
  setup: Setup,
  { raw, stored }: LoadedOffers,
  presentation: Pick<OfferSession, 'key' | 'isSupplied' | 'unitFile' | 'words'>,
): boolean {
  const { emitter } = ad;
  const { config } = setup;
  const { settings, styles } = presentation.unitFile;
  const answer = readAnswer(raw, config, presentation.unitFile);
  const problems = [
    ...findInvalidMembers(settings, config.settings, 'AdConfig.settings'),
    ...findInvalidMembers(styles, config.styles, 'AdConfig.styles'),
  ];
  if (problems.length > 0) reportOnce(ad, new SdkError('invalid_parameter', problems.join(' ')));
  stopAutoShow(ad);
  ad.ignoreReload = false;
  const before = ad.session;
  if (before !== null) disposeSession(before);
  ad.session = createOfferSession({
    ...setup,
    ...presentation,
    answer,
    stored,
    emit: emitter.emit,
    onEnd: () => {
      releaseSpace(ad);
      ad.announced = false;
      ad.ignoreReload = false;
    },
    onLost: () => remount(ad),
    onStorageFailure: () => reportOnce(ad, new SdkError('storage_error', 'The selection cannot be stored.')),
  });
  confirmEarly(ad);
  const count = answer.offers.length;
  // Emit `ads_found` again if the offers are for another user or placement.
  if (before !== null && !presentation.isSupplied && requesterOf(before.user) !== requesterOf(ad.session.user))
    ad.announced = false;
  announce(ad, count, config.prefetch === true ? { response: raw } : null, answer.experiments);
  if (count === 0) {
    releaseSpace(ad);
    emitter.emit('no_ads_found', { offerCount: 0, total: 0, ...answer.experiments });
  }
  return count > 0;
}

/** Confirms the perks if the page requested this before the offers were loaded. */
function confirmEarly(ad: AdState): void {
  const { early, session } = ad;
  ad.early = null;
  early?.stop();
  if (session?.usp && early?.has(session.usp.confirmationEvent)) void confirm(session.usp);
}

/**
 * Emits `ads_found` once. Host apps that prefetch (`extra` is set) are also notified if the count is 0
 * (docs/reference/web-sdk.md).
 */
export function announce(
  ad: AdState,
  count: number,
  extra: { response?: unknown } | null,
  experiments: OffersResponse['experiments'] = null,
): void {
  if (ad.announced || (count === 0 && extra === null)) return;
  ad.announced = true;
  ad.emitter.emit('ads_found', { offerCount: count, total: count, ...extra, ...experiments });
}

export function stopAutoShow(ad: AdState): void {
  ad.cancelAutoShow?.();
  ad.cancelAutoShow = null;
}

/**
 * Schedules the automatic display of the session's offers, unless they were already shown. The theme's delay starts
 * with the call that requested the offers (`calledAtMs`), so that it overlaps with the fetch.
 */
export function scheduleShow(ad: AdState, config: AdConfig, calledAtMs: number): void {
  const { session } = ad;
  if (!showsItself(ad, config) || session === null || session.opened || !isReady(ad)) return;
  stopAutoShow(ad);
  ad.cancelAutoShow = autoShow(session.answer.settings, calledAtMs, () => {
    try {
      open(ad);
    } catch (err) {
      reportError(ad, err);
    }
  });
}

/**
 * Opens the unit.
 * @throws SdkError
 */
export function open(ad: AdState): void {
  stopAutoShow(ad);
  if (ad.session === null || !isReady(ad)) return;
  removePrefetched(ad.session.storageKey);
  // Read the configuration again, because the page may have changed the target element since the offers were loaded.
  const { config } = checkConfig(ad.source.config);
  const target = embeddedOf(config, ad.session.answer.settings.embedded);
  if (target && !findElement(target)) {
    openWhenDrawn(ad, target);
    return;
  }
  ad.session.config = config;
  try {
    openSession(ad.session);
    ad.lost = false;
    ad.space?.remember();
  } catch (err) {
    releaseSpace(ad);
    throw err;
  }
}

/** Opens the unit as soon as its target element is in the page. */
function openWhenDrawn(ad: AdState, target: string | Element, report = true): void {
  const openAgain = (): void => {
    try {
      open(ad);
      ad.announced = true;
    } catch (err) {
      reportError(ad, err);
    }
  };
  ad.cancelAutoShow = waitForTarget(target, openAgain, () => {
    stopAutoShow(ad);
    releaseSpace(ad);
    if (report) reportError(ad, new SdkError('render_error', `Element ${String(target)} not found.`));
  });
}

/** Shows a unit again after the page replaced its target element, as Turbo and htmx do when they replace the body. */
function remount(ad: AdState): void {
  const { session } = ad;
  ad.lost = true;
  ad.announced = false;
  releaseSpace(ad);
  const target = session && embeddedOf(session.config, session.answer.settings.embedded);
  if (!target) return;
  stopAutoShow(ad);
  openWhenDrawn(ad, target, false);
  if (findElement(target)?.isConnected) {
    stopAutoShow(ad);
    open(ad);
    ad.announced = true;
  }
}

/** Reserves space in the page for an embedded unit that is shown automatically. */
export function reserveSpace(ad: AdState): void {
  const { config } = checkConfig(ad.source.config);
  const target = embeddedOf(config, config.settings?.embedded as Embedded);
  if (ad.space?.requestedTarget !== target) releaseSpace(ad);
  if (ad.space === null && target && showsItself(ad, config))
    ad.space = keepSpace(target, `${config.accountId}:${requestBody(config, ad.source.user).placement}`);
}

export function releaseSpace(ad: AdState): void {
  ad.space?.release();
  ad.space = null;
}

/**
 * Moves the unit to the target element in the page's current configuration.
 * @throws SdkError
 */
export function moveUnit(ad: AdState): void {
  if (!ad.session?.unit) return;
  const { answer, config } = ad.session;
  if (targetOf(checkConfig(ad.source.config).config, answer) !== targetOf(config, answer)) open(ad);
}
