import { defaultSettings, defaultStyles } from '@perkwire/client';
import { type Html, html } from '../../../platform/http/html.ts';
import type { Fields, FormBuilder, FormValue } from '../../shell/forms.ts';
import {
  isNested,
  jsonText,
  mergeNested,
  type Nested,
  readJson,
  valueAt,
  without,
  withValue,
} from '../../shell/nested.ts';

type LookField = { path: string; label: string; hint?: string; choices?: readonly string[] };

/** What a theme's form offers by itself; everything else can be set as JSON. */
const groups: readonly { title: string; fields: readonly LookField[] }[] = [
  {
    title: 'Words',
    fields: [
      { path: 'styles.header.text', label: 'Heading' },
      { path: 'styles.header.lead_in_text', label: 'Line below the heading' },
      { path: 'settings.usp_cta_text', label: 'Tick of a perk' },
      { path: 'settings.perkswallet_cta', label: 'Save for later' },
      { path: 'settings.offerwall_cta', label: 'More offers' },
      { path: 'styles.footer.text', label: 'Footer' },
    ],
  },
  {
    title: 'Colours',
    fields: [
      { path: 'styles.popup.background', label: 'Background' },
      { path: 'styles.header.background', label: 'Heading, background' },
      { path: 'styles.header.textColor', label: 'Heading' },
      { path: 'styles.offerText.textColor', label: 'Text' },
      { path: 'styles.offerText.buttonYes.background', label: 'Yes button' },
      { path: 'styles.offerText.buttonYes.hover', label: 'Yes button, pointed at' },
      { path: 'styles.offerText.buttonYes.color', label: 'Yes button, text' },
      { path: 'styles.offerText.buttonNo.background', label: 'No button' },
      { path: 'styles.offerText.buttonNo.color', label: 'No button, text' },
    ],
  },
  {
    title: 'Behaviour',
    fields: [
      { path: 'styles.popup.image_position', label: 'Picture', choices: ['top', 'left', 'right'] },
      {
        path: 'settings.ad_position',
        label: 'Position of a dialog',
        choices: ['center', 'top', 'bottom', 'bottom left', 'bottom right'],
      },
      { path: 'settings.button_order', label: 'Order of the buttons', choices: ['yes_first', 'no_first'] },
      { path: 'settings.progress_bar_type', label: 'Progress', choices: ['dots', 'bar', 'none'] },
      { path: 'settings.delay', label: 'Shown after (milliseconds)' },
      {
        path: 'settings.usp_confirmation_event',
        label: 'Confirmation event',
        hint: 'The DOM event that confirms the perks.',
      },
      { path: 'settings.show_close', label: 'Close button' },
      { path: 'settings.close_ad_on_click_outside', label: 'A click outside closes' },
      { path: 'settings.darken_bg', label: 'Darken the page behind' },
      { path: 'settings.show_ads_on_exit', label: 'Show only when the user is about to leave' },
      { path: 'styles.popup.showImage', label: 'Pictures' },
      { path: 'styles.offerText.hide_adv_name', label: 'Hide the advertiser’s name' },
    ],
  },
];

const all = groups.flatMap(({ fields }) => fields);
const defaults: Nested = { settings: defaultSettings, styles: defaultStyles };
const isColour = (value: unknown): boolean => /^#[0-9a-f]{6}$/i.test(String(value));
/** Field of the overrides that the form does not offer by itself. */
const restName = 'rest';

/** A theme's overrides as form values: the defaults below them, and the rest as JSON. */
export function lookToForm(overrides: Nested): Record<string, FormValue> {
  const values: Record<string, FormValue> = {};
  let rest: Nested = overrides;
  for (const { path } of all) {
    values[path] = (valueAt(overrides, path) ?? valueAt(defaults, path)) as FormValue;
    rest = without(rest, path);
  }
  values[restName] = jsonText(
    Object.fromEntries(Object.entries(rest).filter(([, value]) => !isNested(value) || Object.keys(value).length > 0)),
  );
  return values;
}

/** What was typed as overrides: only what differs from the defaults. */
export function readLook(fields: Fields): { settings: unknown; styles: unknown } {
  let look: Nested = {};
  for (const { path } of all) {
    const standard = valueAt(defaults, path);
    const typed =
      typeof standard === 'boolean'
        ? fields.checked(path)
        : typeof standard === 'number'
          ? fields.number(path)
          : fields.text(path);
    if (typed !== standard && typed !== '' && typed !== null) look = withValue(look, path, typed);
  }
  const rest = readJson(fields.text(restName));
  // A text that is no JSON is refused where it can be seen: by the check of the settings.
  if (typeof rest === 'string') return { settings: rest, styles: look.styles ?? {} };
  const merged = mergeNested(rest, look);
  return { settings: {}, styles: {}, ...merged };
}

export function lookFields(form: FormBuilder): Html {
  return html`${groups.map(
    ({
      title,
      fields,
    }) => html`<fieldset class="group"><legend>${title}</legend><div class="columns ${title === 'Colours' ? 'narrow' : ''}">${fields.filter(({ path }) => typeof valueAt(defaults, path) !== 'boolean').map((field) => control(form, field))}</div>
${fields.filter(({ path }) => typeof valueAt(defaults, path) === 'boolean').map(({ path, label }) => form.check(path, { label }))}</fieldset>`,
  )}
<details class="more"><summary>Everything else, as JSON</summary>${form.area(restName, { label: 'Further settings and styles', rows: 8, code: true, hint: html`Such as <code>{"styles":{"popup":{"shadow":"none"}}}</code>. What is left out has its default.` })}</details>`;
}

function control(form: FormBuilder, { path, label, hint, choices }: LookField): Html {
  const standard = valueAt(defaults, path);
  const options = { label, ...(hint !== undefined && { hint }) };
  if (choices !== undefined)
    return form.select(path, {
      ...options,
      choices: choices.map((value) => ({ value, text: value.replaceAll('_', ' ') })),
    });
  if (typeof standard === 'number') return form.input(path, { ...options, type: 'number', min: 0 });
  return form.input(path, { ...options, type: isColour(standard) ? 'color' : 'text' });
}
