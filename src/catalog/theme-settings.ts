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

/** Clients read a radius as a number: no unit. */
const plainNumber = /^\d+(\.\d+)?$/;

/** The publisher's settings and styles over the defaults; what is of another type than its default is left out. */
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

/** The same in the words of a language, but for what a theme words itself. */
export const translateSettings = (settings: OfferSettings, language: Language): OfferSettings =>
  translated(settings, defaultSettings, languages[language].texts.endUser.unit.settings);

export const translateStyles = (styles: OfferStyles, language: Language): OfferStyles =>
  translated(styles, defaultStyles, languages[language].texts.endUser.unit.styles);

type Words = { readonly [name: string]: string | Words };

/** `given` with each text that is the English default in the other language. */
function translated<Given extends object>(given: Given, english: object, words: Words): Given {
  const result = { ...given } as Record<string, unknown>;
  for (const [name, text] of Object.entries(words)) {
    const [value, known] = [result[name], (english as Record<string, unknown>)[name]];
    if (typeof text === 'object') result[name] = translated(value as object, known as object, text);
    else if (value === known) result[name] = text;
  }
  return result as Given;
}

type Looks = { styles: Theme['styles']; appearance: Theme['appearance'] };

/** null where the theme sets none of it: strict clients then meet no member that they do not know. */
export function buildAppearance(theme: Looks | null): OfferAppearance | null {
  if (theme === null || Object.keys(theme.appearance).length === 0) return null;
  const font = Object.hasOwn(theme.appearance, 'web_font') && { web_font: noWebFont };
  const built = overlay({ ...defaultAppearance, ...font, dark: darkStylesOf(theme.styles) }, theme.appearance);
  if (built.web_font !== undefined) Object.assign(built.web_font, webFontFaces(built.web_font));
  return built;
}

/** The dark palette of a theme that sets none: buttons keep the colours that the theme gives them. */
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

/** A deep copy of `base` with the values of `over` that have the same type. Unknown keys are ignored. */
export function overlay<Base extends object>(base: Base, over: Readonly<Record<string, unknown>>): Base {
  const result: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(base)) {
    const given = Object.hasOwn(over, key) ? over[key] : undefined;
    if (typeof value === 'object') result[key] = overlay(value, isObject(given) ? given : {});
    else result[key] = isSameType(value, given) ? given : value;
  }
  return result as Base;
}

/** Numbers are integers that a client reads as such: beyond 2^53 JSON writes some of them as `1e+21`. */
const isSameType = (value: unknown, given: unknown): boolean =>
  typeof given === typeof value && (typeof value !== 'number' || Number.isSafeInteger(given));

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The publisher's own privacy page, else the one served here. */
export const privacyUrlOf = (publisher: Publisher, publicUrl: string, language: Language = 'en'): string =>
  publisher.privacyUrl ?? `${publicUrl}/privacy/${publisher.sdkId}${language === 'en' ? '' : `?language=${language}`}`;
