import type { AdMountConfig, AdUnit } from '../../../packages/client/src/sdk.ts';
import {
  type AdOptions,
  type AdState,
  createAdState,
  isReady,
  moveUnit,
  releaseSpace,
  reportError,
  reportOnce,
  reserveSpace,
  scheduleShow,
  setupOf,
  stopAutoShow,
} from './ad-state.ts';
import type { Bridge } from './bridge.ts';
import { checkConfig, type Source } from './config.ts';
import { SdkError } from './errors.ts';
import { createEmitter } from './events.ts';
import { load, show, useResponse } from './load.ts';
import type { Setup } from './page.ts';
import { disposeSession, openSession } from './session/session.ts';
import { findStoredSessions, storeSession } from './session/stored-session.ts';
import type { AdConfig, Callback } from './types.ts';
import { confirm } from './usp/confirmation.ts';
import { rememberEvents } from './usp/early-events.ts';
import { isOpen, type UspState } from './usp/state.ts';
import { createUsp } from './usp/usp.ts';

/** Creates a unit, either the page's own (`window.Ad`) or one for `Ad.mount` (docs/reference/web-sdk.md). */
export function createUnit(options: AdOptions): AdUnit & {
  startWhen: (scheduled: (start: () => void) => void) => void;
  start: (isLate?: boolean) => void;
  /** Restarts the unit if the page has been replaced since it started. */
  restart: (isReplaced?: boolean) => void;
} {
  const ad: AdState = createAdState(options);
  const { source } = options;
  ad.early = rememberEvents(['ad:confirm', source.config.settings?.usp_confirmation_event]);
  let { body } = document;
  const reported = (err: unknown): false => reportError(ad, err);
  /** Runs a method and converts exceptions to error events. */
  const guarded = <Value>(work: () => Value): Value | false => {
    try {
      return work();
    } catch (err) {
      return reported(err);
    }
  };
  /** Starts the unit automatically, unless one of its methods was already called. */
  const start = (isLate = false): void => {
    if (ad.startPending && isConfigured(source.config, isLate)) init().catch(reported);
  };

  const init = (config?: AdConfig, callback?: Callback): Promise<boolean> => initialise(ad, config, callback);

  const showOrNext = (): void => {
    start();
    show(ad);
  };

  return {
    init: (config, callback) => init(config, callback).catch(reported),
    load: () => {
      ad.startPending = false;
      return load(ad);
    },
    show: () => void guarded(showOrNext),
    close: () => {
      cancel(ad);
      guarded(() => ad.session?.unit?.actions.close());
    },
    reject: () => void guarded(() => ad.session?.unit?.actions.reject()),
    rewind: () => void guarded(() => ad.session?.unit?.actions.back()),
    isReady: () => isReady(ad),
    setApiResponse: (json) => {
      ad.startPending = false;
      reserveSpace(ad);
      return useResponse(ad, json);
    },
    reload: () =>
      void guarded(() => {
        start();
        showAgain(ad);
      }),
    refresh: () => refresh(ad),
    setPayload: (payload) => {
      source.user = payload;
    },
    confirm: async () => {
      await ad.loading?.result;
      return confirmAll(ad).catch(reported);
    },
    destroy: () => destroy(ad),
    start,
    restart: (isTagGone = false) => {
      const isReplaced = isTagGone || ad.lost || document.body !== body;
      body = document.body;
      ad.lost = false;
      if (isReplaced && !ad.startPending) init().catch(reported);
    },
    startWhen: (scheduled) => {
      ad.startPending = true;
      if (source.config.autoLoad !== false) reserveSpace(ad);
      scheduled(() => start());
    },
  };
}

/** Shows the offers again from the first one if the unit is open. Otherwise, does the same as `show`. */
function showAgain(ad: AdState): void {
  const isIgnored = ad.ignoreReload;
  ad.ignoreReload = false;
  if (isIgnored) return;
  if (ad.loading === null && ad.session?.unit) openSession(ad.session);
  else show(ad);
}

/** Fetches new offers and shows them. */
async function refresh(ad: AdState): Promise<boolean> {
  ad.startPending = false;
  const loading = load(ad, true);
  if (ad.loading !== null) ad.loading.show = true;
  return loading;
}

/**
 * Returns whether the unit can start. `isLate` is true if the page set its configuration after it was loaded. In that
 * case, missing configuration is reported.
 */
const isConfigured = (config: AdConfig, isLate: boolean): boolean =>
  isLate ? Object.keys(config).length > 0 : config.accountId !== undefined;

