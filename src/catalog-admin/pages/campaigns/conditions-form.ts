import { isDeepStrictEqual } from 'node:util';
import { type Comparison, type Condition, checkCondition, comparisonsIn } from '../../../catalog/conditions.ts';
import { type Html, html } from '../../../platform/http/html.ts';
import { t } from '../../../platform/i18n/messages.ts';
import { type FieldErrors, type Fields, type FormValue, rowCountIn } from '../../../shell/context.ts';
import { type FormBuilder, joinList, splitList } from '../../../shell/forms.ts';
import { rowButton, rowList } from '../../../shell/row-list.ts';
import { parseStored, type RulesPart, storedField } from './rules-part.ts';

/**
 * The form shows conditions as groups of comparisons. Either all comparisons of at least one group must match, or at
 * least one comparison of every group must match. More deeply nested conditions cannot be edited in the form and are
 * preserved unchanged.
 */

const path = 'conditions';
const name = `rules.${path}`;
const groups = `${name}.groups`;

type Match = 'any' | 'all';
type Groups = { match: Match; groups: readonly (readonly Comparison[])[] };

const ops = [
  'equals',
  'not_equals',
  'in',
  'not_in',
  'gt',
  'gte',
  'lt',
  'lte',
  'prefix',
  'exists',
  'not_exists',
] as const satisfies readonly Comparison['op'][];

const opChoices = () => ops.map((value) => ({ value, text: t(`campaigns.op_${value}`) }));

const matchChoices = () => [
  { value: 'any', text: t('campaigns.matchAny') },
  { value: 'all', text: t('campaigns.matchAll') },
];

const isComparison = (condition: Condition): condition is Comparison => !('all' in condition || 'any' in condition);

/**
 * Converts a condition to groups. Returns null if the condition is nested more deeply or mixes both kinds of groups.
 */
function toGroups(condition: Condition): Groups | null {
  if (isComparison(condition)) return { match: 'any', groups: [[condition]] };
  if ('all' in condition && condition.all.every(isComparison)) return { match: 'any', groups: [condition.all] };
  const match = 'any' in condition ? 'any' : 'all';
  const parts = 'any' in condition ? condition.any : condition.all;
  const nested: Comparison[][] = [];
  for (const part of parts) {
    const inner = isComparison(part) ? [part] : match === 'any' && 'all' in part ? part.all : null;
    const group = inner ?? (match === 'all' && 'any' in part ? part.any : null);
    if (group === null || !group.every(isComparison)) return null;
    nested.push(group);
  }
  return { match, groups: nested };
}

/** Converts groups to the smallest equivalent condition. */
function fromGroups({ match, groups: all }: Groups): Condition | undefined {
  const within = (parts: readonly Comparison[]): Condition => {
    if (parts.length === 1) return parts[0] as Comparison;
    return match === 'any' ? { all: [...parts] } : { any: [...parts] };
  };
  const parts = all.filter((group) => group.length > 0).map(within);
  if (parts.length <= 1) return parts[0];
  return match === 'any' ? { any: parts } : { all: parts };
}

function toForm(value: unknown): Record<string, FormValue> | null {
  if (value === undefined) return { [`${name}.match`]: 'any' };
  const grouped = isCondition(value) ? toGroups(value) : null;
  if (grouped === null) return null;
  const values: Record<string, FormValue> = { [`${name}.match`]: grouped.match };
  for (const [index, group] of grouped.groups.entries())
    for (const [row, comparison] of group.entries())
      for (const [field, text] of Object.entries(rowOf(comparison)))
        values[`${groups}.${index}.rows.${row}.${field}`] = text;
  return values;
}

function rowOf(comparison: Comparison): Record<'key' | 'op' | 'value', string> {
  const { key, op } = comparison;
  const value = 'value' in comparison ? comparison.value : '';
  return { key, op, value: Array.isArray(value) ? joinList(value) : String(value) };
}

function read(fields: Fields): Condition | undefined {
  const { conditions: stored } = parseStored(fields.text(storedField));
  const storedComparisons = isCondition(stored) ? comparisonsIn(stored) : [];
  const match = fields.text(`${name}.match`) === 'all' ? 'all' : 'any';
  const rowsOf = (group: number): Comparison[] =>
    Array.from({ length: fields.rowCount(`${groups}.${group}.rows`) }, (_, row) =>
      readRow(fields, `${groups}.${group}.rows.${row}`, storedComparisons),
    );
  return fromGroups({ match, groups: Array.from({ length: fields.rowCount(groups) }, (_, group) => rowsOf(group)) });
}

/**
 * Reads a comparison from a form row. An unedited row keeps the type of its stored value: the form shows the number 50
 * and the string "50" identically.
 */
