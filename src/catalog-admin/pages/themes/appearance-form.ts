import { defaultAppearance, defaultSettings, defaultStyles } from '@perkwire/client';
import { darkStylesOf, noWebFont } from '../../../catalog/themes.ts';
import { type Html, html } from '../../../platform/http/html.ts';
import { t, tHtml } from '../../../platform/i18n/messages.ts';
import type { Fields, FormValue } from '../../../shell/context.ts';
import {
  columns,
  type FormBuilder,
  isNested,
  jsonText,
  mergeNested,
  moreFields,
  type Nested,
  readJson,
  valueAt,
  withoutValue,
  withValue,
} from '../../../shell/forms.ts';
import type { FontMeasures } from '../../fonts/measure-font.ts';
import { type AppearanceField, allFields, fontField, fontPaths, groups } from './appearance-fields.ts';

const withFont = { ...defaultAppearance, web_font: noWebFont };
const defaults = { settings: defaultSettings, styles: defaultStyles, appearance: withFont };
const plainDefaultOf = (path: string): unknown => valueAt(defaults, path);

/** Returns the default values for a theme. The defaults of the dark colours depend on the theme's light colours. */
const defaultsOf = (overrides: Nested): Nested => ({
  ...defaults,
  appearance: { ...withFont, dark: darkStylesOf(isNested(overrides.styles) ? overrides.styles : {}) },
});

const isColour = (value: unknown): boolean => /^#[0-9a-f]{6}$/i.test(String(value));

/** Name of the JSON field, which contains all overrides that have no form field of their own. */
export const jsonField = 'rest';

/**
 * Converts a theme's overrides to form values. Each field shows an override or else the default. The JSON field
 * contains the remaining overrides.
 */
export function appearanceToForm(overrides: Nested): Record<string, FormValue> {
  const values: Record<string, FormValue> = {};
  const themeDefaults = defaultsOf(overrides);
  const effective = (path: string): unknown => valueAt(overrides, path) ?? valueAt(themeDefaults, path);
  let rest: Nested = overrides;
  for (const { path, also = [] } of allFields) {
    values[path] = effective(path) as FormValue;
    rest = withoutValue(rest, path);
    for (const other of also) {
      const isSame = effective(other) === effective(path);
      rest = isSame ? withoutValue(rest, other) : withValue(rest, other, effective(other));
    }
  }
  const isEmpty = (value: unknown): boolean => isNested(value) && Object.keys(value).length === 0;
  values[jsonField] = jsonText(Object.fromEntries(Object.entries(rest).filter(([, value]) => !isEmpty(value))));
  return values;
}

/** Reads overrides from form values. Values that equal the defaults are left out. */
export function readAppearance(fields: Fields): { settings: unknown; styles: unknown; appearance: unknown } {
  const rest = readJson(fields.text(jsonField));
  const jsonOverrides = typeof rest === 'string' ? {} : rest;
  let overrides: Nested = {};
  const set = (path: string, value: unknown, fallbacks: Nested, emptiable = false): void => {
    const isSet = value !== null && (value !== '' || emptiable);
    if (isSet && value !== valueAt(fallbacks, path)) overrides = withValue(overrides, path, value);
  };
  const isDark = ({ path }: AppearanceField): boolean => path.startsWith('appearance.dark.');
  for (const part of [allFields.filter((field) => !isDark(field)), allFields.filter(isDark)]) {
    const partDefaults = defaultsOf(mergeNested(jsonOverrides, overrides));
    for (const field of part) {
      const value = readValue(fields, field);
      set(field.path, value, partDefaults, field.emptiable);
      for (const other of field.also ?? [])
        if (valueAt(jsonOverrides, other) === undefined) set(other, value, partDefaults);
    }
  }
  if (fields.text(fontPaths.url) === '') overrides = withoutValue(overrides, 'appearance.web_font');
  const empty = { settings: {}, styles: {}, appearance: {} };
  // Pass on invalid JSON as settings, so that validation rejects it.
  if (typeof rest === 'string') return { ...empty, ...overrides, settings: rest };
  return { ...empty, ...mergeNested(rest, overrides) };
}

/** Reads a field and converts it to the type of its default. */
function readValue(fields: Fields, { path }: AppearanceField): string | number | boolean | null {
  const type = typeof plainDefaultOf(path);
  if (type === 'boolean') return fields.checked(path);
  return type === 'number' ? fields.number(path) : fields.text(path);
}

