import {
  blockedListOf,
  hasEnded,
  identifyingValue,
  listsAt,
  ruleKey,
  rulesOf,
  withoutRules,
} from '../../../catalog/controls.ts';
import type { PublisherContext } from '../../../catalog/pages.ts';
import type { ControlsRule, RuleDetail } from '../../../catalog/rules.ts';
import type { StoredControls } from '../../../catalog/types.ts';
import type { Values } from '../../../management/resource.ts';
import { AppError } from '../../../platform/errors.ts';
import { type Html, html, nothing } from '../../../platform/http/html.ts';
import { t, tHtml } from '../../../platform/i18n/messages.ts';
import { dayMs, hourMs } from '../../../platform/lib/time.ts';
import { Problem } from '../../../platform/problem.ts';
import { badge, hiddenField, link, saveForm, table } from '../../../shell/components.ts';
import type { FieldErrors, Fields, FormValues } from '../../../shell/context.ts';
import { editedInstant, instantToLocal, moment } from '../../../shell/format.ts';
import { columns, type FormBuilder, moreFields, splitList } from '../../../shell/forms.ts';
import { maxNoteLength } from '../../resources/controls.ts';
import type { Picker } from '../campaigns/options.ts';

/** Name of the hidden field of the form for a single rule: the key of the edited rule, or {@link newRule}. */
export const ruleField = '_rule';
export const newRule = 'new';

/** Name of the button that removes the edited rule. */
const removeField = '_remove';

/** Query parameter with the key of the rule to edit. */
export const editedField = 'rule';

const formId = 'rule';
export const ruleAnchor = `#${formId}`;

/** Maximum number of listed rules. */
const maxRows = 200;

/** Kinds of rules that can be added one by one, and the kinds of values that their fields suggest. */
const addable = {
  brand: 'brands',
  advertiser: 'advertisers',
  category: 'categories',
  domain: 'domains',
  word: 'words',
  offer: 'offers',
  competitor: 'competitors',
} as const;
type AddableKind = keyof typeof addable;
const addableKinds = Object.keys(addable) as AddableKind[];

const valueField = (by: string): string => `value.${by}`;

/** Returns the display name of a rule, in which names replace the IDs of advertisers and offers. */
function ruleName({ by, value }: ControlsRule, picker: Picker): Html {
  const kind = by === 'allowed_advertisers' ? 'advertisers' : addable[by as AddableKind];
  const { labels = {} } = kind === undefined ? {} : picker(kind, value);
  const names =
    by === 'allowed_advertisers'
      ? splitList(value)
          .map((id) => labels[id] ?? id)
          .join(', ')
      : labels[value];
  return tHtml('controls.ruleName', { by, value: names ?? value });
}

export const ruleText = (rule: ControlsRule, picker: Picker): Html =>
  rule.placement === null
    ? ruleName(rule, picker)
    : html`${ruleName(rule, picker)}<br><small>${t('controls.atPlacement', { placement: rule.placement })}</small>`;

/** Renders the end of a rule: how far away it is, or that it has passed, and the time. */
export function endText({ publisher }: PublisherContext, detail: RuleDetail | undefined, nowMs: number): Html {
  const endsAt = detail?.ends_at ?? null;
  if (detail === undefined || endsAt === null) return html`<span class="hint">${t('controls.noEnd')}</span>`;
  const remainingMs = Date.parse(endsAt) - nowMs;
  const isSoon = remainingMs < dayMs;
  const unitMs = isSoon ? hourMs : dayMs;
  const count = Math.max(1, isSoon ? Math.ceil(remainingMs / unitMs) : Math.round(remainingMs / unitMs));
  const state = hasEnded(detail, nowMs)
    ? badge(t('controls.ended'))
    : badge(t('controls.endsIn', { count, unit: isSoon ? 'hour' : 'day' }), isSoon ? 'warn' : 'info');
  return html`${state}<br><small>${moment(publisher, endsAt)}</small>`;
}

export const detailsByRule = ({ rule_details: details }: StoredControls): ReadonlyMap<string, RuleDetail> =>
  new Map(details.map((detail) => [ruleKey(detail), detail]));

const rulesAt = (stored: StoredControls, placement: string): ControlsRule[] =>
  rulesOf(stored).filter((rule) => (rule.placement ?? '') === placement);

