import { defaultAppearance, defaultSettings, defaultStyles } from '@perkwire/client';
import { type TObject, type TProperties, Type } from '@sinclair/typebox';
import type { ErrorDetail } from '../platform/errors.ts';
import { parseUrl } from '../platform/lib/url.ts';
import { lowContrasts } from './contrast.ts';
import { buildAppearance, overlay } from './theme-settings.ts';

const maxTextLength = 2000;
const maxNumber = 86_400_000;

/** Names of parts that come several times, in the API reference. */
const partNames: Record<string, string> = {
  buttonYes: 'ThemeButton',
  buttonNo: 'ThemeButton',
  button: 'ThemeOfferwallButton',
};

/** The shape of an object of defaults, every key optional: the overrides a theme keeps. */
function overridesOf(defaults: object, title?: string): TObject {
  const fields: TProperties = {};
  for (const [name, value] of Object.entries(defaults) as [string, unknown][]) {
    if (typeof value === 'object' && value !== null) fields[name] = Type.Optional(overridesOf(value, partNames[name]));
    else if (typeof value === 'number')
      fields[name] = Type.Optional(Type.Integer({ minimum: -maxNumber, maximum: maxNumber }));
    else if (typeof value === 'boolean') fields[name] = Type.Optional(Type.Boolean());
    else fields[name] = Type.Optional(Type.String({ maxLength: maxTextLength }));
  }
  return Type.Object(fields, { additionalProperties: false, ...(title !== undefined && { title }) });
}

export const settingsOverrides = overridesOf(defaultSettings);
export const stylesOverrides = overridesOf(defaultStyles);

const oneOf = (values: readonly string[]) => Type.Optional(Type.Union(values.map((value) => Type.Literal(value))));

const colorSchemes = ['light', 'dark', 'system'] as const;
const spacings = ['compact', 'normal', 'relaxed'] as const;
const maxUnitWidthPx = 2000;

export const appearanceOverrides = Type.Object(
  {
    ...overridesOf(defaultAppearance).properties,
    color_scheme: oneOf(colorSchemes),
    spacing: oneOf(spacings),
    width: Type.Optional(Type.Integer({ minimum: 0, maximum: maxUnitWidthPx })),
  },
  { additionalProperties: false },
);

type Overrides = { settings: Record<string, unknown>; styles: Record<string, unknown> };

/** Overrides that say nothing: what they name follows from the publisher and from other fields of the theme. */
const derived = [
  'multi_offer_unit',
  'enable_usp',
  'usp_all_offers_checked',
  'enable_wallet',
  'enable_perkswallet',
  'enable_offerwall',
] as const;

const links = [
  'settings/privacy_policy',
  'styles/footer/publisher_privacy_policy',
  'styles/offerwall/offerwall_logo_url',
];

/** What the shape does not say: links that clients open, numbers that clients read from texts. */
export function checkOverrides(theme: Overrides): ErrorDetail[] {
  const details: ErrorDetail[] = [];
  for (const path of links) {
    const value = path
      .split('/')
      .reduce<unknown>((at, name) => (at as Record<string, unknown> | undefined)?.[name], theme);
    if (
      value !== undefined &&
      value !== '' &&
      !(/^https?:\/\/\S+$/.test(String(value)) && parseUrl(String(value)) !== null)
    )
      details.push({ path: `/${path}`, message: 'must be a URL that begins with https://, or empty' });
  }
  const { borderRadius = {} } = (theme.styles.popup ?? {}) as { borderRadius?: Record<string, string> };
  for (const [corner, radius] of Object.entries(borderRadius)) {
    if (!/^\d{1,4}(\.\d{1,4})?$/.test(radius))
      details.push({ path: `/styles/popup/borderRadius/${corner}`, message: 'must be a plain number, without a unit' });
  }
  const event = theme.settings.usp_confirmation_event;
  if (event !== undefined && !/^\S{1,100}$/.test(String(event)))
    details.push({ path: '/settings/usp_confirmation_event', message: 'must be the name of an event, without blanks' });
  return details;
}

/** Overrides without effect, and texts that are hard to read. */
export const warnOfTheme = (theme: Overrides & { appearance: Record<string, unknown> }): ErrorDetail[] => [
  ...derived
    .filter((name) => Object.hasOwn(theme.settings, name))
    .map((name) => ({
      path: `/settings/${name}`,
      message: 'has no effect here: it follows from the publisher and the theme',
    })),
  ...lowContrasts(overlay(defaultStyles, theme.styles), buildAppearance(theme)).map(({ path, on, ratio }) => ({
    path: `/${path.replaceAll('.', '/')}`,
    message: `is hard to read on ${on}: ${ratio}:1, below 4.5:1`,
  })),
];
