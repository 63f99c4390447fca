import { readAnswer } from './answer.ts';
import { createApi } from './api.ts';
import type { Bridge } from './bridge.ts';
import { describeError, SdkError } from './errors.ts';
import { dropAnswer } from './prefetch.ts';
import { createShowing, type Showing } from './showing.ts';
import { type Found, findOffers, findOpenSession, requestBody } from './source.ts';
import { autoShow } from './start.ts';
import type { AdConfig, Callback, Emit, UserPayload } from './types.ts';
import { createUsp } from './usp.ts';

/** `window.Ad` (docs/interface.md#web-sdk). Nothing throws and no promise is rejected: failures are `error` events. */
export type Ad = {
  init: (config?: AdConfig, callback?: Callback) => Promise<boolean>;
  load: () => Promise<boolean>;
  show: () => void;
  close: () => void;
  /** "No thanks" to the offer shown. */
  reject: () => void;
  /** Back to the offer before. */
  rewind: () => void;
  isReady: () => boolean;
  setApiResponse: (json: unknown) => Promise<boolean>;
  /** Shows the present answer from its first offer. */
  reload: () => void;
  /** Fetches anew and shows. */
  refresh: () => Promise<boolean>;
  setPayload: (user: UserPayload) => void;
  /** Wraps the User Selected Perks session. */
  confirm: () => Promise<boolean>;
};

/** Globals of the page that belong to the SDK. */
export type Page = { AdConfig?: AdConfig; AdUser?: UserPayload };

export type AdOptions = { page: Page; scriptBase: string; bridge: Bridge; emit: Emit };

export function createAd({ page, scriptBase, bridge, emit }: AdOptions): Ad {
  let showing: Showing | null = null;
  let loading: Promise<boolean> | null = null;
  let stopAutoShow = (): void => {};

  const config = (): AdConfig => {
    page.AdConfig ??= {};
    return page.AdConfig;
  };
  const user = (): UserPayload => (typeof page.AdUser === 'object' && page.AdUser !== null ? page.AdUser : {});
  const base = (): string => (config().apiUrl ?? scriptBase).replace(/\/+$/, '');
  const isReady = (): boolean => (showing?.answer.offers.length ?? 0) > 0;
  const report = (err: unknown): false => {
    emit('error', describeError(err));
    return false;
  };
  /** @throws SdkError */
  function api() {
    const { accountId } = config();
    if (typeof accountId !== 'string' || accountId === '')
      throw new SdkError('invalid_parameter', 'AdConfig.accountId is missing.');
    if (!URL.canParse(base())) throw new SdkError('invalid_parameter', 'AdConfig.apiUrl is not a URL.');
    return createApi(base(), accountId);
  }

  function adopt({ raw, carried }: Found): boolean {
    const answer = readAnswer(raw, config());
    showing?.dispose();
    showing = createShowing({
      answer,
      config: config(),
      user: requestBody(config(), user()),
      carried,
      api: api(),
      base: base(),
      bridge,
      emit,
    });
    const count = answer.offers.length;
    const prefetch = config().prefetch === true;
    // A host app that prefetches reads the count, also when it is 0 (docs/interface.md#web-sdk).
    if (count > 0 || prefetch)
      emit('ads_found', { offerCount: count, total: count, ...(prefetch ? { response: raw } : {}) });
    if (count === 0) emit('no_ads_found', { offerCount: 0, total: 0 });
    return count > 0;
  }

  async function load(): Promise<boolean> {
    stopAutoShow();
    loading ??= Promise.resolve()
      .then(async () => adopt(await findOffers(api(), config(), user())))
      .catch(report)
      .finally(() => {
        loading = null;
      });
    return loading;
  }

  /** Runs a method; what it throws becomes an event. */
  const guarded = (work: () => void): void => {
    try {
      work();
    } catch (err) {
      report(err);
    }
  };

  const show = (): void =>
    guarded(() => {
      stopAutoShow();
      if (showing === null) throw new SdkError('not_ready', 'Call load() first.');
      if (!isReady() || showing.unit() !== null) return;
      dropAnswer(config().accountId as string);
      showing.open();
    });

  /** A page after the one with the ticks may be the one that confirms. */
  async function confirmEarlier(): Promise<boolean> {
    const service = api();
    const carried = await findOpenSession(service, config().accountId as string, user());
    if (carried === null) throw new SdkError('usp_error', 'There is no session to confirm.');
    const usp = createUsp({ ...carried, api: service, emit, onChange: () => {} });
    return usp.confirm().finally(usp.dispose);
  }

  return {
    init: async (given, callback) => {
      try {
        Object.assign(config(), given, callback === undefined ? {} : { callback });
        if (config().autoLoad === false) return isReady();
        const found = await load();
        if (found && config().autoShow !== false && showing !== null)
          stopAutoShow = autoShow(showing.answer.settings, show);
        return found;
      } catch (err) {
        return report(err);
      }
    },
    load,
    show,
    close: () => guarded(() => showing?.unit()?.close()),
    reject: () => guarded(() => showing?.unit()?.reject()),
    rewind: () => guarded(() => showing?.unit()?.back()),
    isReady,
    setApiResponse: async (json) => {
      try {
        return adopt({ raw: json, carried: null });
      } catch (err) {
        return report(err);
      }
    },
    reload: () =>
      guarded(() => {
        showing?.unit()?.remove();
        if (isReady()) showing?.open();
        else show();
      }),
    refresh: async () => {
      const found = await load();
      if (found) show();
      return found;
    },
    setPayload: (payload) => {
      page.AdUser = payload;
    },
    confirm: async () => (showing?.usp ? showing.usp.confirm() : confirmEarlier().catch(report)),
  };
}
