import { listsAt, rulesOf, withoutUnusedDetails } from '../../../catalog/controls.ts';
import { normaliseName } from '../../../catalog/names.ts';
import { type PublisherContext, publisherPages } from '../../../catalog/pages.ts';
import type { OfferLists, StoredControls } from '../../../catalog/types.ts';
import type { Values, Warning } from '../../../management/resource.ts';
import { PreconditionFailed } from '../../../management/rows.ts';
import { AppError } from '../../../platform/errors.ts';
import type { App } from '../../../platform/http/app.ts';
import { type Html, html, nothing } from '../../../platform/http/html.ts';
import { t } from '../../../platform/i18n/messages.ts';
import { Problem } from '../../../platform/problem.ts';
import { card, collapsedCard, hiddenField, notice, readOnlyFields, saveForm, tabs } from '../../../shell/components.ts';
import {
  type FieldErrors,
  type Fields,
  type FormValues,
  fieldErrorsOf,
  hasRole,
  queryText,
  rowsField,
} from '../../../shell/context.ts';
import { columns, createForm, type FormBuilder, fieldGroup, joinList, splitList } from '../../../shell/forms.ts';
import type { Page } from '../../../shell/layout.ts';
import type { PageResult } from '../../../shell/pages.ts';
import { defaultButton, rowList, versionField, withRowChange, withStored } from '../../../shell/row-list.ts';
import { type ControlsView, getControls, setControls, storedOf } from '../../resources/controls.ts';
import { createPicker, type Picker } from '../campaigns/options.ts';
import type { PageServices } from '../services.ts';
import { blockedCard, testCard } from './blocked-offers.ts';
import { costCard, effectNotice } from './controls-effects.ts';
import {
  editedField,
  endedHint,
  idOf,
  newRule,
  readRule,
  ruleAnchor,
  ruleErrors,
  ruleField,
  ruleForm,
  rulesTable,
  ruleToForm,
} from './controls-rules.ts';

const path = '/settings/controls';
const writes = 'admin';

/** Name of the button that validates the form without saving it. */
const checkField = '_check';

/** Name of the checkbox that the user must check to save rules that block every offer. */
const confirmedField = '_confirmed';

/**
 * Registers the pages for block rules: which offers a publisher never shows, never shows together, or shows only above
 * a minimum revenue.
 */
export function controlsPages(app: App, services: PageServices): void {
  const pages = publisherPages(app, services);
  pages.get(path, 'analyst', async (context) =>
    controlsPage(services, context, await stored(services, context), { placement: placementAsked(context) }),
  );
  pages.post(path, writes, (context, fields) => save(services, context, fields));
}

type CurrentControls = Awaited<ReturnType<typeof stored>>;
type Shape = {
  /** Placement whose rules are edited, or empty for the rules that apply to all placements. */
  placement: string;
  /** Whether `typed`, `errors` and `warned` belong to the form for a single rule. */
  isRule?: boolean;
  typed?: FormValues;
  errors?: FieldErrors;
  /** Warnings about the entered rules. */
  warned?: readonly string[];
  mustConfirm?: boolean;
  effect?: Html;
};

/** Name of the query parameter and form field that selects the placement. */
const placementField = 'placement';

const placementAsked = (context: PublisherContext): string => {
  const placement = queryText(context, placementField);
  return placement.trim() === '' ? '' : normaliseName(placement);
};

const finder =
  ({ deps }: PageServices) =>
  (id: number) =>
    deps.catalog.current().publishers.get(id);

const stored = (services: PageServices, context: PublisherContext) =>
  services.management.read(context, (work) => getControls(work, String(context.publisher.id), finder(services)));