/** Returns the edited rule, or undefined if it does not exist. */
const findRule = (stored: StoredControls, key: string): ControlsRule | undefined =>
  key === newRule ? undefined : rulesOf(stored).find((rule) => ruleKey(rule) === key);

/** Renders the list of the rules for a placement, or of those for all placements, with their notes and end times. */
export function rulesTable(
  context: PublisherContext,
  { stored, placement, nowMs, picker, edit }: Listed & { edit: ((key: string) => string) | null },
): Html {
  const rules = rulesAt(stored, placement);
  if (rules.length === 0) return html`<p class="hint">${t('controls.noRules')}</p>`;
  const details = detailsByRule(stored);
  const rows = rules.slice(0, maxRows).map((rule) => {
    const key = ruleKey(rule);
    const detail = details.get(key);
    return [
      ruleName(rule, picker),
      html`${detail?.note ?? ''}`,
      endText(context, detail, nowMs),
      ...(edit === null ? [] : [link(edit(key), t('controls.editOne'))]),
    ];
  });
  const heads = [
    ...[t('controls.rule'), t('controls.note'), t('controls.end')].map((text) => ({ text })),
    ...(edit === null ? [] : [{ text: t('controls.editOne'), hidden: true }]),
  ];
  const rest = rules.length - rows.length;
  return html`
    ${table(t('controls.rules'), heads, rows)}
    ${rest > 0 && html`<p class="hint">${t('controls.moreRules', { rest })}</p>`}`;
}

type Listed = { stored: StoredControls; placement: string; nowMs: number; picker: Picker };

/** Returns the stored values of the form for a single rule. */
export function ruleToForm({ publisher }: PublisherContext, stored: StoredControls, key: string): FormValues {
  const { note = '', ends_at: endsAt = null } = detailsByRule(stored).get(key) ?? {};
  return { [ruleField]: key, note, ends_at: instantToLocal(endsAt ?? '', publisher.timeZone) };
}

/** Renders the form that adds rules, or that edits the note and end of a rule. */
export function ruleForm(
  context: PublisherContext,
  form: FormBuilder,
  { stored, placement, picker, hidden, confirm, isOpen, cancel }: Omit<Listed, 'nowMs'> & RuleFormParts,
): Html {
  const key = String(form.values[ruleField] ?? newRule);
  const edited = findRule(stored, key);
  const kinds = addableKinds.filter((by) => placement === '' || by !== 'competitor');
  const value = (by: AddableKind): Html => {
    const label = t('controls.valueOf', { by });
    return form.input(valueField(by), { label, picker: picker(addable[by], form.values[valueField(by)]) });
  };
  const kind = form.choices('by', {
    label: t('controls.kind'),
    choices: kinds.map((by) => ({ value: by, text: t('controls.kindName', { by }), fields: value(by) })),
  });
  const body = html`
    ${hidden}${hiddenField(ruleField, edited === undefined ? newRule : key)}${form.summary()}
    ${edited === undefined ? kind : html`<p>${ruleName(edited, picker)}</p>`}
    ${columns([
      form.input('note', { label: t('controls.note'), hint: t('controls.noteHint'), maxLength: maxNoteLength }),
      form.input('ends_at', {
        label: t('controls.endsAt'),
        hint: t('controls.endsAtHint', { timeZone: context.publisher.timeZone }),
        type: 'datetime-local',
      }),
    ])}
    ${confirm}`;
  const remove =
    edited !== undefined &&
    html`<button class="button danger" name="${removeField}" value="1">${t('controls.removeRule')}</button>`;
  const button = t(edited === undefined ? 'controls.addRule' : 'common.save');
  const markup = saveForm(context, `${form.to}${ruleAnchor}`, body, {
    button,
    ...(remove && { extra: remove }),
    ...(edited !== undefined && { cancel }),
  });
  const title = t(edited === undefined ? 'controls.addRule' : 'controls.editRule');
  const section = moreFields(title, markup, { isOpen: isOpen || edited !== undefined });
  return html`<div id="${formId}" class="below">${section}</div>`;
}

