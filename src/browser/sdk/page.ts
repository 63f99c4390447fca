import { type Api, createApi } from './api.ts';
import { SdkError } from './errors.ts';
import type { AdConfig, UserPayload } from './types.ts';

/** Globals of the page that belong to the SDK. */
export type Page = { AdConfig?: AdConfig; AdUser?: UserPayload };

/** `window.AdConfig`, created where the page has none. */
export function configOf(page: Page): AdConfig {
  page.AdConfig ??= {};
  return page.AdConfig;
}

/** The configuration of the page, checked. */
export type Setup = { config: AdConfig; user: UserPayload; api: Api; base: string };

/** @throws SdkError invalid_parameter */
export function readSetup(page: Page, scriptBase: string): Setup {
  const config = configOf(page);
  const { accountId } = config;
  const base = (config.apiUrl ?? scriptBase).replace(/\/+$/, '');
  if (typeof accountId !== 'string' || accountId === '')
    throw new SdkError('invalid_parameter', 'AdConfig.accountId is missing.');
  if (!URL.canParse(base)) throw new SdkError('invalid_parameter', 'AdConfig.apiUrl is not a URL.');
  const user = typeof page.AdUser === 'object' && page.AdUser !== null ? page.AdUser : {};
  return { config, user, api: createApi(base, accountId), base };
}

export function whenParsed(work: () => void): void {
  if (document.readyState === 'loading') document.addEventListener('DOMContentLoaded', work, { once: true });
  else work();
}
