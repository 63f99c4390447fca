'use client';

import {
  type CSSProperties,
  createContext,
  createElement,
  type ReactElement,
  type ReactNode,
  useContext,
  useEffect,
  useRef,
} from 'react';
import { ConnectionError } from './errors.ts';
import type {
  Ad,
  AdConfig,
  AdEventArguments,
  AdEventCallback,
  AdEventListener,
  AdEventPayloads,
  AdUnit,
  AdUser,
} from './sdk.ts';

/** Connection settings of the offer service. */
export type PerkwireService = {
  /** Base URL of the service, such as `https://offers.example`. */
  baseUrl: string;
  /** SDK ID of the publisher. */
  sdkId: string;
  /** Nonce for the page's content security policy, if the policy uses nonces. */
  nonce?: string;
};

const ServiceContext = createContext<Partial<PerkwireService>>({});

/** Provides the service settings to all offer units in its subtree. */
export const PerkwireProvider = ({ children, ...service }: PerkwireService & { children?: ReactNode }): ReactElement =>
  createElement(ServiceContext.Provider, { value: service }, children);

export type OfferUnitProps = Partial<PerkwireService> & {
  /** Page or section where the unit appears, such as `checkout`. */
  placement: string;
  /** User data. Perks and the wallet require `pub_user_id`. */
  user?: AdUser;
  /** Theme ID or key. Defaults to the placement's theme. */
  theme?: string | number;
  /** Language of the unit's labels, such as `de`. Defaults to the page language. */
  language?: string;
  /** Confirms the selected perks when this prop changes to true. Set it when the order is placed. */
  confirm?: boolean;
  /** Additional SDK configuration. */
  config?: Omit<AdConfig, 'accountId' | 'apiUrl' | 'callback' | 'placement' | 'targetElement' | 'themeId' | 'language'>;
  /** Called once per session with the IDs of the confirmed campaigns. */
  onPerksConfirmed?: (selected: number[]) => void;
  /** Called with the number of offers. If the number is 0, the unit shows nothing. */
  onOffersFound?: (count: number) => void;
  onClosed?: () => void;
  onError?: (error: AdEventPayloads['error']) => void;
  /** Called for every SDK event. Return `false` for `url_clicked` to prevent the SDK from opening the link. */
  onEvent?: AdEventCallback;
  className?: string;
  style?: CSSProperties;
};

/**
 * Renders an embedded offer unit (docs/reference/web-sdk.md). The unit is remounted when its configuration changes, but
 * not when its event handlers change. On a server, an empty `div` is rendered.
 */
export function OfferUnit(props: OfferUnitProps): ReactElement {
  const element = useRef<HTMLDivElement>(null);
  const unit = useRef<AdUnit | null>(null);
  const latest = useRef(props);
  const confirmation = useRef({ last: props.confirm === true, pending: false });
  const { baseUrl, sdkId, nonce } = { ...useContext(ServiceContext), ...definedOnly(props) };
  const { placement, user, theme, language, config, confirm = false } = props;
  // Compare props by content, because each render passes new objects.
  const configuration = JSON.stringify([placement, user, theme, language, config]);

  useEffect(() => {
    latest.current = props;
  });

  /** Confirms the perks immediately, or as soon as the unit is mounted. */
  const confirmPerks = (): void => {
    confirmation.current.pending = unit.current === null;
    void unit.current?.confirm();
  };

  // biome-ignore lint/correctness/useExhaustiveDependencies: `configuration` stands for what it holds
  useEffect(() => {
    const { current: targetElement } = element;
    if (targetElement === null || baseUrl === undefined || sdkId === undefined) {
      latest.current.onError?.({ kind: 'invalid_parameter', message: 'OfferUnit needs baseUrl and sdkId.' });
      return;
    }
    let unmounted = false;
    const mount = async (): Promise<void> => {
      const ad = await loadLauncher(baseUrl, nonce);
      if (unmounted) return;
      unit.current = ad.mount({
        ...config,
        accountId: sdkId,
        apiUrl: baseUrl,
        placement,
        targetElement,
        user: user ?? {},
        ...(theme === undefined ? {} : { themeId: theme }),
        ...(language === undefined ? {} : { language }),
        callback: (...event) => (unmounted ? false : dispatch(latest.current, event)),
      });
      if (confirmation.current.pending) confirmPerks();
    };
    mount().catch((err: unknown) => {
      if (!unmounted) latest.current.onError?.({ kind: 'connection_error', message: String((err as Error).message) });
    });
    return () => {
      unmounted = true;
      unit.current?.destroy();
      unit.current = null;
    };
  }, [baseUrl, sdkId, nonce, configuration]);

  // biome-ignore lint/correctness/useExhaustiveDependencies: acts on the change of `confirm` alone
  useEffect(() => {
    const { last } = confirmation.current;
    confirmation.current.last = confirm;
    if (confirm && !last) confirmPerks();
  }, [confirm]);

  return createElement('div', { ref: element, className: props.className, style: props.style });
}

/**
 * Calls the handlers for an event.
 * @returns the result of `onEvent`
 */
function dispatch(props: OfferUnitProps, event: AdEventArguments): unknown {
  const [name, payload] = event;
  if (name === 'usp_confirmed') props.onPerksConfirmed?.(payload.selected);
  else if (name === 'ads_found') props.onOffersFound?.(payload.offerCount);
  else if (name === 'no_ads_found') props.onOffersFound?.(0);
  else if (name === 'closed_ads') props.onClosed?.();
  else if (name === 'error') props.onError?.(payload);
  return (props.onEvent as AdEventListener | undefined)?.(...event);
}

/** Returns only the service props that are set, so that missing props do not override the provider's values. */
const definedOnly = ({ baseUrl, sdkId, nonce }: OfferUnitProps): Partial<PerkwireService> => ({
  ...(baseUrl === undefined ? {} : { baseUrl }),
  ...(sdkId === undefined ? {} : { sdkId }),
  ...(nonce === undefined ? {} : { nonce }),
});

const scripts = new Map<string, Promise<Ad>>();

/**
 * Loads the launcher script once per page and service, regardless of the number of units.
 * @param nonce nonce for the page's content security policy
 * @throws ConnectionError if the script can't be loaded; the next call tries again
 */
function loadLauncher(baseUrl: string, nonce: string | undefined): Promise<Ad> {
  const src = `${baseUrl.replace(/\/+$/, '')}/launcher.min.js`;
  let script = scripts.get(src);
  if (script === undefined) {
    script = appendScript(src, nonce);
    scripts.set(src, script);
    script.catch(() => scripts.delete(src));
  }
  return script;
}

function appendScript(src: string, nonce: string | undefined): Promise<Ad> {
  if (window.Ad !== undefined) return Promise.resolve(window.Ad);
  return new Promise((resolve, reject) => {
    const fail = (): void => {
      script.remove();
      reject(new ConnectionError(`The script ${src} cannot be loaded.`, null));
    };
    const script = document.createElement('script');
    Object.assign(script, { src, async: true, onerror: fail, ...(nonce === undefined ? {} : { nonce }) });
    script.onload = () => (window.Ad === undefined ? fail() : resolve(window.Ad));
    document.head.append(script);
  });
}