type RuleFormParts = {
  /** Hidden fields with the version and the placement. */
  hidden: Html;
  /** Warnings with a checkbox to confirm them, or nothing. */
  confirm: Html;
  isOpen: boolean;
  cancel: string;
};

/** Parses an ID. Invalid text is left for validation to reject. */
export const idOf = (text: string): string | number => (/^[1-9]\d{0,8}$/.test(text) ? Number(text) : text);

const invalid = (path: string, key: 'valueMissing' | 'ruleGone'): AppError =>
  new AppError('invalid_request', { details: [{ path, message: new Problem(`controls.${key}`) }] });

/**
 * Merges the submitted rule into the stored rules: adds rules, changes the note and end of a rule, or removes it.
 * @throws AppError invalid_request if no value was entered, or if the edited rule does not exist
 */
export function readRule(
  { publisher }: PublisherContext,
  fields: Fields,
  stored: StoredControls,
  placement: string,
): Values {
  const key = fields.text(ruleField);
  const isNew = key === newRule;
  const edited = findRule(stored, key);
  if (!isNew && edited === undefined) throw invalid('/', 'ruleGone');
  if (edited !== undefined && fields.checked(removeField)) return withoutRules(stored, [edited]);
  const endWas = detailsByRule(stored).get(key)?.ends_at ?? '';
  const detail = {
    note: fields.text('note'),
    ends_at: editedInstant(fields.text('ends_at'), endWas, publisher.timeZone) || null,
  };
  const by = fields.text('by') as AddableKind;
  const added = edited === undefined ? addedRules(fields, by, placement) : [edited];
  const rules = edited === undefined ? withAdded(stored, added, placement) : stored;
  const keys = new Set(added.map(ruleKey));
  return {
    ...rules,
    rule_details: [
      ...stored.rule_details.filter((other) => !keys.has(ruleKey(other))),
      ...added.map((rule) => ({ ...rule, value: identifyingValue(rule), ...detail })),
    ],
  };
}

function addedRules(fields: Fields, by: AddableKind, placement: string): ControlsRule[] {
  const values = addableKinds.includes(by) ? splitList(fields.text(valueField(by))) : [];
  if (values.length === 0) throw invalid(`/value/${by}`, 'valueMissing');
  return [...new Set(values)].map((value) => ({ by, value, placement: placement || null }));
}

function withAdded(stored: StoredControls, added: readonly ControlsRule[], placement: string): StoredControls {
  const [first] = added;
  const isId = first?.by === 'advertiser' || first?.by === 'offer' || first?.by === 'competitor';
  const values = added.map(({ value }) => (isId ? idOf(value) : value));
  if (first?.by === 'competitor') {
    const { separate } = stored;
    return { ...stored, separate: { ...separate, competitors: [...separate.competitors, ...values] } };
  }
  const list = blockedListOf(first?.by as Exclude<AddableKind, 'competitor'>);
  const { blocked, allowed } = placement === '' ? stored : listsAt(stored, placement);
  const lists = { blocked: { ...blocked, [list]: [...blocked[list], ...values] }, allowed };
  return placement === ''
    ? { ...stored, ...lists }
    : { ...stored, placements: { ...stored.placements, [placement]: lists } };
}

/** Assigns the errors of a rule to the fields of its form. */
export const ruleErrors = (errors: FieldErrors, fields: Fields): FieldErrors =>
  errors.map(({ path, message }) => {
    const [, name] = /^\/rule_details\/\d+\/(note|ends_at)$/.exec(path) ?? [];
    if (path === '/' || path.startsWith('/value/')) return { path, message };
    return { path: name === undefined ? `/value/${fields.text('by')}` : `/${name}`, message };
  });

/** Returns a hint if the lists contain rules that have ended, or nothing. */
export function endedHint({ stored, placement, nowMs, picker }: Listed): Html {
  const ended = stored.rule_details.filter(
    (detail) => (detail.placement ?? '') === placement && hasEnded(detail, nowMs),
  );
  if (ended.length === 0) return nothing;
  const names = ended.slice(0, 5).map((rule, at) => html`${at > 0 && ', '}${ruleName(rule, picker)}`);
  return html`
    <p class="hint">${t('controls.endedInLists', { count: ended.length })} ${names}${ended.length > 5 && ' …'}</p>`;
}
