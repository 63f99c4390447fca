import type { Ad } from '../../../packages/client/src/sdk.ts';
import {
  type AdOptions,
  type AdState,
  confirmStoredSession,
  isReady,
  load,
  reportError,
  show,
  startSession,
} from './ad-state.ts';
import { autoShow } from './auto-show.ts';
import { configOf } from './page.ts';
import { openSession } from './session/session.ts';
import type { AdConfig, Callback } from './types.ts';
import { confirm } from './usp/confirmation.ts';

export function createAd(options: AdOptions): Ad {
  const ad: AdState = { ...options, session: null, loading: null, cancelAutoShow: () => {} };
  const { page } = options;
  const reported = (err: unknown): false => reportError(ad, err);
  /** Runs a method; what it throws becomes an event. */
  const guarded = (work: () => void): void => {
    try {
      work();
    } catch (err) {
      reported(err);
    }
  };
  const showGuarded = (): void => guarded(() => show(ad));

  async function init(given?: AdConfig, callback?: Callback): Promise<boolean> {
    Object.assign(configOf(page), given, callback === undefined ? {} : { callback });
    const config = configOf(page);
    if (config.autoLoad === false) return isReady(ad);
    const found = await load(ad);
    if (found && config.autoShow !== false && ad.session !== null)
      ad.cancelAutoShow = autoShow(ad.session.answer.settings, showGuarded);
    return found;
  }

  return {
    init: (given, callback) => init(given, callback).catch(reported),
    load: () => load(ad),
    show: showGuarded,
    close: () => guarded(() => ad.session?.unit?.actions.close()),
    reject: () => guarded(() => ad.session?.unit?.actions.reject()),
    rewind: () => guarded(() => ad.session?.unit?.actions.back()),
    isReady: () => isReady(ad),
    setApiResponse: async (json) => {
      try {
        return startSession(ad, { raw: json, stored: null });
      } catch (err) {
        return reported(err);
      }
    },
    reload: () =>
      guarded(() => {
        if (ad.session !== null && isReady(ad)) openSession(ad.session);
        else show(ad);
      }),
    refresh: async () => {
      const found = await load(ad);
      if (found) showGuarded();
      return found;
    },
    setPayload: (payload) => {
      page.AdUser = payload;
    },
    confirm: async () => (ad.session?.usp ? confirm(ad.session.usp) : confirmStoredSession(ad).catch(reported)),
  };
}