async function save(services: PageServices, context: PublisherContext, fields: Fields): Promise<PageResult> {
  const placement = fields.text(placementField);
  const isRule = fields.checked(ruleField);
  if (fields.checked(rowsField)) {
    const typed = withRowChange(fields.values);
    return controlsPage(services, context, await stored(services, context), { placement, typed });
  }
  const read = (view: ControlsView): Values => {
    const rules = storedOf(view);
    if (!isRule) {
      // Forms of earlier releases lack the choice, which follows from the lists.
      const storedValues = { ...controlsToForm(view, placement), [allowedField]: '' };
      return readControls(withStored(fields, storedValues), rules, placement);
    }
    const whole = withStored(fields, ruleToForm(context, rules, fields.text(ruleField)));
    return readRule(context, whole, rules, placement);
  };
  const set = (dryRun: boolean) =>
    services.management.write(context, async (work) => {
      const key = String(context.publisher.id);
      const mode = { ifMatch: fields.text(versionField) || null, dryRun };
      const { view } = await getControls(work, key, finder(services));
      return setControls(work, key, read(view), mode, finder(services));
    });
  const shape = { placement, isRule, typed: fields.values };
  try {
    const checked = await set(true);
    const current = await stored(services, context);
    const warned = warningTexts(checked);
    if (fields.checked(checkField)) {
      const effect = await effectNotice(services, context, checked.inForce);
      return controlsPage(services, context, current, { ...shape, warned, effect });
    }
    const currentWarnings = new Set(warningTexts(current));
    if (warned.some((text) => !currentWarnings.has(text)) && !fields.checked(confirmedField))
      return controlsPage(services, context, current, { ...shape, warned, mustConfirm: true });
    await set(false);
    return { to: context.path(placement === '' ? path : pathOf(placement)), done: t('controls.saved') };
  } catch (err) {
    const errors: FieldErrors =
      err instanceof PreconditionFailed
        ? [{ path: '/', message: t('settings.conflict') }]
        : isRule
          ? ruleErrors(fieldErrorsOf(err), fields)
          : fieldErrorsOf(err).map((error) => inRow(error, fields));
    return controlsPage(services, context, await stored(services, context), { ...shape, errors });
  }
}

async function controlsPage(
  services: PageServices,
  context: PublisherContext,
  current: CurrentControls,
  { placement, isRule = false, typed, errors = [], warned = warningTexts(current), ...shape }: Shape,
): Promise<Page> {
  const { mustConfirm = false, effect = nothing } = shape;
  const { view, inForce, nowMs, etag } = current;
  const to = context.path(path);
  const picker = createPicker(context);
  const form = createForm((isRule ? undefined : typed) ?? controlsToForm(view, placement), isRule ? [] : errors, to);
  const edited = queryText(context, editedField) || newRule;
  const oneRule = createForm(
    (isRule ? typed : undefined) ?? ruleToForm(context, storedOf(view), edited),
    isRule ? errors : [],
    to,
  );
  const fields = controlsFields(form, picker, placement);
  const { total, blocked } = view.offers;
  const notices = warned.map((text) => notice('warn', html`<p>${text}</p>`));
  const hidden = html`${hiddenField(versionField, etag)}${hiddenField(placementField, placement)}`;
  const confirmIn = ({ checkbox }: FormBuilder): Html =>
    mustConfirm ? html`${notices}${checkbox(confirmedField, { label: t('controls.confirm') })}` : nothing;
  const listed = { stored: storedOf(view), placement, nowMs, picker };
  const body = html`
    ${defaultButton()}${hidden}${form.summary()}${effect}${endedHint(listed)}${fields}${!isRule && confirmIn(form)}`;
  const isEditor = hasRole(context.viewer.user.role, writes);
  const lead =
    placement === '' ? t('controls.blockedNow', { blocked, total }) : t('controls.placementLead', { placement });
  const edit = (key: string): string => context.path(`${pathOf(placement, key)}${ruleAnchor}`);
  const cancel = context.path(pathOf(placement));
  const hasRules = rulesOf(listed.stored).length > 0;
  const isOpen = isRule && (mustConfirm || errors.length > 0);
  const parts = { hidden, confirm: isRule ? confirmIn(oneRule) : nothing, isOpen, cancel };
  const rules = html`
    ${rulesTable(context, { ...listed, edit: isEditor ? edit : null })}
    ${isEditor && ruleForm(context, oneRule, { ...listed, ...parts })}`;
  return {
    title: t('controls.title'),
    lead: t('controls.lead'),
    nav: 'controls',
    assets: ['pickers.js'],
    status: errors.length > 0 || mustConfirm ? 422 : 200,
    body: html`
      ${!mustConfirm && notices}
      ${placementTabs(context, view, placement)}
      ${card(t('controls.rules'), rules, { lead })}
      ${collapsedCard(
        t('controls.lists'),
        isEditor ? saveForm(context, to, body, { extra: checkButton(), rows: true }) : readOnlyFields(fields),
        { lead: t('controls.listsLead'), isOpen: (!isRule && typed !== undefined) || !hasRules },
      )}
      ${testCard(context, inForce)}
      ${await blockedCard(context)}
      ${await costCard(services, context, { stored: storedOf(view), nowMs, picker })}`,
  };
}

const checkButton = (): Html =>
  html`<button class="button" name="${checkField}" value="1">${t('controls.check')}</button>`;

const pathOf = (placement: string, rule = ''): string => {
  const query = {
    ...(placement !== '' && { [placementField]: placement }),
    ...(rule !== '' && { [editedField]: rule }),
  };
  return `${path}?${new URLSearchParams(query)}`;
};

/** Returns the distinct warning messages about the rules. */
const warningTexts = ({ view, warnings }: { view: ControlsView; warnings: Warning[] }): string[] => [
  ...new Set(warnings.map(({ path: where }) => warningText(view, where))),
];