/** Cancels the pending display and the load in progress. */
function cancel(ad: AdState): void {
  stopAutoShow(ad);
  releaseSpace(ad);
  ad.startPending = false;
  if (ad.loading !== null) Object.assign(ad.loading, { show: false, closed: true });
}

/**
 * Applies the page's configuration and loads offers.
 * @returns whether there are offers
 */
async function initialise(ad: AdState, newConfig?: AdConfig, callback?: Callback): Promise<boolean> {
  const { source, emitter } = ad;
  const calledAtMs = performance.now();
  const isFirst = ad.startPending;
  ad.startPending = false;
  if (newConfig !== undefined && newConfig !== null && typeof newConfig !== 'object')
    reportOnce(ad, new SdkError('invalid_parameter', 'The configuration is not an object.'));
  else Object.assign(source.config, newConfig, typeof callback === 'function' && { callback });
  emitter.flush();
  if (isFirst) listenForStoredSessions(ad);
  const { config } = checkConfig(source.config);
  if (config.autoLoad === false) return isReady(ad);
  reserveSpace(ad);
  const hasOffers = await load(ad);
  moveUnit(ad);
  scheduleShow(ad, config, calledAtMs);
  return hasOffers;
}

/** Removes the unit without emitting events or firing beacons. */
function destroy(ad: AdState): void {
  stopAutoShow(ad);
  ad.startPending = false;
  ad.loading = null; // its response will be ignored
  if (ad.session !== null) disposeSession(ad.session);
  ad.session = null;
  // Keep the listeners of perks whose confirmation is in progress, so that it is still sent when the user leaves the
  // page.
  for (const usp of Object.values(ad.earlier)) if (isOpen(usp)) usp.removeListeners();
  ad.earlier = {};
  releaseSpace(ad);
  ad.early?.stop();
  ad.early = null;
}

/** Creates an additional unit. Omitted settings are inherited from the page's unit. */
export function mountUnit(page: Source, mountConfig: AdMountConfig, bridge: Bridge, scriptBase: string): AdUnit {
  const { user: ownUser, ...own } = Object(mountConfig) as AdMountConfig;
  const { autoLoad: _load, autoShow: _show, targetElement: _target, containerId: _id, ...shared } = Object(page.config);
  const placement = own.placement === undefined ? {} : { placement: own.placement };
  let user = { ...ownUser, ...placement };
  const config: AdConfig = { ...shared, ...own };
  const source: Source = {
    config,
    get user() {
      return { ...page.user, ...user };
    },
    set user(payload) {
      user = { ...payload, ...placement };
    },
  };
  const emitter = createEmitter(() => config.callback, bridge, own.callback === undefined ? placement : {});
  const {
    start: _start,
    startWhen: _startWhen,
    restart: _restart,
    ...unit
  } = createUnit({
    source,
    scriptBase,
    emitter,
    mounted: true,
    hostShows: false,
  });
  void unit.init();
  return unit;
}

/**
 * Confirms the displayed perks, and those that earlier pages stored in this tab.
 * @throws SdkError
 */
async function confirmAll(ad: AdState): Promise<boolean> {
  const usp = ad.session?.usp;
  const stored = storedPerks(ad, setupOf(ad));
  const open = usp ? [usp, ...stored] : stored;
  if (open.length === 0) throw new SdkError('usp_error', 'There is no session to confirm.');
  return (await Promise.all(open.map(confirm))).every(Boolean);
}

/**
 * Listens for the DOM event that confirms stored sessions, because later pages, such as the order status page, may not
 * show a unit.
 */
function listenForStoredSessions(ad: AdState): void {
  const setup = setupOf(ad);
  for (const { confirmationEvent } of findStoredSessions(setup.storageKey, setup.user)) {
    const confirmStored = (): void => {
      for (const usp of storedPerks(ad, setup)) if (usp.confirmationEvent === confirmationEvent) confirm(usp);
    };
    for (const target of [window, document]) target.addEventListener(confirmationEvent, confirmStored);
    if (ad.early?.has(confirmationEvent)) confirmStored();
  }
}

/** Returns the perks of all sessions stored in this tab: the displayed one and those of earlier pages. */
const storedPerks = (ad: AdState, { api, storageKey, user }: Setup): UspState[] =>
  findStoredSessions(storageKey, user).map((stored) => {
    const { sessionId } = stored;
    const current = ad.session?.usp;
    if (current?.sessionId === sessionId) return current;
    const onChange = (): void => void (usp.closed && storeSession(storageKey, user, stored, false));
    ad.earlier[sessionId] ??= createUsp({ ...stored, api, emit: ad.emitter.emit, onChange });
    const usp = ad.earlier[sessionId];
    return usp;
  });
