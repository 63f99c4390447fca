import { isDeepStrictEqual } from 'node:util';
import {
  type DarkStyles,
  defaultAppearance,
  defaultSettings,
  defaultStyles,
  type OfferAppearance,
  type OfferSettings,
  type OfferStyles,
} from '@perkwire/client';
import { type Language, languages } from '../platform/i18n/languages.ts';
import { noWebFont, webFontFaces } from './fonts/web-font.ts';
import type { Publisher, Theme } from './types.ts';

type Corner = keyof OfferStyles['popup']['borderRadius'];

/** Clients parse a radius as a number without a unit. */
const plainNumber = /^\d+(\.\d+)?$/;

/**
 * Merges the publisher's settings and styles into the defaults. Values of another type than their default are ignored.
 */
export function buildSettings(
  publisher: Publisher,
  theme: Theme | null,
  usp: boolean,
  privacyUrl: string,
): OfferSettings {
  const settings = overlay(defaultSettings, theme?.settings ?? {});
  return {
    ...settings,
    privacy_policy: settings.privacy_policy || privacyUrl,
    multi_offer_unit: theme?.unit === 'mou',
    enable_usp: usp,
    usp_all_offers_checked: usp && theme?.uspCheckAll === true,
    enable_wallet: publisher.walletEnabled,
    enable_perkswallet: publisher.walletEnabled,
    enable_offerwall: publisher.offerwallEnabled,
  };
}

export function buildStyles(publisher: Publisher, theme: Theme | null, privacyUrl: string): OfferStyles {
  const styles = overlay(defaultStyles, theme?.styles ?? {});
  for (const [corner, radius] of Object.entries(styles.popup.borderRadius) as [Corner, string][]) {
    if (!plainNumber.test(radius)) styles.popup.borderRadius[corner] = defaultStyles.popup.borderRadius[corner];
  }
  styles.footer.publisher_name ||= publisher.name;
  styles.footer.publisher_privacy_policy ||= privacyUrl;
  return styles;
}

/** Translates texts that the theme does not override. */
export const translateSettings = (settings: OfferSettings, language: Language): OfferSettings =>
  translated(settings, defaultSettings, languages[language].texts.endUser.unit.settings);

export const translateStyles = (styles: OfferStyles, language: Language): OfferStyles =>
  translated(styles, defaultStyles, languages[language].texts.endUser.unit.styles);

type Words = { readonly [name: string]: string | Words };

/** Returns `given` with each English default replaced by its translation. */
function translated<Given extends object>(values: Given, english: object, words: Words): Given {
  const result = { ...values } as Record<string, unknown>;
  for (const [name, text] of Object.entries(words)) {
    const [value, englishText] = [result[name], (english as Record<string, unknown>)[name]];
    if (typeof text === 'object') result[name] = translated(value as object, englishText as object, text);
    else if (value === englishText) result[name] = text;
  }
  return result as Given;
}

type Looks = { styles: Theme['styles']; appearance: Theme['appearance'] };

/** Returns null if the theme sets nothing, so that strict clients get no unknown member. */
export function buildAppearance(theme: Looks | null): OfferAppearance | null {
  if (theme === null || Object.keys(theme.appearance).length === 0) return null;
  const font = Object.hasOwn(theme.appearance, 'web_font') && { web_font: noWebFont };
  const built = overlay({ ...defaultAppearance, ...font, dark: darkStylesOf(theme.styles) }, theme.appearance);
  if (built.web_font !== undefined) Object.assign(built.web_font, webFontFaces(built.web_font));
  return built;
}

/** Dark palette of a theme that sets none. Buttons keep the colours of the theme. */
export function darkStylesOf(overrides: Readonly<Record<string, unknown>>): DarkStyles {
  const { dark } = defaultAppearance;
  const styles = overlay(defaultStyles, overrides);
  const branded = <Colours extends object>(colours: Colours, own: Colours, plain: Colours): Colours =>
    isDeepStrictEqual(own, plain) ? colours : own;
  const { offerText, offerwall } = styles;
  return {
    ...dark,
    offerText: {
      ...dark.offerText,
      buttonYes: branded(dark.offerText.buttonYes, offerText.buttonYes, defaultStyles.offerText.buttonYes),
    },
    offerwall: {
      ...dark.offerwall,
      button: branded(dark.offerwall.button, offerwall.button, defaultStyles.offerwall.button),
    },
  };
}

/** Deep copy of `base` with the values of `over` that have the same type. Unknown keys are ignored. */
export function overlay<Base extends object>(base: Base, over: Readonly<Record<string, unknown>>): Base {
  const result: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(base)) {
    const override = Object.hasOwn(over, key) ? over[key] : undefined;
    if (typeof value === 'object') result[key] = overlay(value, isObject(override) ? override : {});
    else result[key] = isSameType(value, override) ? override : value;
  }
  return result as Base;
}

/**
 * Numbers must be safe integers: beyond 2^53, JSON writes some of them as `1e+21`, which clients cannot read as an
 * integer.
 */
const isSameType = (value: unknown, override: unknown): boolean =>
  typeof override === typeof value && (typeof value !== 'number' || Number.isSafeInteger(override));

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** URL of the publisher's own privacy page, else of the one served here. */
export const privacyUrlOf = (publisher: Publisher, publicUrl: string, language: Language = 'en'): string =>
  publisher.privacyUrl ?? `${publicUrl}/privacy/${publisher.sdkId}${language === 'en' ? '' : `?language=${language}`}`;