function warningText(view: ControlsView, where: string): string {
  if (where === '/') return t('controls.blocksAll');
  const [, placement = '', list, at] = /^(?:\/placements\/(.*?))?(?:\/(\w+\/\w+)\/(\d+))?$/.exec(where) ?? [];
  if (list === undefined) return t('controls.blocksAllAt', { placement });
  const { blocked, allowed } = placement === '' ? view : listsAt(view, placement);
  const entries = { 'blocked/domains': blocked.domains, 'allowed/domains': allowed.domains }[list];
  return t('controls.publicSuffix', { domain: String((entries ?? view.separate.competitors)[Number(at)] ?? '') });
}

/** Maximum number of placements shown as tabs. Placements with rules come first. */
const maxTabs = 30;

function placementTabs({ publisher, path: to }: PublisherContext, view: ControlsView, placement: string): Html {
  const names = new Set([...Object.keys(view.placements), placement, ...publisher.placements.keys()]);
  names.delete('');
  if (names.size === 0) return nothing;
  return tabs(t('dimensions.placement'), [
    { text: t('controls.allPlacements'), href: to(path), current: placement === '' },
    ...[...names].slice(0, maxTabs).map((name) => ({
      text: name,
      href: to(pathOf(name)),
      current: name === placement,
    })),
  ]);
}

const allowedModes = ['all', 'some'] as const;
/** Name of the radio buttons that choose between all offers and those on the lists. */
const allowedField = 'allowed.mode';

function controlsFields(form: FormBuilder, picker: Picker, placement: string): Html {
  const picked = (side: 'blocked' | 'allowed', kind: 'categories' | 'advertisers' | 'offers', label: string): Html => {
    const name = `${side}.${kind}`;
    return form.input(name, { label, picker: picker(kind, form.values[name]) });
  };
  const entered = (side: 'blocked' | 'allowed', kind: 'brands' | 'domains' | 'words'): Html => {
    const name = `${side}.${kind}`;
    const hint = t(`controls.${kind}Hint`);
    return form.textarea(name, { label: t(`controls.${kind}`), hint, picker: picker(kind, form.values[name]) });
  };
  const allowed = html`
    <p class="hint">${t('controls.allowedHint')}</p>
    ${columns([
      picked('allowed', 'categories', t('settings.categories')),
      picked('allowed', 'advertisers', t('nav.advertisers')),
    ])}
    ${columns([entered('allowed', 'brands'), entered('allowed', 'domains')])}`;
  return html`
    ${fieldGroup(
      t('controls.blocked'),
      html`<p class="hint">${t('controls.blockedHint')}</p>`,
      columns([
        picked('blocked', 'categories', t('settings.categories')),
        picked('blocked', 'advertisers', t('nav.advertisers')),
        picked('blocked', 'offers', t('nav.offers')),
      ]),
      columns([entered('blocked', 'brands'), entered('blocked', 'domains'), entered('blocked', 'words')]),
    )}
    ${fieldGroup(
      t('controls.allowed'),
      form.choices(allowedField, {
        label: t('controls.otherOffers'),
        choices: allowedModes.map((value) => ({
          value,
          text: t('controls.allowedMode', { mode: value }),
          ...(value === 'some' && { fields: allowed }),
        })),
      }),
    )}
    ${placement === '' && commonFields(form, picker)}`;
}

/** Renders the fields that exist only for all placements together, not for single ones. */
const commonFields = (form: FormBuilder, picker: Picker): Html => html`
    ${fieldGroup(
      t('controls.separate'),
      form.checkbox('separate.categories', { label: t('controls.separateCategories') }),
      form.textarea('separate.competitors', {
        label: t('controls.competitors'),
        hint: t('controls.competitorsHint'),
        picker: picker('competitors', form.values['separate.competitors']),
      }),
    )}
    ${fieldGroup(
      t('controls.floors'),
      html`<p class="hint">${t('controls.floorsHint')}</p>`,
      rowList(form, {
        name: 'floors',
        noun: t('controls.floor'),
        add: t('controls.addFloor'),
        first: 'placement',
        row: (prefix, of) => html`
          ${form.input(`${prefix}.placement`, {
            of,
            label: t('dimensions.placement'),
            suggestFrom: picker('placements', '').source,
          })}
          ${form.input(`${prefix}.amount`, {
            of,
            label: t('controls.floorAmount'),
            type: 'number',
            min: 0,
            step: 'any',
          })}`,
      }),
    )}`;

