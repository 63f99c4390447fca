import { objectOf } from './compat.ts';
import { tryCall } from './try-call.ts';
import type { AdConfig, UserPayload } from './types.ts';

/** Configuration source of a unit. The source is read again for each load, because pages change their globals. */
export type Source = { config: AdConfig; user: UserPayload };

/** Global variables of the page that configure the SDK. */
export type Page = { AdConfig?: AdConfig; AdUser?: UserPayload };

/**
 * Returns the page's globals as a configuration source. Missing or unusable globals are created. `onConfig` is called
 * when the page assigns `AdConfig`.
 */
export function pageSource(page: Page, onConfig: () => void): Source {
  let assigned = page.AdConfig;
  const get = (): AdConfig | undefined => assigned;
  const set = (value: AdConfig | undefined): void => {
    assigned = value;
    onConfig();
  };
  // This fails if the page declared `AdConfig` with `var`.
  tryCall(() => Object.defineProperty(page, 'AdConfig', { configurable: true, enumerable: true, get, set }));
  return {
    get config() {
      if (typeof (page.AdConfig ?? 0) !== 'object') page.AdConfig = {};
      return page.AdConfig as AdConfig;
    },
    get user() {
      page.AdUser ??= {};
      return page.AdUser;
    },
    set user(user) {
      page.AdUser = user;
    },
  };
}

/** Allowed types for each member of `AdConfig`. */
const memberTypes: Record<keyof AdConfig, string> = {
  accountId: 'string',
  autoLoad: 'boolean',
  autoShow: 'boolean',
  prefetch: 'boolean',
  dev: 'boolean string number',
  themeId: 'string number',
  theme_id: 'string number',
  placement: 'string',
  targetElement: 'string object',
  containerId: 'string object',
  template: 'string object',
  render: 'function',
  settings: 'object',
  styles: 'object',
  appearance: 'object',
  callback: 'function',
  apiUrl: 'string',
  language: 'string',
  labels: 'object',
  loyaltyboost: 'string number',
  creative: 'string number',
  campaignId: 'string number',
  country: 'string',
  consent: 'boolean string number',
};

/** Returns the valid members, and an error message for each invalid one. */
export function checkConfig(config: AdConfig): { config: AdConfig; problems: string[] } {
  const problems: string[] = [];
  const entries = Object.entries(Object(config)).filter(([name, value]) => {
    const types = Object.keys(memberTypes).includes(name) ? memberTypes[name as keyof AdConfig] : null;
    if (value === undefined || value === null) return false;
    if (types?.includes(typeof value)) return true;
    problems.push(`AdConfig.${name} ${types === null ? 'is unknown' : `must be a ${types.replace(/ /g, ' or ')}`}.`);
    return false;
  });
  return { config: objectOf(entries) as AdConfig, problems };
}
