import { pacings } from '../../../catalog/rules.ts';
import type { Html } from '../../../platform/http/html.ts';
import { t } from '../../../platform/i18n/messages.ts';
import type { FieldErrors, Fields, FormValue, FormValues } from '../../../shell/context.ts';
import { type FormBuilder, isNested, type Nested } from '../../../shell/forms.ts';
import { frequencyPart, totalsPart } from './caps-form.ts';
import { conditionErrors, conditionsPart } from './conditions-form.ts';
import { fieldPart, partsToForm, type RulesPart, readParts, storedField } from './rules-part.ts';
import { scheduleErrors, scheduleParts } from './schedule-form.ts';
import { exclusionGroupsPart, targetingParts, userParts } from './targeting-form.ts';

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

/** Returns the parts of the rules that each section of the campaign page edits. */
const partsOf = (timeZone: string) => ({
  targeting: targetingParts,
  users: [...userParts, conditionsPart, frequencyPart('rules.')],
  schedule: scheduleParts(timeZone),
  budget: [totalsPart('rules.'), pacingPart],
  priority: [exclusionGroupsPart, forcePart],
});

export type RuleSection = keyof ReturnType<typeof partsOf>;

export const isRuleSection = (key: string): key is RuleSection => Object.hasOwn(partsOf('UTC'), key);

const allParts = (timeZone: string): RulesPart[] => Object.values(partsOf(timeZone)).flat();

/** Converts campaign rules to form values. */
export const rulesToForm = (rules: unknown, timeZone: string): Record<string, FormValue> =>
  partsToForm(allParts(timeZone), isNested(rules) ? rules : {});

/**
 * Reads campaign rules from form values. Values that equal the defaults are left out.
 * @param section section whose fields the form contains; the rest of the stored rules stays unchanged. Without a
 * section, the form contains all fields.
 */
export const readRules = (fields: Fields, timeZone: string, section?: RuleSection): Nested =>
  readParts(section === undefined ? allParts(timeZone) : partsOf(timeZone)[section], fields);

/**
 * Returns the form values of a section, with the rules of another campaign. Rules without a form field are not copied.
 */
export function copiedValues(values: FormValues, rules: unknown, timeZone: string, section: RuleSection): FormValues {
  const parts = partsOf(timeZone)[section];
  const isPart = (name: string): boolean =>
    parts.some(({ path }) => name === `rules.${path}` || name.startsWith(`rules.${path}.`));
  const { [storedField]: _stored, ...copied } = partsToForm(parts, isNested(rules) ? rules : {});
  return { ...Object.fromEntries(Object.entries(values).filter(([name]) => !isPart(name))), ...copied };
}

/** Assigns validation errors to the form fields that contain the invalid values. */
export const ruleErrors = (errors: FieldErrors, fields: Fields): FieldErrors =>
  conditionErrors(scheduleErrors(errors, fields), fields);

export const pacingField = (form: FormBuilder): Html =>
  form.select('rules.pacing', {
    label: t('campaigns.pacing'),
    choices: pacings.map((value) => ({ value, text: t(`campaigns.pacing_${value}`) })),
    hint: t('campaigns.pacingHint'),
  });