function readRow(fields: Fields, at: string, storedComparisons: readonly Comparison[]): Comparison {
  const [key, op, value] = [fields.text(`${at}.key`), fields.text(`${at}.op`), fields.text(`${at}.value`)];
  const stored = storedComparisons.find((comparison) => isDeepStrictEqual(rowOf(comparison), { key, op, value }));
  if (stored !== undefined) return stored;
  if (op === 'exists' || op === 'not_exists') return { key, op };
  if (op === 'in' || op === 'not_in') return { key, op, value: splitList(value) };
  if (op === 'lt' || op === 'lte' || op === 'gt' || op === 'gte')
    return { key, op, value: (fields.number(`${at}.value`) ?? '') as number };
  return { key, op: op as 'equals', value };
}

/** Validate the stored rules, because the hidden field may have been tampered with in the browser. */
const isCondition = (value: unknown): value is Condition => checkCondition(value, '').length === 0;

export const conditionsPart: RulesPart = { path, toForm, read };

/** Maps errors in a comparison to its form row. */
export function conditionErrors(errors: FieldErrors, fields: Fields): FieldErrors {
  const match = fields.text(`${name}.match`) === 'all' ? 'all' : 'any';
  return errors.map((error) => {
    const pathMatch = /^\/rules\/conditions((?:\/(?:all|any)\/\d+)*)(?:\/(key|op|value).*)?$/.exec(error.path);
    if (pathMatch === null) return error;
    const [, at = '', field = 'key'] = pathMatch;
    const [outer, inner] = [...at.matchAll(/\/(all|any)\/(\d+)/g)].map(([, kind, index]) => ({ kind, index }));
    const isGroup = outer?.kind === match;
    const group = isGroup ? outer?.index : 0;
    const row = inner?.index ?? (isGroup ? 0 : (outer?.index ?? 0));
    return { ...error, path: `/rules/conditions/groups/${group}/rows/${row}/${field}` };
  });
}

/**
 * Renders the condition fields.
 * @param attributes URL that returns suggestions for custom attribute names
 */
export function conditionFields(form: FormBuilder, attributes: string): Html {
  const { conditions } = parseStored(form.values[storedField]);
  const isHidden = conditions !== undefined && toForm(conditions) === null;
  const count = rowCountIn(form.values, groups);
  const isAll = form.values[`${name}.match`] === 'all';
  const body = html`
    ${isHidden && html`<p class="hint">${t('campaigns.conditionsNested')}</p>`}
    ${count > 1 ? matchSelect(form) : matchField(isAll)}
    ${rowGroups(form, attributes, isAll)}`;
  return form.custom(
    name,
    t('campaigns.conditions'),
    html`<fieldset class="field"><legend>${t('campaigns.conditions')}</legend>${body}</fieldset>`,
  );
}

const matchSelect = (form: FormBuilder): Html =>
  form.select(`${name}.match`, { label: t('campaigns.match'), choices: matchChoices() });

const matchField = (isAll: boolean): Html =>
  html`<input type="hidden" name="${name}.match" value="${isAll ? 'all' : 'any'}">`;

function rowGroups(form: FormBuilder, attributes: string, isAll: boolean): Html {
  const count = rowCountIn(form.values, groups);
  const group = (_: unknown, index: number): Html => {
    const list = `${groups}.${index}.rows`;
    return html`
      ${index > 0 && html`<p class="joint">${t(isAll ? 'campaigns.and' : 'campaigns.or')}</p>`}
      <div class="condition-group" role="group" aria-label="${t('campaigns.group', { number: index + 1 })}">
        ${rowList(form, {
          name: list,
          noun: count > 1 ? t('campaigns.groupCondition', { number: index + 1 }) : t('campaigns.condition'),
          add: t(isAll ? 'campaigns.orMore' : 'campaigns.andMore'),
          first: 'key',
          row: (at, of) => conditionRow(form, at, of, attributes),
          within: { list: groups, row: index },
        })}
      </div>`;
  };
  const add = count === 0 ? t('campaigns.addCondition') : t(isAll ? 'campaigns.addGroupAnd' : 'campaigns.addGroupOr');
  return html`
    <div class="rows" id="rows-rules-conditions-groups">
      ${Array.from({ length: count }, group)}
      ${rowButton(form, { name: groups, action: `add ${groups}.${count}.rows.0.key`, text: add })}
    </div>`;
}

const conditionRow = (form: FormBuilder, at: string, of: string, attributes: string): Html => html`
  ${form.input(`${at}.key`, {
    label: t('campaigns.attribute'),
    of,
    code: true,
    suggestFrom: attributes,
    placeholder: 'cart_total',
  })}
  ${form.select(`${at}.op`, { label: t('campaigns.comparison'), of, choices: opChoices() })}
  ${form.input(`${at}.value`, { label: t('campaigns.value'), of, placeholder: t('campaigns.valuePlaceholder') })}`;
