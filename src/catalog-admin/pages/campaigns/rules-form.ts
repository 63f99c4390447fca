import type { OwnKind } from '../../../catalog/event-kinds.ts';
import { pacings } from '../../../catalog/rules.ts';
import { type Html, html } from '../../../platform/http/html.ts';
import { t } from '../../../platform/i18n/messages.ts';
import type { FieldErrors, Fields, FormValue } from '../../../shell/context.ts';
import { columns, type FormBuilder, fieldGroup, isNested, type Nested } from '../../../shell/forms.ts';
import { capParts, frequencyCapFields, totalCapFields } from './caps-form.ts';
import { conditionErrors, conditionFields, conditionsPart } from './conditions-form.ts';
import type { Picker } from './options.ts';
import { fieldPart, partsToForm, type RulesPart, readParts } from './rules-part.ts';
import { scheduleErrors, scheduleFields, scheduleParts } from './schedule-form.ts';
import { exclusionGroupsPart, targetingFields, targetingParts } from './targeting-form.ts';

const pacingPart = fieldPart(
  'pacing',
  (value) => (value === undefined || value === 'as_fast' ? 'asap' : String(value)),
  (text) => (text === 'asap' || text === '' ? undefined : text),
);

const forcePart = fieldPart(
  'force_priority',
  (value) => value === true,
  (text) => text !== '' || undefined,
);

const partsOf = (timeZone: string): readonly RulesPart[] => [
  ...targetingParts,
  ...scheduleParts(timeZone),
  ...capParts('rules.'),
  conditionsPart,
  pacingPart,
  forcePart,
  exclusionGroupsPart,
];

/** Converts campaign rules to form values. */
export const rulesToForm = (rules: unknown, timeZone: string): Record<string, FormValue> =>
  partsToForm(partsOf(timeZone), isNested(rules) ? rules : {});

/** Reads campaign rules from form values. Values that equal the defaults are left out. */
export const readRules = (fields: Fields, timeZone: string): Nested => readParts(partsOf(timeZone), fields);

/** Assigns validation errors to the form fields that contain the invalid values. */
export const ruleErrors = (errors: FieldErrors, fields: Fields): FieldErrors =>
  conditionErrors(scheduleErrors(errors, fields), fields);

/** Renders the fields for a campaign's targeting, schedule and caps. */
export const rulesFields = (
  form: FormBuilder,
  timeZone: string,
  picker: Picker,
  ownKinds: readonly OwnKind[],
): Html => html`
  ${targetingFields(form, picker, conditionFields(form, picker('attributes', '').source))}
  ${scheduleFields(form, timeZone)}
  ${fieldGroup(t('campaigns.frequencyCapping'), frequencyCapFields(form, 'rules.', ownKinds))}
  ${fieldGroup(
    t('campaigns.budgetAndPacing'),
    totalCapFields(form, 'rules.', ownKinds),
    columns([
      form.select('rules.pacing', {
        label: t('campaigns.pacing'),
        choices: pacings.map((value) => ({ value, text: t(`campaigns.pacing_${value}`) })),
        hint: t('campaigns.pacingHint'),
      }),
      form.input('overspend_percent', {
        label: t('campaigns.overspend'),
        type: 'number',
        min: 0,
        hint: t('campaigns.overspendHint'),
      }),
    ]),
  )}`;

/** Renders the fields that control how a campaign competes with others. */
export const competitionFields = (form: FormBuilder, picker: Picker): Html => html`
  ${form.input('rules.exclusion_groups', {
    label: t('campaigns.exclusionGroups'),
    hint: t('campaigns.exclusionGroupsHint'),
    picker: picker('groups', form.values['rules.exclusion_groups']),
  })}
  ${form.checkbox('rules.force_priority', {
    label: t('campaigns.forcePriority'),
    hint: t('campaigns.forcePriorityHint'),
  })}`;