const lists = {
  blocked: ['categories', 'brands', 'advertisers', 'domains', 'offers', 'words'],
  allowed: ['categories', 'brands', 'advertisers', 'domains'],
} as const;
const sides = ['blocked', 'allowed'] as const;
const idLists: ReadonlySet<string> = new Set(['advertisers', 'offers']);

const listsToForm = (offerLists: OfferLists): FormValues =>
  Object.fromEntries(
    sides.flatMap((side) => {
      const values: Readonly<Record<string, readonly (string | number)[]>> = offerLists[side];
      return lists[side].map((name) => [`${side}.${name}`, joinList(values[name] ?? [])]);
    }),
  );

/** Sorts entries by name, because the database does not keep the order in which they were entered. */
const byName = <Value>(entries: Readonly<Record<string, Value>>): [string, Value][] =>
  Object.entries(entries).sort(([a], [b]) => a.localeCompare(b));

function controlsToForm({ separate, floors, ...lists }: ControlsView, placement: string): FormValues {
  const offerLists = placement === '' ? lists : listsAt(lists, placement);
  const floorRows = byName(floors).flatMap(([name, amount], index) => [
    [`floors.${index}.placement`, name],
    [`floors.${index}.amount`, amount],
  ]);
  return {
    ...listsToForm(offerLists),
    [allowedField]: Object.values(offerLists.allowed).some((list) => list.length > 0) ? 'some' : 'all',
    'separate.categories': separate.categories,
    'separate.competitors': joinList(separate.competitors),
    ...Object.fromEntries(floorRows),
  };
}

const invalid = (path: string, key: 'chooseSome' | 'floorTwice' | 'floorWhere'): AppError =>
  new AppError('invalid_request', { details: [{ path, message: new Problem(`controls.${key}`) }] });

const readList = (fields: Fields, side: 'blocked' | 'allowed', name: string): (string | number)[] => {
  const items = splitList(fields.text(`${side}.${name}`));
  return idLists.has(name) ? items.map(idOf) : items;
};

/** Reads the lists. The lists of allowed offers are empty if all offers are allowed. */
function readLists(fields: Fields): Values {
  const mode = fields.text(allowedField);
  const blocked = Object.fromEntries(lists.blocked.map((name) => [name, readList(fields, 'blocked', name)]));
  const allowed = Object.fromEntries(
    lists.allowed.map((name) => [name, mode === 'all' ? [] : readList(fields, 'allowed', name)]),
  );
  if (mode === 'some' && Object.values(allowed).every((list) => list.length === 0))
    throw invalid(`/${allowedField}`, 'chooseSome');
  return { blocked, allowed };
}

/**
 * Merges the submitted rules into the stored rules. The form contains either the rules for one placement or those for
 * all placements.
 */
function readControls(fields: Fields, stored: StoredControls, placement: string): Values {
  const lists = readLists(fields);
  const entered =
    placement === ''
      ? { ...stored, ...lists, ...readCommon(fields) }
      : { ...stored, placements: { ...stored.placements, [placement]: lists } };
  return withoutUnusedDetails(entered as StoredControls);
}

const readCommon = (fields: Fields): Values => ({
  separate: {
    categories: fields.checked('separate.categories'),
    competitors: splitList(fields.text('separate.competitors')).map(idOf),
  },
  floors: readFloors(fields),
});

/** Returns the rows of the minimum revenues that are not empty, with their index in the form. */
const floorRows = (fields: Fields): { index: number; placement: string; amount: string | number | null }[] =>
  Array.from({ length: fields.rowCount('floors') }, (_, index) => ({
    index,
    placement: fields.text(`floors.${index}.placement`),
    amount: fields.number(`floors.${index}.amount`),
  })).filter(({ placement, amount }) => placement !== '' || amount !== null);

/** Reads the minimum revenues. An invalid amount is left for validation to reject. */
function readFloors(fields: Fields): Values {
  const floors = new Map<string, unknown>();
  for (const { index, placement, amount } of floorRows(fields)) {
    const name = normaliseName(placement);
    if (name === '') throw invalid(`/floors/${index}/placement`, 'floorWhere');
    if (floors.has(name)) throw invalid(`/floors/${index}/placement`, 'floorTwice');
    floors.set(name, amount ?? '');
  }
  return Object.fromEntries(floors);
}

/** Assigns an error in the minimum revenue of a placement to its row. */
function inRow(error: FieldErrors[number], fields: Fields): FieldErrors[number] {
  const [, pointer] = /^\/floors\/([^/]+)$/.exec(error.path) ?? [];
  if (pointer === undefined) return error;
  const name = pointer.replaceAll('~1', '/').replaceAll('~0', '~');
  const row = floorRows(fields).find(({ placement }) => normaliseName(placement) === name);
  return row === undefined ? error : { ...error, path: `/floors/${row.index}/amount` };
}
