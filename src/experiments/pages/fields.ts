import type { PublisherContext } from '../../catalog/pages.ts';
import { holdoutArm } from '../../catalog/types.ts';
import { type Html, html } from '../../platform/http/html.ts';
import { t } from '../../platform/i18n/messages.ts';
import { hiddenField } from '../../shell/components.ts';
import { type Choice, columns, type FormBuilder, fieldGroup, hasError, moreFields } from '../../shell/forms.ts';
import { labelNames } from '../configuration/changes.ts';
import { armNames, liftBounds, shareBounds, times } from './form.ts';

/** Changes that an arm can make, in the order of their fields. */
export const changeKinds = ['offers', 'theme', 'ranking', 'floor', 'labels'] as const;
export type ChangeKind = (typeof changeKinds)[number];

/** Renders fields in a disclosure, which is open if one of them has a value or an error. */
export function disclosure({ values }: FormBuilder, summary: string, body: Html): Html {
  const names = [...body.markup.matchAll(/ name="([^"]+)"/g)].map(([, name = '']) => name);
  return moreFields(summary, body, {
    isOpen: names.some((name) => String(values[name] ?? '') !== ''),
  });
}

export const percentField = (form: FormBuilder, name: string, label: string, hint?: string): Html =>
  form.input(name, {
    label,
    type: 'number',
    ...shareBounds,
    step: '0.01',
    ...(hint !== undefined && { hint }),
  });

export const nameField = (form: FormBuilder): Html =>
  form.input('name', { label: t('experiments.name'), maxLength: 200, hint: t('experiments.nameHint') });

export const placementsField = (form: FormBuilder, { publisher }: PublisherContext): Html =>
  form.checkboxes('placements', {
    label: t('experiments.placements'),
    hint: t('experiments.placementsHint'),
    choices: [...publisher.placements.keys()].sort().map((name) => ({ value: name, text: name })),
  });

/** Renders the field for the campaign that is withheld from the hold-out. */
export function withheldField(form: FormBuilder, { publisher }: PublisherContext): Html {
  const campaigns = new Map(publisher.index.offers.map(({ campaign }) => [campaign.id, campaign.name]));
  const choices = [...campaigns].map(([id, name]) => ({ value: String(id), text: name }));
  return form.select('campaign_id', {
    label: t('experiments.withheld'),
    choices: [{ value: '', text: t('experiments.allOffers') }, ...choices],
  });
}

export const holdoutField = (form: FormBuilder): Html =>
  percentField(form, 'holdout', t('experiments.holdout'), t('experiments.holdoutHint', { arm: holdoutArm }));

export const layerField = (form: FormBuilder): Html =>
  form.input('layer', { label: t('experiments.layer'), code: true, hint: t('experiments.layerHint') });

export const liftField = (form: FormBuilder): Html =>
  form.input('smallest_lift', {
    label: t('experiments.smallestLift'),
    type: 'number',
    ...liftBounds,
    step: '0.1',
    hint: t('experiments.smallestLiftHint'),
  });

export const rampField = (form: FormBuilder): Html =>
  form.textarea('ramp', { label: t('experiments.ramp'), hint: t('experiments.rampHint'), rows: 3, code: true });

export const timeFields = (form: FormBuilder, { publisher }: PublisherContext): Html =>
  columns([
    form.input('start_at', {
      label: t('experiments.startAt'),
      type: 'datetime-local',
      hint: t('experiments.startAtHint', { zone: publisher.timeZone }),
    }),
    form.input('end_at', {
      label: t('experiments.endAt'),
      type: 'datetime-local',
      hint: t('experiments.endAtHint'),
    }),
  ]);

const unchanged = (): Choice => ({ value: '', text: t('experiments.asIs') });

const changeField = (kind: ChangeKind, form: FormBuilder, name: string, { publisher }: PublisherContext): Html => {
  const of = t('experiments.arm', { number: armNames.indexOf(name) + 1 });
  switch (kind) {
    case 'offers':
      return form.input(`${name}.offers_per_response`, {
        of,
        label: t('experiments.offers'),
        type: 'number',
        min: 1,
        max: 10,
      });
    case 'theme':
      return form.select(`${name}.theme_id`, {
        of,
        label: t('experiments.theme'),
        choices: [unchanged(), ...[...publisher.themes.values()].map(themeChoice)],
      });
    case 'ranking':
      return form.select(`${name}.ranking`, {
        of,
        label: t('experiments.ranking'),
        choices: [unchanged(), { value: 'fixed', text: t('experiments.rankingFixed') }],
      });
    case 'floor':
      return form.input(`${name}.floor`, { of, label: t('experiments.floor'), type: 'number', min: 0, step: '0.01' });
    case 'labels':
      return labelFields(form, name, commonLabels);
  }
};