/** Renders the fields from which most of a theme's appearance follows: brand colours and font. */
export const mainAppearanceFields = (form: FormBuilder): Html => html`
  ${brandField(form)}
  ${columns([control(form, fontField)])}`;

/** Returns the groups of all other appearance fields, for `fieldGroups`. */
export const appearanceGroups = (form: FormBuilder): [legend: string, ...fields: (Html | Html[])[]][] =>
  groups.map(({ title, hint, short, fields }) => [
    t(title),
    hint === undefined ? [] : html`<p class="hint">${t(hint)}</p>`,
    title === 'themes.typeAndShape' ? fontControl(form) : [],
    columns(
      fields.filter((field) => !isCheckbox(field) && field !== fontField).map((field) => control(form, field)),
      fields.some(({ path }) => isColour(plainDefaultOf(path))) ? 'narrow' : short === true ? 'aligned' : '',
    ),
    fields.filter(isCheckbox).map(({ path, label }) => form.checkbox(path, { label: t(label) })),
  ]);

/** Renders the JSON field for all settings that have no field of their own. */
export const otherSettings = (form: FormBuilder): Html =>
  moreFields(
    t('themes.otherSettings'),
    form.textarea(jsonField, {
      label: t('themes.furtherSettings'),
      rows: 8,
      code: true,
      hint: tHtml('themes.furtherSettingsHint', { example: '{"styles":{"popup":{"shadow":"none"}}}' }),
    }),
  );

const isCheckbox = ({ path }: AppearanceField): boolean => typeof plainDefaultOf(path) === 'boolean';

/**
 * Renders the field from whose brand colours all other colours are generated. preview.js fills in the colour fields.
 */
const brandField = (form: FormBuilder): Html => html`
  <div class="brand-colours" data-palette>
    ${form.input('brand', {
      label: t('themes.brandColours'),
      placeholder: '#1f5f4a',
      hint: t('themes.brandColoursHint'),
    })}
    <button type="button" class="button" data-make-palette>${t('themes.makePalette')}</button>
    <p class="hint" role="status" data-palette-state></p>
  </div>`;

/** Renders the control for a font URL. preview.js requests the measurements and fills in the font fields. */
const fontControl = (form: FormBuilder): Html => html`
  <div class="brand-colours" data-font>
    ${form.input(fontPaths.url, {
      label: t('themes.webFont'),
      hint: t('themes.webFontHint'),
    })}
    <button type="button" class="button" data-read-font>${t('themes.readFont')}</button>
    ${form.input(fontPaths.boldUrl, { label: t('themes.webFontBold'), hint: t('themes.webFontBoldHint') })}
    ${form.input(fontPaths.family, { label: t('themes.webFontFamily') })}
    ${fontPaths.measured.map(
      (path) => html`<input type="hidden" name="${path}" value="${String(form.values[path] ?? '')}">`,
    )}
    <p class="hint" role="status" data-font-state></p>
  </div>`;

/** Measures the entered font and returns the field values by name. */
export async function fontFields(
  fields: Fields,
  read: (url: string) => Promise<FontMeasures>,
): Promise<[path: string, value: string][]> {
  const font = await read(fields.text(fontPaths.url));
  const boldUrl = fields.text(fontPaths.boldUrl);
  const bold = boldUrl === '' ? null : await read(boldUrl);
  const { family, ...measures } = font;
  const all = { family: fields.text(fontPaths.family) || family, ...measures, bold_width: bold?.width ?? 0 };
  return Object.entries(all).map(([name, value]) => [`appearance.web_font.${name}`, String(value)]);
}

function control(form: FormBuilder, { path, label, hint, choices, number }: AppearanceField): Html {
  const options = { label: t(label), ...(hint !== undefined && { hint: t(hint) }) };
  if (choices !== undefined) return form.select(path, { ...options, choices: choices() });
  const value = plainDefaultOf(path);
  const current = form.values[path] ?? value;
  if (typeof value === 'number') return form.input(path, { ...options, type: 'number', min: 0 });
  // Use a number field only for plain numbers, because browsers discard text such as `18px` in a number field.
  if (number === true && /^(\d+(\.\d+)?)?$/.test(String(current)))
    return form.input(path, { ...options, type: 'number', min: 0, step: 'any' });
  // Use a colour field only for `#rrggbb` values, because browsers show other colour notations, such as `#fff` or
  // `rgb()`, as black.
  const isPlain = isColour(value) && isColour(current);
  return form.input(path, { ...options, type: isPlain ? 'color' : 'text' });
}
