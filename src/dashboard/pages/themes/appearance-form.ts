import { defaultSettings, defaultStyles } from '@perkwire/client';
import { type Html, html } from '../../../platform/http/html.ts';
import type { Fields } from '../../shell/fields.ts';
import { columns, type FormBuilder, type FormValue, fieldGroup, moreFields } from '../../shell/forms.ts';
import {
  isNested,
  jsonText,
  mergeNested,
  type Nested,
  readJson,
  valueAt,
  withoutValue,
  withValue,
} from '../../shell/nested.ts';

type AppearanceField = { path: string; label: string; hint?: string; choices?: readonly string[] };

/** The settings and styles with fields of their own; all others can be set as JSON. */
const groups: readonly { title: string; fields: readonly AppearanceField[] }[] = [
  {
    title: 'Texts',
    fields: [
      { path: 'styles.header.text', label: 'Heading' },
      { path: 'styles.header.lead_in_text', label: 'Subheading' },
      { path: 'settings.usp_cta_text', label: 'Perk checkbox' },
      { path: 'settings.perkswallet_cta', label: 'Save for later' },
      { path: 'settings.offerwall_cta', label: 'More offers' },
      { path: 'styles.footer.text', label: 'Footer' },
    ],
  },
  {
    title: 'Colours',
    fields: [
      { path: 'styles.popup.background', label: 'Background' },
      { path: 'styles.header.background', label: 'Heading background' },
      { path: 'styles.header.textColor', label: 'Heading' },
      { path: 'styles.offerText.textColor', label: 'Text' },
      { path: 'styles.offerText.buttonYes.background', label: 'Yes button' },
      { path: 'styles.offerText.buttonYes.hover', label: 'Yes button, hover' },
      { path: 'styles.offerText.buttonYes.color', label: 'Yes button text' },
      { path: 'styles.offerText.buttonNo.background', label: 'No button' },
      { path: 'styles.offerText.buttonNo.color', label: 'No button text' },
    ],
  },
  {
    title: 'Behaviour',
    fields: [
      { path: 'styles.popup.image_position', label: 'Image position', choices: ['top', 'left', 'right'] },
      {
        path: 'settings.ad_position',
        label: 'Dialog position',
        choices: ['center', 'top', 'bottom', 'bottom left', 'bottom right'],
      },
      { path: 'settings.button_order', label: 'Button order', choices: ['yes_first', 'no_first'] },
      { path: 'settings.progress_bar_type', label: 'Progress indicator', choices: ['dots', 'bar', 'none'] },
      { path: 'settings.delay', label: 'Delay (ms)' },
      {
        path: 'settings.usp_confirmation_event',
        label: 'Confirmation event',
        hint: 'DOM event that confirms the perks.',
      },
      { path: 'settings.show_close', label: 'Close button' },
      { path: 'settings.close_ad_on_click_outside', label: 'Close on click outside' },
      { path: 'settings.darken_bg', label: 'Darken page behind' },
      { path: 'settings.show_ads_on_exit', label: 'Show on exit intent' },
      { path: 'styles.popup.showImage', label: 'Images' },
      { path: 'styles.offerText.hide_adv_name', label: 'Hide advertiser name' },
    ],
  },
];

const allFields = groups.flatMap(({ fields }) => fields);
const defaults: Nested = { settings: defaultSettings, styles: defaultStyles };
const defaultOf = (path: string): unknown => valueAt(defaults, path);
const isColour = (value: unknown): boolean => /^#[0-9a-f]{6}$/i.test(String(value));

/** Name of the field with all overrides that have no field of their own. */
export const jsonField = 'rest';

/** A theme's overrides as form values: defaults where there is no override, and the rest as JSON. */
export function appearanceToForm(overrides: Nested): Record<string, FormValue> {
  const values: Record<string, FormValue> = {};
  let rest: Nested = overrides;
  for (const { path } of allFields) {
    values[path] = (valueAt(overrides, path) ?? defaultOf(path)) as FormValue;
    rest = withoutValue(rest, path);
  }
  const isEmpty = (value: unknown): boolean => isNested(value) && Object.keys(value).length === 0;
  values[jsonField] = jsonText(Object.fromEntries(Object.entries(rest).filter(([, value]) => !isEmpty(value))));
  return values;
}

/** Form values as overrides: only what differs from the defaults. */
export function readAppearance(fields: Fields): { settings: unknown; styles: unknown } {
  let overrides: Nested = {};
  for (const { path } of allFields) {
    const typed = readValue(fields, path);
    if (typed !== defaultOf(path) && typed !== '' && typed !== null) overrides = withValue(overrides, path, typed);
  }
  const rest = readJson(fields.text(jsonField));
  // A text that is not JSON is passed on as settings, for the validation to refuse.
  if (typeof rest === 'string') return { settings: rest, styles: overrides.styles ?? {} };
  return { settings: {}, styles: {}, ...mergeNested(rest, overrides) };
}

/** A field has the type of its default. */
function readValue(fields: Fields, path: string): string | number | boolean | null {
  const type = typeof defaultOf(path);
  if (type === 'boolean') return fields.checked(path);
  return type === 'number' ? fields.number(path) : fields.text(path);
}

export function appearanceFields(form: FormBuilder): Html {
  const isCheckbox = ({ path }: AppearanceField) => typeof defaultOf(path) === 'boolean';
  return html`
    ${groups.map(({ title, fields }) =>
      fieldGroup(
        title,
        columns(
          fields.filter((field) => !isCheckbox(field)).map((field) => control(form, field)),
          title === 'Colours' ? 'narrow' : '',
        ),
        fields.filter(isCheckbox).map(({ path, label }) => form.checkbox(path, { label })),
      ),
    )}
    ${moreFields(
      'All other settings (JSON)',
      form.textarea(jsonField, {
        label: 'Further settings and styles',
        rows: 8,
        code: true,
        hint: html`Example: <code>{"styles":{"popup":{"shadow":"none"}}}</code>. All others keep their defaults.`,
      }),
    )}`;
}

function control(form: FormBuilder, { path, label, hint, choices }: AppearanceField): Html {
  const options = { label, ...(hint !== undefined && { hint }) };
  if (choices !== undefined)
    return form.select(path, {
      ...options,
      choices: choices.map((value) => ({ value, text: value.replaceAll('_', ' ') })),
    });
  const value = defaultOf(path);
  if (typeof value === 'number') return form.input(path, { ...options, type: 'number', min: 0 });
  return form.input(path, { ...options, type: isColour(value) ? 'color' : 'text' });
}