/** Labels that most units show. The other labels are in a disclosure. */
const commonLabels = labelNames.slice(0, 5);

const labelFields = (form: FormBuilder, name: string, labels: readonly (typeof labelNames)[number][]): Html =>
  columns(
    labels.map((label) => {
      const of = t('experiments.arm', { number: armNames.indexOf(name) + 1 });
      return form.input(`${name}.labels.${label}`, { of, label: t(`experiments.label_${label}`), maxLength: 200 });
    }),
  );

const themeChoice = ({ id, name }: { id: number; name: string }): Choice => ({ value: String(id), text: name });

/** Renders the fields of an arm's changes. Changes of other kinds than the main ones are in disclosures. */
export function changeFields(
  form: FormBuilder,
  name: string,
  context: PublisherContext,
  mainKinds: readonly ChangeKind[],
): { main: Html[]; others: Html } {
  const fieldOf = (kind: ChangeKind): Html => changeField(kind, form, name, context);
  const others = changeKinds.filter((kind) => kind !== 'labels' && !mainKinds.includes(kind));
  const labels = labelNames.filter((label) => !mainKinds.includes('labels') || !commonLabels.includes(label));
  const texts = form.textarea(`${name}.texts`, {
    label: t('experiments.texts'),
    hint: t('experiments.textsHint'),
    code: true,
    rows: 3,
  });
  return {
    main: mainKinds.map(fieldOf),
    others: html`
      ${others.length > 0 && columns(others.map(fieldOf))}
      ${disclosure(form, t('experiments.labels'), labelFields(form, name, labels))}
      ${disclosure(form, t('experiments.texts'), texts)}`,
  };
}

function armFields(form: FormBuilder, name: string, context: PublisherContext): Html {
  const { main, others } = changeFields(form, name, context, ['offers', 'theme', 'ranking', 'floor']);
  return html`
    ${columns([
      form.input(`${name}.key`, { label: t('experiments.armKey'), code: true, hint: t('experiments.armKeyHint') }),
      percentField(form, `${name}.share`, t('experiments.share')),
    ])}
    ${columns(main)}
    ${others}`;
}

/** Renders a section of the form that is closed until the user opens it or one of its fields has an error. */
const section = (title: string, summary: string, body: Html): Html => html`
  <details class="more section"${hasError(body) && html` open`}>
    <summary><strong>${title}</strong> <span class="hint">${summary}</span></summary>
    <div class="section-fields">${body}</div>
  </details>`;

/** Renders all fields of an experiment that exists, in sections that are initially closed. */
export function formFields(form: FormBuilder, context: PublisherContext): Html {
  const hidden = ['control_key', ...times.map((name) => `${name}.was`)].map((name) =>
    hiddenField(name, String(form.values[name] ?? '')),
  );
  const arms = armNames.map((name, at) => {
    const block = armFields(form, name, context);
    const legend = t('experiments.arm', { number: at + 1 });
    return at === 0 ? fieldGroup(legend, block) : disclosure(form, legend, block);
  });
  return html`
    ${hidden}
    <h2>${t('experiments.change')}</h2>
    ${section(
      t('experiments.sectionBasics'),
      t('experiments.sectionBasicsHint'),
      html`${nameField(form)} ${placementsField(form, context)}`,
    )}
    ${section(
      t('experiments.sectionArms'),
      t('experiments.sectionArmsHint'),
      html`
        <p class="hint">${t('experiments.comparedHint')} ${t('experiments.unitHint')}</p>
        ${columns([
          percentField(form, 'control', t('experiments.control')),
          holdoutField(form),
          withheldField(form, context),
        ])}
        ${arms}`,
    )}
    ${section(
      t('experiments.sectionPlan'),
      t('experiments.sectionPlanHint'),
      html`
        ${columns([liftField(form), rampField(form)])}
        ${timeFields(form, context)}
        ${layerField(form)}`,
    )}`;
}
